import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import * as z from "zod";
import { defineJob } from "../../src/core/define-job.js";
import { cli } from "../support/cli.js";
import { createWorld, KEYS, type World } from "../support/world.js";

const greet = defineJob({
  type: "test.greet",
  payload: z.strictObject({ to: z.string().min(1) }),
  run: ({ payload }) => `Hello ${payload.to}`,
});

let world: World;
let folder: string;

beforeAll(async () => {
  world = await createWorld({ jobs: [greet] });
  folder = await mkdtemp(path.join(tmpdir(), "antrean-usage-"));
});
afterAll(async () => {
  await world.close();
  await rm(folder, { recursive: true });
});

describe("usage and settings", () => {
  test.each([
    [["jobs"]],
    [["jobs", "lst"]],
    [["jobs", "list", "--limit", "0"]],
    [["jobs", "list", "--status", "done"]],
    [["jobs", "show"]],
    [["effects", "settle", "id", "name", "--reason", "x"]],
    [["setup", "--every", "7m"]],
    // An unset variable of a script must not widen a list to everything.
    [["jobs", "list", "--status", ""]],
    [["jobs", "list", "--type", ","]],
    // Options of one job would be ignored with a file, and the other way round.
    [["jobs", "create", "--from", "jobs.ndjson", "--wait"]],
    [["jobs", "create", "--from", "jobs.ndjson", "--max-attempts", "3"]],
    [["jobs", "create", "--from", "."]],
    [["jobs", "create", "test.greet", "--payload", "{}", "--key-prefix", "x"]],
    [["effects", "settle", "id", "name", "--reason", "x", "--done", "--result", ""]],
    [["--url", "localhost:3000", "stats"]],
    [["--url", "example.com", "stats"]],
  ])("%j is wrong usage", async (argv) => {
    expect(await cli(world, argv)).toMatchObject({ code: 2, stdout: "" });
    const { code, stdout, stderr } = await cli(world, [...argv, "--json"]);
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
    expect(JSON.parse(stderr)).toEqual({ code: "usage", detail: expect.any(String) });
  });

  test("a key that no header can carry is refused without being shown", async () => {
    const result = await cli(world, ["--api-key", "top-secret\nkey", "stats"]);
    expect(result).toMatchObject({ code: 2, stderr: expect.stringContaining("header") });
    expect(result.stderr).not.toContain("secret");
  });

  test("help is on standard output, with examples", async () => {
    const result = await cli(world, ["jobs", "create", "--help"]);
    expect(result).toMatchObject({ code: 0, stderr: "" });
    expect(result.stdout).toContain("jobs.ndjson");
  });

  test("flags win over the environment, the environment over the file", async () => {
    const file = path.join(folder, "settings.env");
    await writeFile(file, `ANTREAN_API_KEY="${KEYS.admin}"\n`);
    const list = ["types", "list", "--json", "--env-file", file];
    const unset = { env: { ANTREAN_API_KEY: undefined as unknown as string } };
    expect((await cli(world, list, unset)).code).toBe(0);
    expect((await cli(world, list, { env: { ANTREAN_API_KEY: "wrong-key-0000000" } })).code).toBe(
      1,
    );
    const flag = ["--api-key", KEYS.acmeReader, ...list];
    expect((await cli(world, flag, { env: { ANTREAN_API_KEY: "wrong" } })).code).toBe(0);
    // As some editors write it; and an empty variable is as good as none.
    await writeFile(file, `\uFEFFANTREAN_API_KEY=${KEYS.admin}\r\n`);
    expect((await cli(world, list, { env: { ANTREAN_API_KEY: " " } })).code).toBe(0);
    const missing = await cli(world, ["types", "list"], unset);
    expect(missing).toMatchObject({ code: 2, stderr: expect.stringContaining("ANTREAN_API_KEY") });
  });

  test("an error names its code, detail, places and request; as JSON too", async () => {
    const create = ["jobs", "create", "test.greet", "--payload", '{"to":""}'];
    const text = await cli(world, create);
    expect(text.stderr).toMatch(/validation_failed: .*\n +#\/payload\/to .*\n +request: \S+/);
    const json = await cli(world, [...create, "--json"]);
    expect(JSON.parse(json.stderr)).toMatchObject({
      code: "validation_failed",
      status: 422,
      errors: [{ pointer: "#/payload/to" }],
      requestId: expect.any(String),
    });
  });

  test("after an answer that never came, the key to repeat with is named", async () => {
    const result = await cli(world, ["jobs", "create", "test.greet", "--payload", '{"to":"x"}'], {
      fetch: async () => {
        throw new TypeError("fetch failed", { cause: new Error("connect ECONNREFUSED") });
      },
    });
    expect(result.stderr).toMatch(/network_error.*ECONNREFUSED[\s\S]*--idempotency-key \S{36}/);
  });
});
