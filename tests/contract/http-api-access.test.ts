import { describe, expect, test, vi } from "vitest";
import { readConfig } from "../../src/config.js";
import type { ClaimOutcome } from "../../src/core/attempt.js";
import { type Ports, PublishFailedError, StoreUnavailableError } from "../../src/core/ports.js";
import { createApp } from "../../src/http/create-app.js";

const CRON_SECRET = "cron-secret-0000000";
const KEY = "reader-secret-00000";
const OPERATOR_KEY = "operator-secret-000";
const JOB_ID = "01890a5d-ac96-774b-bcce-b302099a8057";

interface SetupOptions {
  env?: Record<string, string>;
  claim?: () => Promise<ClaimOutcome>;
  publishAfter?: () => Promise<void>;
}

/** An application whose store answers with nothing, and which takes "good" for a signature. */
function setup({ env, claim, publishAfter }: SetupOptions = {}) {
  const config = readConfig(
    {
      DATABASE_URL: "postgres://nobody@127.0.0.1:1/none",
      QSTASH_URL: "http://127.0.0.1:1",
      QSTASH_TOKEN: "qstash-token-000000",
      QSTASH_CURRENT_SIGNING_KEY: "current-signing-key",
      QSTASH_NEXT_SIGNING_KEY: "next-signing-key-00",
      PUBLIC_URL: "https://antrean.test",
      API_KEYS: `acme:read:rotated-secret-0000,acme:read:${KEY},ops:admin:${OPERATOR_KEY}`,
      ...env,
    },
    "node",
  );
  const store = {
    read: vi.fn(async () => null),
    claim: vi.fn(claim ?? (async () => ({ kind: "noop", reason: "finished" }) as const)),
    markHopped: vi.fn(async () => {}),
    recordSweep: vi.fn(async () => {}),
  };
  const log = vi.fn();
  const ports = {
    store,
    trigger: { publishAfter: publishAfter ?? (async () => {}) },
    timers: { sleep: async () => {} },
    entropy: { newId: () => JOB_ID, random: () => 0 },
    settings: config,
    registry: new Map(),
    log,
  } as unknown as Ports;
  const verify = vi.fn(async ({ signature }: { signature: string }) => signature === "good");
  const registry = ports.registry;
  const app = createApp({ config, registry, verify, portsFor: () => ports });
  const send = async (path: string, init: RequestInit = {}) =>
    app.fetch(new Request(`https://antrean.test${path}`, init));
  const authorized = (authorization: string, path = `/api/jobs/${JOB_ID}`, method = "GET") =>
    send(path, { method, headers: { Authorization: authorization } });
  const deliver = (headers: Record<string, string> = {}, body: BodyInit = message()) =>
    send("/api/process", {
      method: "POST",
      body,
      headers: { "Upstash-Signature": "good", ...headers },
    });
  const storeCalls = () => Object.values(store).flatMap(({ mock }) => mock.calls).length;
  return { store, log, verify, send, authorized, deliver, storeCalls };
}

const message = (seq: unknown = 0) => JSON.stringify({ v: 1, jobId: JOB_ID, type: "note", seq });
const codeOf = async (response: Response) => {
  expect(response.headers.get("Content-Type")).toBe("application/problem+json");
  const problem = (await response.json()) as { status: number; code: string };
  expect(problem.status).toBe(response.status);
  return `${problem.status} ${problem.code}`;
};

