import fc from "fast-check";
import { describe, expect, test, vi } from "vitest";
import * as z from "zod";
import { readConfig } from "../../src/config.js";
import { defineJob } from "../../src/core/define-job.js";
import type { CreateOutcome, Ports, Store } from "../../src/core/ports.js";
import { createApp } from "../../src/http/create-app.js";

const BODY_BYTES_MAX = 2_048;
const WRITE_KEY = "writer-secret-00000";
const config = readConfig(
  {
    DATABASE_URL: "postgres://nobody@127.0.0.1:1/none",
    QSTASH_URL: "http://127.0.0.1:1",
    QSTASH_TOKEN: "qstash-token-000000",
    QSTASH_CURRENT_SIGNING_KEY: "current-signing-key",
    QSTASH_NEXT_SIGNING_KEY: "next-signing-key-00",
    PUBLIC_URL: "https://antrean.test",
    API_KEYS: `acme:write:${WRITE_KEY},acme:read:reader-secret-00000`,
    MAX_BODY_BYTES: String(BODY_BYTES_MAX),
    MAX_BATCH_BODY_BYTES: String(4 * BODY_BYTES_MAX),
  },
  "node",
);
const note = defineJob({ type: "note", payload: z.unknown(), run: () => {} });
const registry = new Map([["note", note]]);

/** An application over a store that accepts every create. */
function setup(answer?: CreateOutcome) {
  const create = vi.fn<Store["create"]>(async (_request, _jobs, { prefix, fresh, suffix }) => {
    const body = prefix + fresh.join(",") + suffix;
    return answer ?? { kind: "created", status: 202, body, wakeups: [] };
  });
  const log = vi.fn();
  const ports = {
    store: { create, findReplay: async () => null },
    entropy: { newId: () => crypto.randomUUID(), random: () => 0 },
    settings: config,
    env: {},
    registry,
    log,
  } as unknown as Ports;
  const app = createApp({ config, registry, verify: async () => false, portsFor: () => ports });
  const post = async (body: RequestInit["body"], more: Record<string, string> = {}) => {
    const headers = new Headers({
      Authorization: `Bearer ${WRITE_KEY}`,
      "Content-Type": "application/json",
      "Idempotency-Key": "k-1",
      ...more,
    });
    for (const [name, value] of Object.entries(more)) if (value === "-") headers.delete(name);
    const init = { method: "POST", headers, body, duplex: "half" } as RequestInit;
    const path = more["X-Path"] ?? "/api/jobs";
    return app.fetch(new Request(`https://antrean.test${path}`, init));
  };
  return { create, log, post };
}

const good = JSON.stringify({ type: "note", payload: { n: 1 } });
const codeOf = async (response: Response) => {
  expect(response.headers.get("Content-Type")).toBe("application/problem+json");
  const problem = (await response.json()) as { status: number; code: string };
  expect(problem.status).toBe(response.status);
  return `${problem.status} ${problem.code}`;
};
const pointersOf = async (response: Response) => {
  const { errors } = (await response.json()) as { errors: { pointer: string }[] };
  return errors.map(({ pointer }) => pointer);
};

describe("the order of checks", () => {
  test("each fault is answered only once those before it are mended", async () => {
    const { post } = setup();
    const tooLong = "x".repeat(BODY_BYTES_MAX + 1);
    const noKey = { "Idempotency-Key": "-" };
    const text = { "Content-Type": "text/plain" };
    const reader = { Authorization: "Bearer reader-secret-00000" };
    const at = (body: string, more: Record<string, string>) => post(body, more).then(codeOf);
    const all = { ...noKey, ...text };
    expect(await at(tooLong, { ...all, Authorization: "-" })).toBe("401 unauthorized");
    expect(await at(tooLong, { ...all, ...reader })).toBe("403 forbidden");
    expect(await at(tooLong, all)).toBe("413 payload_too_large");
    expect(await at("{", all)).toBe("415 unsupported_media_type");
    expect(await at("{", noKey)).toBe("400 idempotency_key_missing");
    expect(await at("{", {})).toBe("400 malformed_json");
    expect(await at("{}", {})).toBe("422 validation_failed");
    expect(await at('{"type":"other","payload":1}', {})).toBe("422 unknown_job_type");
    expect((await post(good)).status).toBe(202);
  });
});

