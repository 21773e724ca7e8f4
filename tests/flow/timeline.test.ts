import { randomUUID } from "node:crypto";
import { describe, expect, test } from "vitest";
import * as z from "zod";
import { timelineSchema } from "../../src/http/answers/get-timeline.js";
import { send } from "../support/flow-delivery.js";
import { type Context, held, scripted, succeed, TYPE, throws } from "../support/flow-jobs.js";
import { setUpFlow } from "../support/flow-world.js";
import { KEYS } from "../support/world.js";

const flow = setUpFlow();

interface Timeline {
  jobId: string;
  items: Record<string, unknown>[];
  truncated: boolean;
}

async function timeline(jobId: string, secret: string = KEYS.acme): Promise<Timeline> {
  const response = await flow.request("GET", `/api/jobs/${jobId}/timeline`, { secret });
  const text = await response.text();
  expect(response.status, text).toBe(200);
  const tokens = await flow.query(
    `select lock_token from job_attempts union select lock_token from job_effects
     union select lock_token from jobs where lock_token is not null`,
  );
  for (const { lock_token } of tokens) expect(text).not.toContain(lock_token);
  const answer = z.strictObject(timelineSchema.shape).parse(JSON.parse(text)) as Timeline;
  const times = answer.items.map(({ at }) => String(at));
  expect(times).toEqual([...times].sort());
  return answer;
}

const act = async (jobId: string, verb: string, body?: unknown, secret?: string) => {
  const response = await flow.request("POST", `/api/jobs/${jobId}/${verb}`, { body, secret });
  return response.status;
};

/** What a timeline's items are about, without their times. */
const storyOf = ({ items }: Timeline) =>
  items.map(({ kind, attempt, outcome }) => [kind, attempt, outcome].filter(Boolean).join(" "));

describe("the timeline of a job", () => {
  test("tells of its creation, its message, its attempt and how that ended", async () => {
    flow.start([scripted(succeed())]);
    const jobId = await flow.create(TYPE, {});
    expect(await timeline(jobId)).toMatchObject({
      jobId,
      items: [{ kind: "created" }, { kind: "published", seq: 1, why: null, failed: false }],
      truncated: false,
    });
    await flow.qstash.deliverDue();
    expect(storyOf(await timeline(jobId))).toEqual([
      "created",
      "published",
      "claimed 1",
      "attempt_finished 1 completed",
    ]);
  });

  test("shows each failed try with its error, and the message of the next", async () => {
    flow.start([scripted(throws(new Error("x".repeat(3000))))]);
    const jobId = await flow.create(TYPE, {}, { maxAttempts: 2 });
    await flow.qstash.deliverDue();
    const { items } = await timeline(jobId);
    expect(items.slice(-2)).toMatchObject([
      { kind: "attempt_finished", attempt: 1, outcome: "failed", error: { code: "handler_error" } },
      { kind: "published", seq: 2 },
    ]);
    expect(items.at(-2)?.error).toEqual({ code: "handler_error", message: "x".repeat(1000) });
    expect(items.at(-1)?.at).toBe(items.at(-2)?.at);
    await flow.runUntilIdle();
    expect(storyOf(await timeline(jobId))).toEqual([
      "created",
      "claimed 1",
      "attempt_finished 1 failed",
      "published",
      "claimed 2",
      "attempt_finished 2 dead_letter",
    ]);
  });

  test("shows the attempt that runs at this moment, and its effects", async () => {
    const { run, started, release } = held();
    const effects = async (context: Context) => {
      await context.once("charge", ({ trace }) => trace({ status: 201 }));
      await context.once("mail", () => run(context));
    };
    flow.start([scripted(effects)]);
    const jobId = await flow.create(TYPE, {});
    const delivered = flow.qstash.deliverDue();
    await started;
    expect((await timeline(jobId)).items.slice(2)).toMatchObject([
      { kind: "claimed", attempt: 1 },
      { kind: "effect", attempt: 1, name: "charge", outcome: "done", trace: { status: 201 } },
      { kind: "effect", attempt: 1, name: "mail", outcome: "running", finishedAt: null },
    ]);
    release();
    await delivered;
    expect(storyOf(await timeline(jobId)).slice(2)).toEqual([
      "claimed 1",
      "effect 1 done",
      "effect 1 done",
      "attempt_finished 1 completed",
    ]);
  });

  test("shows an effect without a known end, who settled it, and the replay", async () => {
    const effect = ({ once, attempt }: Context) =>
      once(
        "charge",
        () => {
          if (attempt === 1) throw new Error("cut");
        },
        { ifUnknown: "dead_letter" },
      );
    flow.start([scripted(effect)]);
    const jobId = await flow.create(TYPE, {});
    await flow.runUntilIdle();
    expect((await timeline(jobId)).items).toContainEqual(
      expect.objectContaining({ kind: "effect", attempt: 1, outcome: "unknown" }),
    );
    const settlement = { outcome: "not_done", reason: "bank says no" };
    expect(await act(jobId, "effects/charge/settle", settlement)).toBe(200);
    expect(await act(jobId, "replay", { payload: 2, reason: "again" }, KEYS.admin)).toBe(202);
    await flow.runUntilIdle();
    const { items } = await timeline(jobId);
    expect(items.slice(-6)).toMatchObject([
      {
        kind: "settled",
        effect: "charge",
        outcome: "not_done",
        by: "acme",
        reason: "bank says no",
      },
      {
        kind: "replayed",
        by: "ops",
        reason: "again",
        was: "dead_letter",
        error: { code: "effect_unknown" },
        payloadChanged: true,
        bulk: false,
      },
      { kind: "published", seq: 3 },
      { kind: "claimed", attempt: 3 },
      { kind: "effect", attempt: 3, outcome: "done" },
      { kind: "attempt_finished", attempt: 3, outcome: "completed" },
    ]);
  });
});