describe("API keys", () => {
  test("R01: only a whole key is let in; wrong ones of any length are 401", async () => {
    const { authorized, store } = setup();
    const wrong = [`${KEY.slice(0, -1)}1`, `${KEY}0`, KEY.slice(0, -1), "", "undefined", "null"];
    for (const key of wrong) {
      const response = await authorized(`Bearer ${key}`);
      expect(response.headers.get("WWW-Authenticate")).toBe("Bearer");
      expect(await codeOf(response)).toBe("401 unauthorized");
    }
    expect(store.read).not.toHaveBeenCalled();
    expect(await codeOf(await authorized(`Bearer ${KEY}`))).toBe("404 not_found");
    expect(await codeOf(await authorized("Bearer rotated-secret-0000"))).toBe("404 not_found");
  });

  test.each(["", KEY, `Basic ${KEY}`, "Bearer", `Bearer ${KEY}, Bearer ${KEY}`, "Bearer \u00e9"])(
    "R03: %j opens nothing",
    async (authorization) => {
      expect(await codeOf(await setup().authorized(authorization))).toBe("401 unauthorized");
    },
  );

  test("a key sees its own tenant, an admin all", async () => {
    const { authorized, store } = setup();
    await authorized(`Bearer ${KEY}`);
    await authorized(`bearer ${OPERATOR_KEY}`);
    expect(store.read.mock.calls).toEqual([
      [JOB_ID, { tenant: "acme", keyName: "acme" }],
      [JOB_ID, { tenant: null, keyName: "ops" }],
    ]);
  });

  test("a role below what the route asks for is 403", async () => {
    const { authorized, storeCalls } = setup();
    const paths = [`/api/jobs/${JOB_ID}/cancel`, "/api/dead-letters/replay", "/api/types/a/pause"];
    for (const path of paths) {
      expect(await codeOf(await authorized(`Bearer ${KEY}`, path, "POST"))).toBe("403 forbidden");
    }
    expect(storeCalls()).toBe(0);
  });
});

describe("the sweep", () => {
  test.each(["", "Bearer", "Bearer ", "Bearer undefined", "Bearer null", `Bearer ${KEY}`])(
    "N07: without a configured secret %j opens nothing",
    async (authorization) => {
      const { authorized, storeCalls } = setup();
      for (const method of ["GET", "POST"]) {
        const response = await authorized(authorization, "/api/sweep", method);
        expect(await codeOf(response)).toBe("401 unauthorized");
      }
      expect(storeCalls()).toBe(0);
    },
  );

  test("runs for the cron secret by GET and POST, and for QStash's signature", async () => {
    const { authorized, send, store, verify } = setup({ env: { CRON_SECRET } });
    for (const method of ["GET", "POST"]) {
      const response = await authorized(`Bearer ${CRON_SECRET}`, "/api/sweep", method);
      expect(await response.json()).toMatchObject({ published: 0, more: expect.any(Boolean) });
    }
    const headers = { "Upstash-Signature": "good" };
    const signed = await send("/api/sweep", { method: "POST", headers, body: " {} " });
    expect(signed.status).toBe(200);
    expect(verify).toHaveBeenCalledWith({ rawBody: " {} ", signature: "good", path: "/api/sweep" });
    expect(store.recordSweep).toHaveBeenCalledTimes(3);
  });

  test("a wrong secret or signature is 401 although a secret is set", async () => {
    const { authorized, send, storeCalls } = setup({ env: { CRON_SECRET } });
    const wrong = await authorized(`Bearer ${CRON_SECRET}1`, "/api/sweep");
    expect(await codeOf(wrong)).toBe("401 unauthorized");
    const headers = { "Upstash-Signature": "x.y.z" };
    const forged = await send("/api/sweep", { method: "POST", headers });
    expect(await codeOf(forged)).toBe("401 unauthorized");
    expect(storeCalls()).toBe(0);
  });
});

