import { describe, expect, test, vi } from "vitest";
import * as z from "zod";
import { readConfig } from "../../src/config.js";
import { defineJob } from "../../src/core/define-job.js";
import { type Ports, type Store, StoreUnavailableError } from "../../src/core/ports.js";
import { createApp } from "../../src/http/create-app.js";

const JOB_ID = "01890a5d-ac96-774b-bcce-b302099a8057";
const ORIGIN = "https://app.test";
const LATEST = "0001_latest";
const config = readConfig(
  {
    DATABASE_URL: "postgres://nobody@127.0.0.1:1/none",
    QSTASH_URL: "http://127.0.0.1:1",
    QSTASH_TOKEN: "qstash-token-000000",
    QSTASH_CURRENT_SIGNING_KEY: "current-signing-key",
    QSTASH_NEXT_SIGNING_KEY: "next-signing-key-00",
    PUBLIC_URL: "https://antrean.test",
    API_KEYS: "ops:admin:operator-secret-000",
    CORS_ORIGINS: `${ORIGIN}, https://other.test`,
    SWEEP_INTERVAL_SECONDS: "100",
  },
  "node",
);
const note = defineJob({ type: "note", payload: z.unknown(), run: () => {} });

/** An application over the given store methods; requests carry an admin's key. */
function setup(store: Partial<Store> = {}) {
  const log = vi.fn();
  const sleep = vi.fn(async (_milliseconds: number) => {});
  const ports = {
    store,
    timers: { sleep },
    entropy: { newId: () => crypto.randomUUID(), random: () => 0 },
    settings: config,
    registry: new Map([["note", note]]),
    log,
  } as unknown as Ports;
  const portsFor = vi.fn(() => ports);
  const app = createApp({
    config,
    registry: ports.registry,
    verify: async () => false,
    portsFor,
    latestMigration: LATEST,
  });
  const send = async (method: string, path: string, more: HeadersInit = {}, body?: unknown) => {
    const headers = new Headers({ Authorization: "Bearer operator-secret-000" });
    for (const [name, value] of new Headers(more)) headers.set(name, value);
    if (body !== undefined) headers.set("Content-Type", "application/json");
    const init = { method, headers, body: body === undefined ? null : JSON.stringify(body) };
    return app.fetch(new Request(`https://antrean.test${path}`, init));
  };
  return { send, log, sleep, portsFor };
}

const codeOf = async (response: Response) => {
  expect(response.headers.get("Content-Type")).toBe("application/problem+json");
  const problem = (await response.json()) as Record<string, unknown>;
  expect(problem.status).toBe(response.status);
  expect(problem.type).toBe(`https://antrean.test/api/docs#${problem.code}`);
  expect(problem.requestId).toBe(response.headers.get("X-Request-Id"));
  expect(response.headers.get("Cache-Control")).toBe("no-store");
  expect(response.headers.get("X-Content-Type-Options")).toBe("nosniff");
  return `${problem.status} ${problem.code}`;
};
const jobAs = (status: string) => async () => ({ id: JOB_ID, status, tenant: "acme" }) as never;

describe("methods", () => {
  test.each([
    ["PUT", "/api/jobs", "POST, GET, HEAD, OPTIONS"],
    ["GET", "/api/jobs/batch", "POST, OPTIONS"],
    ["PATCH", `/api/jobs/${JOB_ID}`, "GET, HEAD, OPTIONS"],
    ["DELETE", "/api/sweep", "POST, GET, HEAD, OPTIONS"],
    ["HEAD", "/api/process", "POST, OPTIONS"],
  ])("E01: %s %s is 405 and names what the path takes, key or not", async (method, path, allow) => {
    const response = await setup().send(method, path, { Authorization: "none" });
    expect(response.status).toBe(405);
    expect(response.headers.get("Allow")).toBe(allow);
    if (method !== "HEAD") expect(await codeOf(response)).toBe("405 method_not_allowed");
  });

  test("OPTIONS is 204 with Allow", async () => {
    const response = await setup().send("OPTIONS", "/api/types");
    expect(response.status).toBe(204);
    expect(response.headers.get("Allow")).toBe("GET, HEAD, OPTIONS");
  });

  test("HEAD is GET without a body", async () => {
    const { send } = setup({ read: jobAs("queued") });
    const response = await send("HEAD", `/api/jobs/${JOB_ID}`);
    expect(response.status).toBe(200);
    expect(response.headers.get("Content-Type")).toBe("application/json");
    expect(await response.text()).toBe("");
  });

  test.each(["/", "/api", "/api/job", "/api/jobs/", "/api/jobs/a/b", "/%ff", "/api/jobs/%ff/x"])(
    "E03: %s is 404 for every method",
    async (path) => {
      for (const method of ["GET", "POST", "OPTIONS"]) {
        expect(await codeOf(await setup().send(method, path))).toBe("404 not_found");
      }
    },
  );
});

