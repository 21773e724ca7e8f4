import { describe, expect, test } from "vitest";
import type { ApiKey } from "../../src/core/access.js";
import { actionIdOf } from "../../src/dashboard/action-id.js";
import { addressOf, createLoginLimit } from "../../src/dashboard/login-limit.js";
import { isLocal, isOwnPost } from "../../src/dashboard/security.js";
import {
  createSessions,
  readCookie,
  SESSION_SECONDS,
  writeCookie,
} from "../../src/dashboard/session.js";

const ACME: ApiKey = { name: "acme", role: "write", secret: "acme-secret-00000000" };
const OPS: ApiKey = { name: "ops", role: "admin", secret: "ops-secret-000000000" };
const PUBLIC_URL = "https://antrean.example";
const START_MS = Date.UTC(2030, 0, 1);

describe("a session's cookie", () => {
  const sessions = createSessions([ACME, OPS]);

  test("is good for twelve hours and not a second longer", async () => {
    const value = await sessions.start(ACME, START_MS);
    const endMs = START_MS + SESSION_SECONDS * 1000;
    expect(SESSION_SECONDS).toBe(43_200);
    expect((await sessions.read(value, endMs - 1000))?.key).toEqual(ACME);
    expect(await sessions.read(value, endMs)).toBeUndefined();
  });

  test("has the role that its key has now, and ends with the key's secret", async () => {
    const value = await sessions.start(ACME, START_MS);
    const promoted = createSessions([OPS, { ...ACME, role: "admin" }]);
    expect((await promoted.read(value, START_MS))?.key.role).toBe("admin");
    const rotated = createSessions([OPS, { ...ACME, secret: "acme-secret-11111111" }]);
    expect(await rotated.read(value, START_MS)).toBeUndefined();
  });

  test("cannot be changed, made up or left out", async () => {
    const value = await sessions.start(ACME, START_MS);
    const [endsAt = "", nonce = "", signature = ""] = value.split(".");
    const forged = [
      `${Number(endsAt) + 1}.${nonce}.${signature}`,
      `${endsAt}.${nonce.replace(/^./, "0")}.${signature.replace(/.$/, "x")}`,
      `${endsAt}.${nonce}.${"0".repeat(64)}`,
      `${endsAt}.${nonce}.`,
      "",
      undefined,
    ];
    for (const each of forged) expect(await sessions.read(each, START_MS)).toBeUndefined();
  });

  test("brings a token for forms that no other session has", async () => {
    const one = await sessions.read(await sessions.start(ACME, START_MS), START_MS);
    const other = await sessions.read(await sessions.start(ACME, START_MS), START_MS);
    expect(await one?.isCsrfToken(one.csrfToken)).toBe(true);
    expect(await one?.isCsrfToken(other?.csrfToken ?? "")).toBe(false);
    expect(await one?.isCsrfToken("")).toBe(false);
  });

  test("is found among others, under the name that fits the address", () => {
    const headers = new Headers({ cookie: "a=1; __Host-antrean=secure;antrean=local" });
    expect([readCookie(headers, false), readCookie(headers, true)]).toEqual(["secure", "local"]);
    expect(writeCookie("v", true)).toBe("antrean=v; Path=/; Max-Age=43200; HttpOnly; SameSite=Lax");
    expect(writeCookie("", false)).toMatch(/^__Host-antrean=; Path=\/; Max-Age=0; .*; Secure$/);
  });
});

describe("a request is", () => {
  const post = (url: string, headers: Record<string, string>) =>
    new Request(url, { method: "POST", headers });
  const URL_HERE = "https://inner.example/dashboard/login";

  test.each([
    [{ "sec-fetch-site": "same-origin", origin: "https://elsewhere.example" }, true],
    [{ "sec-fetch-site": "cross-site", origin: PUBLIC_URL }, false],
    [{ "sec-fetch-site": "same-site" }, false],
    [{ origin: PUBLIC_URL }, true],
    [{ origin: "https://inner.example" }, true],
    [{ origin: "https://evil.example" }, false],
    [{ origin: "null" }, false],
    [{}, true],
  ])("with %o from one of our own pages: %s", (headers, expected) => {
    expect(isOwnPost(post(URL_HERE, headers as Record<string, string>), PUBLIC_URL)).toBe(expected);
  });

  test.each([
    ["http://127.0.0.1:3000/", "http://127.0.0.1:3000", true],
    ["http://localhost:3000/", "http://127.0.0.1:3000", true],
    ["http://localhost:3000/", PUBLIC_URL, false],
    ["http://antrean.example/", "http://antrean.example", false],
    ["https://localhost/", "http://127.0.0.1:3000", false],
  ])("at %s with the public address %s local: %s", (url, publicUrl, expected) => {
    expect(isLocal(new Request(url), publicUrl)).toBe(expected);
  });
});

describe("the login's limit", () => {
  test("makes an address wait after five failures, until a minute has passed", () => {
    const limit = createLoginLimit();
    for (let n = 0; n < 5; n += 1) {
      expect(limit.waitSeconds("a", n * 1000)).toBe(0);
      limit.begin("a", n * 1000);
    }
    expect(limit.waitSeconds("a", 5000)).toBe(55);
    expect(limit.waitSeconds("b", 5000)).toBe(0);
    expect(limit.waitSeconds("a", 60_000)).toBe(0);
  });

  test("makes everybody wait when ever new addresses guess", () => {
    const limit = createLoginLimit();
    for (let n = 0; n < 60; n += 1) limit.begin(`a${n}`, 0);
    expect(limit.waitSeconds("b", 1000)).toBe(59);
  });

  test("takes the address that the platform vouches for", () => {
    const of = (headers: Record<string, string>) => addressOf(new Headers(headers));
    expect(of({ "x-forwarded-for": "6.6.6.6, 192.0.2.1" })).toBe("192.0.2.1");
    expect(of({ "x-forwarded-for": "6.6.6.6", "cf-connecting-ip": "192.0.2.2" })).toBe("192.0.2.2");
    expect(of({})).toBe("");
  });
});

test("a form's action is the same each time, and another one for another key", async () => {
  const first = await actionIdOf("acme", "/jobs/1/cancel", "form");
  expect(first).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  expect(await actionIdOf("acme", "/jobs/1/cancel", "form")).toBe(first);
  expect(await actionIdOf("globex", "/jobs/1/cancel", "form")).not.toBe(first);
  expect(await actionIdOf("acme", "/jobs/1/replay", "form")).not.toBe(first);
});
