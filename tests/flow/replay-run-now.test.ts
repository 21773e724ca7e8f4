import { describe, expect, test } from "vitest";
import { byAttempt, held, scripted, succeed, TYPE, throws } from "../support/flow-jobs.js";
import { setUpFlow } from "../support/flow-world.js";
import { KEYS } from "../support/world.js";

const flow = setUpFlow();

async function runNow(jobId: string, body?: unknown, secret?: string) {
  const response = await flow.request("POST", `/api/jobs/${jobId}/run-now`, { body, secret });
  return { status: response.status, body: (await response.json()) as Record<string, unknown> };
}

describe("a job that waits for a later time and is run now", () => {
  test("runs at once by a message of its own, and the scheduled one finds it done", async () => {
    let runs = 0;
    const instance = flow.start([
      scripted(() => {
        runs += 1;
      }),
    ]);
    const jobId = await flow.create(TYPE, {}, { delaySeconds: 3600 });
    expect(await runNow(jobId, { reason: "customer on the phone" })).toMatchObject({
      status: 202,
      body: { id: jobId, status: "queued", attempts: 0 },
    });
    const now = flow.qstash.now();
    await flow.qstash.deliverDue();
    expect(await flow.job(jobId)).toMatchObject({ status: "completed", attempts: 1 });
    expect(flow.qstash.now()).toBe(now);
    await flow.runUntilIdle();
    expect(instance.captured).toHaveLength(2);
    expect(runs).toBe(1);
    expect((await flow.events(jobId)).map(({ kind, data }) => [kind, data])).toMatchObject([
      ["run_now", { by: "acme", reason: "customer on the phone" }],
      ["delivery_refused", { reason: "finished" }],
    ]);
  });

  test("between its tries spends the budget that it has, no more", async () => {
    flow.start([scripted(throws("no"))]);
    const jobId = await flow.create(TYPE, {}, { maxAttempts: 3 });
    await flow.qstash.deliverDue();
    for (const attempts of [2, 3]) {
      expect((await runNow(jobId)).status).toBe(202);
      await flow.qstash.deliver(newestMessage());
      expect(await flow.job(jobId)).toMatchObject({ attempts });
    }
    expect(await flow.job(jobId)).toMatchObject({ status: "dead_letter", attemptsLeft: 0 });
    await flow.runUntilIdle();
    expect(await flow.job(jobId)).toMatchObject({ status: "dead_letter", attempts: 3 });
  });
  const newestMessage = () => {
    const seqOf = ({ body }: { body: string }) => (JSON.parse(body) as { seq: number }).seq;
    const [newest] = flow.qstash.pending().sort((a, b) => seqOf(b) - seqOf(a));
    return newest?.messageId ?? "";
  };

  test("while QStash refuses is accepted, and the sweep publishes it", async () => {
    flow.start([scripted(succeed())]);
    const jobId = await flow.create(TYPE, {}, { delaySeconds: 3600 });
    flow.qstash.refusePublishes({ status: 500 });
    expect((await runNow(jobId)).status).toBe(202);
    expect(await flow.row(jobId)).toMatchObject({ triggered_at: null });
    flow.qstash.refusePublishes(null);
    expect(await flow.sweep()).toMatchObject({ published: 1 });
    await flow.qstash.deliverDue();
    expect(await flow.job(jobId)).toMatchObject({ status: "completed", attempts: 1 });
  });

  test("twice, or with a lost answer, is moved once", async () => {
    flow.start([scripted(succeed())]);
    const jobId = await flow.create(TYPE, {}, { delaySeconds: 3600 });
    flow.database.neon.setFault({
      action: "lose-answer",
      nth: 1,
      matching: (sql) => sql.startsWith("/* run-now */"),
    });
    expect((await runNow(jobId)).status).toBe(202);
    expect(await runNow(jobId)).toMatchObject({ status: 409, body: { code: "job_not_waiting" } });
    expect((await flow.events(jobId)).filter(({ kind }) => kind === "run_now")).toHaveLength(1);
    await flow.qstash.deliverDue();
    expect(await flow.job(jobId)).toMatchObject({ status: "completed", attempts: 1 });
  });
});

describe("a job that does not wait for a later time", () => {
  test("due, running, or ended: running it now is refused and changes nothing", async () => {
    const end = held();
    flow.start([scripted(byAttempt(end.run))]);
    const jobId = await flow.create(TYPE, {});
    const refused = async () => {
      const before = await flow.row(jobId);
      expect(await runNow(jobId)).toMatchObject({ status: 409, body: { code: "job_not_waiting" } });
      expect(await flow.row(jobId)).toEqual(before);
    };
    await refused();
    const delivery = flow.qstash.deliverDue();
    await end.started;
    await refused();
    end.release();
    await delivery;
    await refused();
  });

  test("cancelled or dead: refused; that is what a replay is for", async () => {
    flow.start([scripted(throws({ status: 404 }))]);
    const dead = await flow.create(TYPE, {});
    await flow.qstash.deliverDue();
    const cancelled = await flow.create(TYPE, {}, { delaySeconds: 60 });
    await flow.request("POST", `/api/jobs/${cancelled}/cancel`);
    for (const jobId of [dead, cancelled]) expect((await runNow(jobId)).status).toBe(409);
  });

  test("of another tenant is a 404 and stays where it is", async () => {
    flow.start([scripted(succeed())]);
    const jobId = await flow.create(TYPE, {}, { delaySeconds: 60 });
    const before = await flow.row(jobId);
    expect((await runNow(jobId, undefined, KEYS.globex)).status).toBe(404);
    expect(await flow.row(jobId)).toEqual(before);
  });
});

describe("a dedupe key that is free from the first start", () => {
  test("is taken again by a replay, until the next start, and not by retries or snoozes", async () => {
    const dedupe = { until: "started" as const };
    flow.start([
      scripted(
        byAttempt(throws("no"), ({ snooze }) => snooze(1), throws({ status: 404 }), succeed()),
        { dedupe },
      ),
    ]);
    const again = () => flow.create(TYPE, {}, { dedupeKey: "k", delaySeconds: 86_400 });
    const jobId = await flow.create(TYPE, {}, { dedupeKey: "k" });
    expect(await again()).toBe(jobId);
    const mine = () => flow.qstash.pending().find(({ body }) => body.includes(jobId));
    const attempt = async () => {
      await flow.advance(Math.max(0, (mine()?.dueAt ?? 0) - flow.qstash.now()) / 1000);
      await flow.qstash.deliver(mine()?.messageId ?? "");
    };
    await attempt();
    const other = await again();
    expect(other).not.toBe(jobId);
    await attempt();
    await attempt();
    expect(await flow.job(jobId)).toMatchObject({ status: "dead_letter", attempts: 3 });
    const replay = () => flow.request("POST", `/api/jobs/${jobId}/replay`);
    expect((await replay()).status).toBe(409);
    await flow.request("POST", `/api/jobs/${other}/cancel`);
    expect((await replay()).status).toBe(202);
    expect(await again()).toBe(jobId);
    await attempt();
    expect(await flow.job(jobId)).toMatchObject({ status: "completed", attempts: 4 });
    expect(await again()).not.toBe(jobId);
  });
});