describe("an id", () => {
  const ids = [
    "abc",
    "1",
    "00000000-0000-0000-0000-000000000000",
    "%00",
    "%ff",
    "x".repeat(10_240),
  ];
  const verbs = [
    ["GET", ""],
    ["POST", "/cancel"],
    ["POST", "/replay"],
    ["POST", "/run-now"],
  ] as const;

  test.each(ids)("E06: that does not exist is the same 404 for all verbs: %s", async (id) => {
    const none = async () => ({ kind: "not_found" }) as const;
    const { send } = setup({ read: async () => null, cancel: none, replay: none, runNow: none });
    for (const [method, verb] of verbs) {
      const headers = { "X-Request-Id": "r" };
      const unknown = await send(method, `/api/jobs/${JOB_ID}${verb}`, headers);
      const response = await send(method, `/api/jobs/${id}${verb}`, headers);
      expect(await response.clone().text()).toBe(await unknown.text());
      expect(await codeOf(response)).toBe("404 not_found");
    }
  });

  test("a type or effect that cannot exist is 404", async () => {
    const { send } = setup();
    expect(await codeOf(await send("POST", "/api/types/Other/pause"))).toBe("404 not_found");
    expect(await codeOf(await send("POST", "/api/types/other/resume"))).toBe("404 not_found");
    const settle = { outcome: "not_done", reason: "checked" };
    const response = await send("POST", `/api/jobs/${JOB_ID}/effects/a%20b/settle`, {}, settle);
    expect(await codeOf(response)).toBe("404 not_found");
  });
});

describe("errors", () => {
  test("E03, E09: an unreachable database is 503 with Retry-After and constant text", async () => {
    const { send, log } = setup({
      read: async () => {
        throw new StoreUnavailableError("the database did not answer");
      },
    });
    const response = await send("GET", `/api/jobs/${JOB_ID}`);
    expect(response.headers.get("Retry-After")).toBe("5");
    expect(await codeOf(response)).toBe("503 store_unavailable");
    expect(log.mock.calls.map(([event]) => event)).toEqual(["request_failed", "request_handled"]);
  });

  test("E03, R06: a bug is 500; its text is logged without the parameters and not answered", async () => {
    const error = new Error("Failed query: /* read */\nselect 1\nparams: marker-payload");
    const { send, log } = setup({ read: () => Promise.reject(error) });
    const response = await send("GET", `/api/jobs/${JOB_ID}`);
    expect(await response.clone().text()).not.toMatch(/query|marker/);
    expect(await codeOf(response)).toBe("500 internal");
    expect(log).toHaveBeenCalledWith(
      "request_failed",
      expect.objectContaining({ error: "Error: Failed query: /* read */" }),
    );
    expect(JSON.stringify(log.mock.calls)).not.toContain("marker");
  });

  test.each([
    "?x=1",
    "?wait=26",
    "?wait=-1",
    "?wait=1.5",
    "?wait=",
    "?wait=1&wait=2",
    "?__proto__=1",
  ])("the query %s is 400", async (query) => {
    const response = await setup().send("GET", `/api/jobs/${JOB_ID}${query}`);
    expect(await codeOf(response)).toBe("400 invalid_query");
  });

  test("a refused replay names the job that holds the dedupe key", async () => {
    const { send } = setup({
      replay: async () => ({ kind: "dedupe_conflict", activeJobId: "other" }),
    });
    const response = await send("POST", `/api/jobs/${JOB_ID}/replay`);
    expect(await response.clone().json()).toMatchObject({ activeJobId: "other" });
    expect(await codeOf(response)).toBe("409 dedupe_conflict");
  });
});

test("a sane request id and a well-formed trace are taken over, and the id is answered", async () => {
  const { send, portsFor } = setup();
  const traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
  const headers = { "X-Request-Id": "a.b-C_1", traceparent };
  const response = await send("GET", "/api/health", headers);
  expect(response.headers.get("X-Request-Id")).toBe("a.b-C_1");
  expect(portsFor).toHaveBeenCalledWith(
    expect.objectContaining({ requestId: "a.b-C_1", traceparent }),
  );
});