describe("what operators and messages do", () => {
  test("shows in the order in which it was done, with who and why", async () => {
    flow.start([scripted(succeed())]);
    const jobId = await flow.create(TYPE, {}, { delaySeconds: 3600 });
    expect(await act(jobId, "cancel", { reason: "by mistake" })).toBe(200);
    await flow.advance(1);
    expect(await act(jobId, "replay")).toBe(202);
    await flow.qstash.deliverDue();
    const { items } = await timeline(jobId);
    expect(items).toMatchObject([
      { kind: "created" },
      { kind: "cancelled", by: "acme", reason: "by mistake" },
      { kind: "replayed", by: "acme", reason: null, was: "cancelled", error: null },
      { kind: "published", seq: 2 },
      { kind: "claimed", attempt: 1 },
      { kind: "attempt_finished", outcome: "completed" },
    ]);
  });

  test("shows a job that was run now, and the scheduled message that found it done", async () => {
    flow.start([scripted(succeed())]);
    const jobId = await flow.create(TYPE, {}, { delaySeconds: 3600 });
    expect(await act(jobId, "run-now", { reason: "urgent" })).toBe(202);
    await flow.runUntilIdle();
    const { items } = await timeline(jobId);
    expect(items.slice(1)).toMatchObject([
      { kind: "published", why: "run_now", by: "acme", reason: "urgent" },
      { kind: "claimed", attempt: 1 },
      { kind: "attempt_finished", outcome: "completed" },
      { kind: "delivery_refused", reason: "finished", ranJobId: null },
    ]);
    expect(items.at(-1)?.messageId).toEqual(expect.any(String));
  });

  test("shows a cancel request, and the end of the attempt that it stopped", async () => {
    const { run, started, fail } = held();
    flow.start([scripted(run)]);
    const jobId = await flow.create(TYPE, {});
    const delivered = flow.qstash.deliverDue();
    await started;
    expect(await act(jobId, "cancel", { reason: "too late?" })).toBe(202);
    fail(new Error("stopped"));
    await delivered;
    expect((await timeline(jobId)).items.slice(-3)).toMatchObject([
      { kind: "cancel_requested", by: "acme", reason: "too late?" },
      { kind: "attempt_finished", attempt: 1, outcome: "cancelled" },
      { kind: "cancelled", by: null, reason: null },
    ]);
  });

  test("shows a publish that failed and the sweep's", async () => {
    flow.start([scripted(succeed())]);
    flow.qstash.refusePublishes({ status: 500 });
    const jobId = await flow.create(TYPE, {});
    await flow.settled();
    flow.qstash.refusePublishes(null);
    await flow.sweep();
    expect((await timeline(jobId)).items.slice(1)).toMatchObject([
      { kind: "published", seq: 1, failed: true, why: null },
      { kind: "published", seq: 1, failed: false, why: "unpublished" },
    ]);
  });

  test("shows the late outcome of an attempt that had lost its lease", async () => {
    const { run, started, release } = held();
    const first = flow.start([scripted(run, { leaseSeconds: 60 })]);
    const jobId = await flow.create(TYPE, {}, { maxAttempts: 1 });
    const delivered = flow.qstash.deliverDue();
    await started;
    // The instance hangs: its heartbeats stop, and its result comes when the job has moved on.
    first.ports.rule = ({ method }) => (method === "heartbeat" ? "fail" : undefined);
    await flow.database.advance(120);
    await flow.sweep();
    release("late");
    await delivered;
    const { items } = await timeline(jobId);
    expect(items.slice(1)).toMatchObject([
      { kind: "published", seq: 1 },
      { kind: "claimed", attempt: 1 },
      {
        kind: "attempt_finished",
        attempt: 1,
        outcome: "lease_expired",
        error: { code: "lease_expired" },
        late: { outcome: "completed", at: expect.any(String) },
      },
    ]);
  });
});