describe("a delivery's authenticity", () => {
  test.each([undefined, "", "x.y.z"])(
    "G01: with the signature %j nothing runs and the store is not asked",
    async (signature) => {
      const { send, storeCalls, log } = setup();
      const headers = signature === undefined ? [] : [["Upstash-Signature", signature]];
      const init = { method: "POST", body: message(), headers: headers as [string, string][] };
      expect(await codeOf(await send("/api/process", init))).toBe("401 unauthorized");
      expect(storeCalls()).toBe(0);
      expect(log).toHaveBeenCalledWith("delivery_rejected", expect.anything());
    },
  );

  test("G02: the very text that was sent is verified, odd spacing and non-ASCII included", async () => {
    const { deliver, verify } = setup();
    const body = ` {"v":1, "jobId":"${JOB_ID}",\n"type":"note","seq":0,"x":"é\\u00e9"}\t`;
    expect((await deliver({}, body)).status).toBe(200);
    expect(verify).toHaveBeenCalledWith({
      rawBody: body,
      signature: "good",
      path: "/api/process",
    });
  });

  test("the size comes before the signature, and text that is not UTF-8 is not verified", async () => {
    const { deliver, verify } = setup();
    expect(await codeOf(await deliver({}, "x".repeat(16_385)))).toBe("413 payload_too_large");
    expect(await codeOf(await deliver({}, new Uint8Array([0xff])))).toBe("401 unauthorized");
    expect(verify).not.toHaveBeenCalled();
  });

  test.each(["", "{", "[]", "{}", message(-1), message("1"), message().replace("note", "NOTE")])(
    "signed but malformed: %j is refused for ever, without the store",
    async (body) => {
      const { deliver, storeCalls } = setup();
      const response = await deliver({}, body);
      expect(response.headers.get("Upstash-NonRetryable-Error")).toBe("true");
      expect(await codeOf(response)).toBe("489 delivery_malformed");
      expect(storeCalls()).toBe(0);
    },
  );
});

describe("the answer to a delivery", () => {
  const unreachable = async () => {
    throw new StoreUnavailableError("the database did not answer");
  };
  const claims = (outcome: unknown) => async () => outcome as ClaimOutcome;
  const notDue = claims({ kind: "not_due", waitSeconds: 90, wakeup: { jobId: JOB_ID, seq: 0 } });

  test.each([
    [claims({ kind: "noop", reason: "paused" }), { outcome: "noop", reason: "paused" }],
    [notDue, { outcome: "hopped" }],
    [
      claims({ kind: "ended", jobId: "other", status: "dead_letter" }),
      { outcome: "dead_lettered", jobId: JOB_ID, ranJobId: "other" },
    ],
  ])("is 200 where there is nothing more to do: %#", async (claim, body) => {
    const response = await setup({ claim }).deliver();
    expect(response.status).toBe(200);
    expect(await response.json()).toEqual(body);
  });

  test.each([
    ["409 job_running", claims({ kind: "running_own", leaseSecondsLeft: 9.2 }), "0", "11"],
    ["503 job_locked", claims({ kind: "locked", named: true }), "0", "1"],
    ["503 job_unknown", claims({ kind: "unknown" }), "0", "10"],
    ["503 job_unknown", claims({ kind: "unknown" }), "many", "10"],
    ["503 store_unavailable", unreachable, "0", "15"],
    ["503 store_unavailable", unreachable, "1", "120"],
    ["503 store_unavailable", unreachable, "2", "900"],
  ])(
    "E09: %s asks for another delivery after whole seconds",
    async (code, claim, retried, after) => {
      const response = await setup({ claim }).deliver({ "Upstash-Retried": retried });
      expect(response.headers.get("Retry-After")).toBe(after);
      expect(response.headers.has("Upstash-NonRetryable-Error")).toBe(false);
      expect(await codeOf(response)).toBe(code);
    },
  );

  test("a hop that cannot be published is 503", async () => {
    const publishAfter = async () => {
      throw new PublishFailedError("refused");
    };
    const response = await setup({ claim: notDue, publishAfter }).deliver();
    expect(response.headers.get("Retry-After")).toBe("90");
    expect(await codeOf(response)).toBe("503 publish_failed");
  });

  test("a repeated delivery for a job that never came is refused for ever", async () => {
    const { deliver } = setup({ claim: claims({ kind: "unknown" }) });
    const response = await deliver({ "Upstash-Retried": "1" });
    expect(response.headers.get("Upstash-NonRetryable-Error")).toBe("true");
    expect(await codeOf(response)).toBe("489 job_unknown");
  });

  test("the message's id reaches the claim", async () => {
    const { deliver, store } = setup();
    await deliver({ "Upstash-Message-Id": "msg_1" });
    expect(store.claim).toHaveBeenCalledWith(expect.objectContaining({ messageId: "msg_1" }));
  });
});
