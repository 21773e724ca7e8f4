import { describe, expect, test } from "vitest";
import { type ConfigError, readConfig } from "../../src/config.js";

const GOOD = {
  DATABASE_URL: "postgres://u:p@db.example.com/app",
  QSTASH_URL: "https://qstash.upstash.io",
  QSTASH_TOKEN: "token-0000000000000000",
  QSTASH_CURRENT_SIGNING_KEY: "sig_current_00000000",
  QSTASH_NEXT_SIGNING_KEY: "sig_next_00000000000",
  PUBLIC_URL: "https://jobs.example.com",
  API_KEYS: "acme:write:acme-secret-00000000",
};

const faultsOf = (change: Record<string, string | undefined>): string[] => {
  try {
    readConfig({ ...GOOD, ...change }, "node");
    return [];
  } catch (error) {
    return (error as ConfigError).faults;
  }
};

describe("configuration refuses rather than runs open", () => {
  test("a whole environment is taken", () => {
    expect(readConfig(GOOD, "vercel")).toMatchObject({
      publicUrl: "https://jobs.example.com",
      appName: "jobs.example.com",
      maxRunSeconds: 300,
      apiKeys: [{ name: "acme", role: "write", secret: "acme-secret-00000000" }],
    });
  });

  test("every fault is named in one message, without any value", () => {
    const faults = faultsOf({
      DATABASE_URL: undefined,
      API_KEYS: "acme:root:short",
      QSTASH_TOKEN: "x",
    });
    expect(faults.map((fault) => fault.split(" ")[0])).toEqual([
      "DATABASE_URL",
      "QSTASH_TOKEN",
      "API_KEYS",
    ]);
    expect(faults.join()).not.toContain("short");
  });

  test.each([undefined, "", "   ", ",", " , "])("API_KEYS=%j is refused (R03)", (API_KEYS) => {
    expect(faultsOf({ API_KEYS })).toEqual([expect.stringContaining("API_KEYS")]);
  });

  test.each([
    "acme:write:undefined",
    "acme::acme-secret-00000000",
    ":write:acme-secret-00000000",
    "acme-secret-00000000",
  ])("the entry %s is refused", (API_KEYS) => {
    expect(faultsOf({ API_KEYS })).toEqual([expect.stringContaining("API_KEYS entry 1")]);
  });

  test("a name may have two secrets while one is rotated out", () => {
    const keys = "acme:write:acme-secret-00000000,acme:write:acme-secret-11111111";
    expect(readConfig({ ...GOOD, API_KEYS: keys }, "node").apiKeys).toHaveLength(2);
  });

  test.each(["QSTASH_CURRENT_SIGNING_KEY", "QSTASH_NEXT_SIGNING_KEY"])(
    "%s must be there and long enough, so that nothing is verified with an empty key (G08)",
    (name) => {
      for (const value of [undefined, "", "  ", "short"]) {
        expect(faultsOf({ [name]: value })).toEqual([expect.stringContaining(name)]);
      }
    },
  );

  test("the SDK's development mode is refused, since it accepts a public key (G08)", () => {
    for (const value of ["true", "1", "false"]) {
      expect(faultsOf({ QSTASH_DEV: value })).toEqual([expect.stringContaining("QSTASH_DEV")]);
    }
  });

  test("QSTASH_URL has no default: tokens are regional", () => {
    expect(faultsOf({ QSTASH_URL: undefined })).toEqual(["QSTASH_URL is missing"]);
  });

  test("an unset or short CRON_SECRET leaves the sweep closed, not open (N07)", () => {
    expect(readConfig(GOOD, "node").cronSecret).toBeUndefined();
    expect(faultsOf({ CRON_SECRET: "undefined" })).toEqual([
      expect.stringContaining("CRON_SECRET"),
    ]);
  });

  test("on Vercel the address is that of the project or the branch, never of one deployment", () => {
    const vercel = {
      ...GOOD,
      PUBLIC_URL: undefined,
      VERCEL_URL: "app-abc123.vercel.app",
      VERCEL_BRANCH_URL: "app-git-main.vercel.app",
      VERCEL_PROJECT_PRODUCTION_URL: "app.vercel.app",
    };
    expect(readConfig({ ...vercel, VERCEL_ENV: "production" }, "vercel").publicUrl).toBe(
      "https://app.vercel.app",
    );
    expect(readConfig({ ...vercel, VERCEL_ENV: "preview" }, "vercel").publicUrl).toBe(
      "https://app-git-main.vercel.app",
    );
    expect(faultsOf({ PUBLIC_URL: undefined, VERCEL_URL: "app-abc123.vercel.app" })).toEqual([
      "PUBLIC_URL is missing",
    ]);
  });

  test("trailing slashes do not change what is signed", () => {
    expect(
      readConfig({ ...GOOD, PUBLIC_URL: "https://jobs.example.com//" }, "node").publicUrl,
    ).toBe("https://jobs.example.com");
  });
});