describe("who reads a timeline", () => {
  test("sees that of another tenant as little as that of no job (R04)", async () => {
    flow.start([scripted(succeed())]);
    const jobId = await flow.create(TYPE, {});
    const problems = [];
    for (const id of [jobId, randomUUID()]) {
      const path = `/api/jobs/${id}/timeline`;
      const response = await flow.request("GET", path, { secret: KEYS.globex });
      const { requestId, ...problem } = (await response.json()) as Record<string, unknown>;
      problems.push(problem);
    }
    expect(problems[0]).toMatchObject({ status: 404, code: "not_found" });
    expect(problems[0]).toEqual(problems[1]);
    expect((await timeline(jobId, KEYS.admin)).items).toHaveLength(2);
  });

  test("learns no other tenant's job that ran in the place of theirs", async () => {
    flow.start([scripted(succeed())]);
    const mine = await flow.create(TYPE, {});
    const body = { type: TYPE, payload: {}, priority: 9 };
    const created = await flow.request("POST", "/api/jobs", { body, secret: KEYS.globex });
    const { jobId: theirs } = (await created.json()) as { jobId: string };
    await send(flow, { jobId: mine });
    const refused = { kind: "delivery_refused", reason: "displaced" };
    expect((await timeline(mine)).items.at(-1)).toMatchObject({ ...refused, ranJobId: null });
    expect((await timeline(mine, KEYS.admin)).items.at(-1)).toMatchObject({
      ...refused,
      ranJobId: theirs,
    });
  });

  test("gets the newest thousand items of a long life", async () => {
    flow.start([scripted(succeed())]);
    const jobId = await flow.create(TYPE, {}, { delaySeconds: 3600 });
    await flow.query(
      `insert into job_events (job_id, action_id, at, kind, data)
       select $1, gen_random_uuid(), now() + n * interval '1 second', 'delivery_refused', '{"reason": "running"}'
       from generate_series(1, 1005) n`,
      [jobId],
    );
    const { items, truncated } = await timeline(jobId);
    expect([items.length, truncated]).toEqual([1000, true]);
    expect(items.every(({ kind }) => kind === "delivery_refused")).toBe(true);
  });

  test("may ask with HEAD and OPTIONS, at the cost of one round trip", async () => {
    flow.start([scripted(succeed())]);
    const path = `/api/jobs/${await flow.create(TYPE, {})}/timeline`;
    flow.database.neon.requests = 0;
    const head = await flow.request("HEAD", path);
    expect([head.status, await head.text(), flow.database.neon.requests]).toEqual([200, "", 1]);
    const options = await flow.request("OPTIONS", path);
    expect([options.status, options.headers.get("allow")]).toEqual([204, "GET, HEAD, OPTIONS"]);
  });
});