describe("the Idempotency-Key", () => {
  test.each(["-", "", "   ", '""', '"  "'])("A01, A10: %j is a missing key", async (key) => {
    const { post, create } = setup();
    const response = await post(good, { "Idempotency-Key": key });
    expect(await codeOf(response)).toBe("400 idempotency_key_missing");
    expect(create).not.toHaveBeenCalled();
  });

  test("both of its forms reach the store as one key of the caller's tenant", async () => {
    const { post, create } = setup();
    for (const key of ["a,b", '"a,b"']) {
      expect((await post(good, { "Idempotency-Key": key })).status).toBe(202);
      const request = expect.objectContaining({ idempotencyKey: "a,b", tenant: "acme" });
      expect(create).toHaveBeenLastCalledWith(request, expect.anything(), expect.anything());
    }
  });

  test("A08: one that is too long is refused, not cut", async () => {
    const response = await setup().post(good, { "Idempotency-Key": "x".repeat(256) });
    expect(await codeOf(response)).toBe("400 idempotency_key_invalid");
  });
});

describe("the answer to a create", () => {
  test("carries the status URL as its Location and no sign of a replay", async () => {
    const response = await setup().post(good);
    const { statusUrl } = (await response.json()) as { statusUrl: string };
    expect(statusUrl).toMatch(/^https:\/\/antrean\.test\/api\/jobs\/[0-9a-f-]{36}$/);
    expect(response.headers.get("Location")).toBe(statusUrl);
    expect(response.headers.has("Idempotent-Replayed")).toBe(false);
  });

  test("a replay is the stored bytes, marked, with the Location of its own time", async () => {
    const body = '{"jobId": "1",  "statusUrl": "https://old.test/api/jobs/1"}';
    const response = await setup({ kind: "replayed", status: 202, body }).post(good);
    expect(await response.text()).toBe(body);
    expect(response.headers.get("Idempotent-Replayed")).toBe("true");
    expect(response.headers.get("Location")).toBe("https://old.test/api/jobs/1");
  });

  test("E09: a job that is being cancelled holds its dedupe key: 409 with Retry-After", async () => {
    const response = await setup({ kind: "dedupe_job_cancelling" }).post(good);
    expect(response.headers.get("Retry-After")).toBe("5");
    expect(await codeOf(response)).toBe("409 dedupe_job_cancelling");
  });

  test("a key of another request is 409", async () => {
    const response = await setup({ kind: "key_reused" }).post(good);
    expect(await codeOf(response)).toBe("409 idempotency_key_reused");
  });
});

