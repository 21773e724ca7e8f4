import { Webhook } from "standardwebhooks";
import { afterEach, describe, expect, test, vi } from "vitest";
import httpRequest from "../../src/jobs/http_request.js";
import {
  answering,
  call,
  createIssues,
  failure,
  OPERATION_ID,
  startTarget,
  type Target,
} from "../support/outbound.js";

afterEach(() => {
  vi.useRealTimers();
});

describe("Q14: every attempt carries the same id and body, and a fresh, valid signature", () => {
  const secret = `whsec_${Buffer.from("0123456789abcdef0123456789abcdef").toString("base64")}`;

  test("so a receiver can drop the repeat and still trust it", async () => {
    await using target = await startTarget((response, _, count) => {
      response.writeHead(count === 1 ? 500 : 200).end();
    });
    const env = { WEBHOOK_SIGNING_SECRET: secret };
    const payload = { json: { amount: 12.5, note: "ü" } };
    vi.useFakeTimers({ toFake: ["Date"], now: new Date("2033-01-01T00:00:00.900Z") });
    expect((await failure(call(target, payload, { env }))).kind).toBe("retry");
    verifies(target, 0);
    vi.setSystemTime("2033-01-01T01:00:00Z");
    await call(target, payload, { env, attempt: 2 });
    verifies(target, 1);
    const [first, second] = target.requests;
    expect(second?.body).toBe(first?.body);
    for (const name of ["webhook-id", "idempotency-key"]) {
      expect(first?.headers[name]).toBe(OPERATION_ID);
      expect(second?.headers[name]).toBe(OPERATION_ID);
    }
    expect(timestamp(target, 1) - timestamp(target, 0)).toBe(3_600);
  });

  test("a request without a body is signed too", async () => {
    await using target = await answering(200);
    await call(target, { method: "GET" }, { env: { WEBHOOK_SIGNING_SECRET: secret } });
    verifies(target, 0);
  });

  test("a secret that cannot sign is refused at create and at call time, and not repeated", async () => {
    const env = { WEBHOOK_SIGNING_SECRET: "whsec_not base64!" };
    const [issue] = createIssues(httpRequest, { url: "https://example.com/", method: "POST" }, env);
    expect(issue?.message).toContain("WEBHOOK_SIGNING_SECRET");
    expect(issue?.message).not.toContain("not base64!");
    await using target = await answering(200);
    expect((await failure(call(target, {}, { env }))).kind).toBe("fatal");
    expect(
      createIssues(
        httpRequest,
        { url: "https://example.com/", method: "POST" },
        { WEBHOOK_SIGNING_SECRET: "" },
      ),
    ).toEqual([]);
  });

  function verifies(target: Target, index: number) {
    const request = target.requests[index];
    if (!request) throw new Error("the target was not asked");
    new Webhook(secret).verify(request.body, request.headers as Record<string, string>);
  }

  function timestamp(target: Target, index: number): number {
    return Number(target.requests[index]?.headers["webhook-timestamp"]);
  }
});

describe("K05 and the rules of repetition", () => {
  test("Retry-After is honoured as seconds and as a date two minutes ahead", async () => {
    await using target = await startTarget((response, _, count) => {
      const date = new Date(Date.now() + 120_000).toUTCString();
      response.writeHead(429, { "retry-after": count === 1 ? "90" : date }).end();
    });
    expect(await failure(call(target))).toMatchObject({
      kind: "retry",
      code: "http_429",
      delaySeconds: 90,
    });
    const byDate = await failure(call(target));
    expect(byDate.delaySeconds).toBeGreaterThanOrEqual(119);
    expect(byDate.delaySeconds).toBeLessThanOrEqual(120);
  });

  test("an unreadable Retry-After leaves the job's own backoff", async () => {
    await using target = await answering(503, { "retry-after": "a moment" });
    const failed = await failure(call(target));
    expect(failed).toMatchObject({ kind: "retry", code: "http_503" });
    expect(failed.delaySeconds).toBeUndefined();
  });

  test.each([408, 409, 425, 429, 500, 501, 502, 503, 504, 507, 599])(
    "%i is tried again",
    async (status) => {
      await using target = await answering(status);
      expect(await failure(call(target))).toMatchObject({ kind: "retry", code: `http_${status}` });
    },
  );

  test.each([
    400, 401, 402, 403, 404, 405, 406, 410, 411, 412, 413, 415, 417, 418, 421, 422, 423, 424, 426,
    428, 431, 451, 499,
  ])("%i ends the job", async (status) => {
    await using target = await answering(status, { "retry-after": "1" });
    expect(await failure(call(target))).toMatchObject({ kind: "fatal", code: `http_${status}` });
  });

  test("faults of the network are tried again and named by their code", async () => {
    await using cut = await startTarget((response) => response.destroy());
    expect(await failure(call(cut))).toMatchObject({ kind: "retry" });
    await using cutLater = await startTarget((response) => {
      response.writeHead(200, { "content-length": "10" }).write("a");
      response.destroy();
    });
    expect(await failure(call(cutLater))).toMatchObject({ kind: "retry" });
    const gone = await answering(200);
    await gone[Symbol.asyncDispose]();
    expect(await failure(call(gone))).toMatchObject({
      kind: "retry",
      message: `the call to ${gone.place} failed (ECONNREFUSED)`,
    });
  });
});
