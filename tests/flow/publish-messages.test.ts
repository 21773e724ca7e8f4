import { describe, expect, test } from "vitest";
import httpRequest from "../../src/jobs/http_request.js";
import { byAttempt, scripted, succeed, TYPE, throws } from "../support/flow-jobs.js";
import { setUpFlow } from "../support/flow-world.js";
import { startTarget } from "../support/outbound.js";

const flow = setUpFlow();

describe("what is published", () => {
  test("is small, without the payload, and bounded by the type's own time limit", async () => {
    const flowControl = { parallelism: 3, rate: 10, periodSeconds: 60 };
    flow.start([scripted(succeed(), { timeoutSeconds: 120, flowControl })]);
    const jobId = await flow.create(TYPE, { secret: "marker" });
    const [message] = flow.qstash.pending();
    expect(message).toMatchObject({
      url: "http://antrean.test/api/process",
      method: "POST",
      labels: [TYPE],
      flowControlKey: `antrean.test-${TYPE}`,
      deduplicationId: `${jobId}_0_1`,
    });
    expect(JSON.parse(message?.body ?? "")).toEqual({ v: 1, jobId, type: TYPE, seq: 1 });
    expect(message?.deduplicationId).not.toContain(":");
  });

  test("for a later time is not due before it, and never a second early", async () => {
    flow.start([scripted(succeed())]);
    for (const delaySeconds of [0.2, 1.5, 59.9, 86_400]) {
      const jobId = await flow.create(TYPE, {}, { delaySeconds });
      const message = flow.qstash.pending().find(({ body }) => body.includes(jobId));
      const dueAt = Date.parse((await flow.job(jobId)).nextRunAt ?? "");
      expect(message?.dueAt).toBeGreaterThanOrEqual(dueAt - 1);
      expect(message?.dueAt).toBeLessThanOrEqual(dueAt + 1000);
    }
  });

  test("is published after the answer where the platform allows it, and awaited there", async () => {
    const { app } = flow.start([scripted(succeed())]);
    const later: Promise<unknown>[] = [];
    flow.qstash.refusePublishes({ status: 500 });
    const request = new Request("http://antrean.test/api/jobs", {
      method: "POST",
      headers: {
        authorization: "Bearer acme-secret-00000000",
        "content-type": "application/json",
        "idempotency-key": "after-the-answer",
      },
      body: JSON.stringify({ type: TYPE, payload: {} }),
    });
    const response = await app.fetch(request, { waitUntil: (work) => void later.push(work) });
    expect(response.status).toBe(202);
    const { jobId } = (await response.json()) as { jobId: string };
    expect(later).toHaveLength(1);
    await Promise.all(later);
    expect(await flow.row(jobId)).toMatchObject({ status: "queued", triggered_at: null });
  });

  test("carries the trace of the request that created the job, on to its handler's log and calls", async () => {
    await using target = await startTarget((response, _request, count) =>
      response.writeHead(count === 1 ? 503 : 200).end(),
    );
    flow.start([scripted(byAttempt(throws("no"), ({ log }) => log("hello"))), httpRequest], {
      env: { OUTBOUND_ALLOW: target.place },
    });
    const traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    const headers = { traceparent };
    for (const [type, payload] of [
      [TYPE, {}],
      ["http_request", { url: target.url }],
    ]) {
      await flow.request("POST", "/api/jobs", { headers, body: { type, payload } });
    }
    const sent = flow.qstash.pending().map((each) => new Headers(each.headers).get("traceparent"));
    expect(sent).toEqual([traceparent, traceparent]);
    await flow.runUntilIdle();
    const events = flow.logs
      .filter((line) => line.traceparent === traceparent)
      .map(({ event }) => event);
    expect(events.filter((event) => event === "attempt_claimed")).toHaveLength(4);
    expect(events.filter((event) => event === "attempt_finished")).toHaveLength(4);
    expect(events.filter((event) => event === "handler_log")).toHaveLength(1);
    expect(target.requests.map((each) => each.headers.traceparent)).toEqual([
      traceparent,
      traceparent,
    ]);
  });

  test("opens Vercel's deployment protection to itself, and only where that is set", async () => {
    const environments: Record<string, string>[] = [
      {},
      { VERCEL_AUTOMATION_BYPASS_SECRET: "let-me-in" },
    ];
    for (const env of environments) {
      flow.start([scripted(succeed())], { env });
      await flow.create(TYPE, {});
    }
    const sent = flow.qstash.pending().map(({ headers }) => {
      const bypass = Object.entries(headers).find(
        ([name]) => name.toLowerCase() === "x-vercel-protection-bypass",
      );
      return bypass?.[1];
    });
    expect(sent).toEqual([undefined, "let-me-in"]);
  });

  test("is nothing for a type that workers run: not at create, replay or run-now, nor by a sweep", async () => {
    flow.start([scripted(succeed(), { runsOn: "worker" })]);
    const before = flow.qstash.counts().publishRequests;
    const due = await flow.create(TYPE, 1);
    const later = await flow.create(TYPE, 2, { delaySeconds: 60 });
    expect((await flow.request("POST", `/api/jobs/${later}/run-now`)).status).toBe(202);
    await flow.request("POST", `/api/jobs/${due}/cancel`);
    expect((await flow.request("POST", `/api/jobs/${due}/replay`)).status).toBe(202);
    for (let n = 0; n < 3; n += 1) {
      await flow.advance(700);
      await flow.sweep();
    }
    expect(flow.qstash.counts().publishRequests).toBe(before);
    expect(await flow.query("select status, attempts from jobs")).toEqual([
      { status: "queued", attempts: 0 },
      { status: "queued", attempts: 0 },
    ]);
  });
});