describe("bodies", () => {
  test.each(['{"a":', "{a:1}", '{"a":1,}', "NaN", "'x'", "", "   ", "\ufeff{}"])(
    "D01, D02: %j is 400 and no fault of the server",
    async (body) => {
      const { post, log } = setup();
      expect(await codeOf(await post(body))).toBe("400 malformed_json");
      expect(log.mock.calls.map(([event]) => event)).toEqual(["request_handled"]);
    },
  );

  test("bytes that are not UTF-8 are 400", async () => {
    const bytes = new Uint8Array([0x22, 0xff, 0x22]);
    expect(await codeOf(await setup().post(bytes))).toBe("400 malformed_json");
  });

  test.each([-1, 0, 1])("D03: a body of the limit and %i bytes", async (more) => {
    const frame = JSON.stringify({ type: "note", payload: "" });
    const payload = "x".repeat(BODY_BYTES_MAX - frame.length + more);
    const response = await setup().post(JSON.stringify({ type: "note", payload }));
    if (more <= 0) expect(response.status).toBe(202);
    else expect(await codeOf(response)).toBe("413 payload_too_large");
  });

  test("D03: a stream without a length is cut off at the limit", async () => {
    let pulls = 0;
    const endless = new ReadableStream<Uint8Array>({
      pull(controller) {
        pulls += 1;
        controller.enqueue(new Uint8Array(256));
      },
    });
    expect(await codeOf(await setup().post(endless))).toBe("413 payload_too_large");
    expect(pulls).toBeLessThan(BODY_BYTES_MAX / 256 + 5);
  });

  test("a body that breaks off is 400", async () => {
    const broken = new ReadableStream({
      pull: (controller) => controller.error(new Error("gone")),
    });
    expect(await codeOf(await setup().post(broken))).toBe("400 malformed_json");
  });

  test("a job in a batch may be no larger than a job alone", async () => {
    const job = { type: "note", payload: "x".repeat(BODY_BYTES_MAX) };
    const response = await setup().post(JSON.stringify({ jobs: [job] }), {
      "X-Path": "/api/jobs/batch",
    });
    expect(await codeOf(response)).toBe("413 payload_too_large");
  });

  test.each([64, 65])("D07: a payload of %i levels", async (levels) => {
    const payload = "[".repeat(levels) + "]".repeat(levels);
    const response = await setup().post(`{"type":"note","payload":${payload}}`);
    expect(response.status).toBe(levels > 64 ? 422 : 202);
  });

  test("C01, C04, C06: what could not be kept is refused at its place", async () => {
    const payload = '{"a/b":"\\u0000","c":["\\ud800"],"d":9007199254740993}';
    const response = await setup().post(`{"type":"note","payload":${payload}}`);
    expect(response.status).toBe(422);
    expect(await pointersOf(response)).toEqual(["#/payload/a~1b", "#/payload/c/0", "#/payload/d"]);
  });

  test("C16: __proto__ is a plain member of a payload", async () => {
    const { post, create } = setup();
    await post('{"type":"note","payload":{"__proto__":{"isAdmin":true}}}');
    expect(JSON.stringify(create.mock.calls[0]?.[1][0]?.payload)).toBe(
      '{"__proto__":{"isAdmin":true}}',
    );
    expect(({} as { isAdmin?: boolean }).isAdmin).toBeUndefined();
  });

  test.each([
    ['{"type":123,"payload":1}', "#/type"],
    ['{"type":"","payload":1}', "#/type"],
    ['{"type":"note"}', "#/payload"],
    ['{"type":"note","payload":1,"runAt":{}}', "#/runAt"],
    ['{"type":"note","payload":1,"runAt":"2026-02-30T00:00:00Z"}', "#/runAt"],
    [
      '{"type":"note","payload":1,"runAt":"2020-01-01T00:00:00Z","delaySeconds":1}',
      "#/delaySeconds",
    ],
    ['{"type":"note","payload":1,"runAt":"2999-01-01T00:00:00Z"}', "#/runAt"],
    ['{"type":"note","payload":1,"delaySeconds":-1}', "#/delaySeconds"],
    ['{"type":"note","payload":1,"priority":10}', "#/priority"],
    ['{"type":"note","payload":1,"priority":1.5}', "#/priority"],
    ['{"type":"note","payload":1,"maxAttempts":0}', "#/maxAttempts"],
    ['{"type":"note","payload":1,"dedupeKey":""}', "#/dedupeKey"],
    ['{"type":"note","payload":1,"__proto__":{}}', "#/__proto__"],
    ["[]", "#"],
    ['"text"', "#"],
  ])("D13: %s is 422 at %s", async (body, pointer) => {
    const { post, create } = setup();
    const response = await post(body);
    expect(response.status).toBe(422);
    expect(await pointersOf(response)).toContain(pointer);
    expect(create).not.toHaveBeenCalled();
  });

  test("R11: members of the server are refused by name", async () => {
    const server = { id: "x", status: "completed", attempts: 99, tenant: "b" };
    const response = await setup().post(JSON.stringify({ type: "note", payload: 1, ...server }));
    expect(response.status).toBe(422);
    expect(await pointersOf(response)).toEqual(["#/id", "#/status", "#/attempts", "#/tenant"]);
  });
});

test("whatever is sent to create a job, the answer is 202 or a problem below 500", async () => {
  const { post } = setup();
  const names = fc.constantFrom(
    "type",
    "payload",
    "runAt",
    "delaySeconds",
    "priority",
    "dedupeKey",
  );
  const body = fc.oneof(
    fc.string({ unit: "binary" }),
    fc.json({ maxDepth: 6 }),
    fc
      .dictionary(names, fc.oneof(fc.jsonValue(), fc.constant("note")))
      .map((v) => JSON.stringify(v)),
    fc.uint8Array().map((bytes) => new Uint8Array(bytes)),
  );
  const header = fc.string({
    unit: fc.integer({ min: 0x20, max: 0x7e }).map((c) => String.fromCharCode(c)),
  });
  const headers = fc.record(
    {
      "Idempotency-Key": header,
      "Content-Type": header,
      traceparent: header,
      "X-Request-Id": header,
    },
    { requiredKeys: [] },
  );
  await fc.assert(
    fc.asyncProperty(body, headers, async (sent, more) => {
      const response = await post(sent, more);
      if (response.status !== 202) expect(await codeOf(response)).toMatch(/^4\d\d /);
    }),
    { numRuns: 500 },
  );
});