describe("cross-origin requests", () => {
  test("a listed origin may ask and read, errors included", async () => {
    const asks = { Origin: ORIGIN, "Access-Control-Request-Method": "POST" };
    const preflight = await setup().send("OPTIONS", "/api/jobs", asks);
    expect(preflight.status).toBe(204);
    expect(preflight.headers.get("Access-Control-Allow-Origin")).toBe(ORIGIN);
    expect(preflight.headers.get("Access-Control-Allow-Methods")).toContain("POST");
    expect(preflight.headers.get("Access-Control-Allow-Headers")).toContain("Idempotency-Key");
    const failed = await setup().send("GET", "/api/none", { Origin: ORIGIN });
    expect(failed.headers.get("Access-Control-Allow-Origin")).toBe(ORIGIN);
    expect(failed.headers.get("Vary")).toBe("Origin");
  });

  test.each(["https://evil.test", "null", `${ORIGIN}.evil.test`, ORIGIN.replace("https", "http")])(
    "%s gets nothing",
    async (origin) => {
      const response = await setup().send("OPTIONS", "/api/jobs", { Origin: origin });
      expect(response.headers.has("Access-Control-Allow-Origin")).toBe(false);
    },
  );
});

describe("waiting for a job", () => {
  test("ends at the first terminal state, looking less and less often", async () => {
    const read = vi.fn(jobAs("processing"));
    const { send, sleep } = setup({ read });
    for (let looks = 0; looks < 5; looks += 1) read.mockImplementationOnce(jobAs("processing"));
    read.mockImplementation(jobAs("completed"));
    const response = await send("GET", `/api/jobs/${JOB_ID}?wait=25`);
    expect(await response.json()).toMatchObject({ status: "completed" });
    expect(sleep.mock.calls.map(([ms]) => ms)).toEqual([250, 500, 1000, 2000, 2000]);
  });

  test("gives the present job after exactly the time that was asked for", async () => {
    const { send, sleep } = setup({ read: jobAs("queued") });
    const response = await send("GET", `/api/jobs/${JOB_ID}?wait=3`);
    expect(await response.json()).toMatchObject({ status: "queued" });
    expect(sleep.mock.calls.reduce((sum, [ms]) => sum + ms, 0)).toBe(3000);
  });

  test("is one read without a wait, and the job is shown without its tenant", async () => {
    const read = vi.fn(jobAs("queued"));
    const job = await (await setup({ read }).send("GET", `/api/jobs/${JOB_ID}`)).json();
    expect(read).toHaveBeenCalledTimes(1);
    expect(job).not.toHaveProperty("tenant");
  });
});

describe("readiness", () => {
  const healthy = { migration: LATEST, sweepAgeSeconds: 300, workWaiting: true };

  test.each([
    healthy,
    { ...healthy, sweepAgeSeconds: null, workWaiting: false },
    // Migrated before a deployment, or left so by a rollback.
    { ...healthy, migration: "0002_newer" },
  ])("is 200 while everything is in place: %#", async (health) => {
    const response = await setup({ health: async () => health }).send("GET", "/api/ready");
    expect(await response.json()).toMatchObject({ ready: true });
  });

  test.each([
    [{ ...healthy, migration: null }, "migrations"],
    [{ ...healthy, migration: "0000_older" }, "migrations"],
    [{ ...healthy, sweepAgeSeconds: 301 }, "sweep"],
    [{ ...healthy, sweepAgeSeconds: null }, "sweep"],
  ])("is 503 and names what is missing: %#", async (health, name) => {
    const response = await setup({ health: async () => health }).send("GET", "/api/ready");
    const { ready, checks } = await response.clone().json();
    expect(ready).toBe(false);
    expect(Object.entries<{ ok: boolean }>(checks).filter(([, { ok }]) => !ok)).toHaveLength(1);
    expect(checks[name].ok).toBe(false);
    expect(response.headers.get("Retry-After")).toBe("10");
    expect(await codeOf(response)).toBe("503 not_ready");
  });

  test("is 503 when the database does not answer, while health asks nothing", async () => {
    const health = vi.fn(() => Promise.reject(new StoreUnavailableError("no answer")));
    const { send } = setup({ health });
    expect((await send("GET", "/api/health")).status).toBe(200);
    expect(health).not.toHaveBeenCalled();
    const response = await send("GET", "/api/ready");
    expect((await response.clone().json()).checks.database.ok).toBe(false);
    expect(await codeOf(response)).toBe("503 not_ready");
  });
});
