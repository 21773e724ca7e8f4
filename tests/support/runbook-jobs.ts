/** Situations of the runbook that concern jobs and what they do. */

import { expect } from "vitest";
import * as z from "zod";
import { defineJob, FatalError, type JobDefinition } from "../../src/core/define-job.js";
import { byAttempt, type Handler, held, scripted, succeed, throws } from "./flow-jobs.js";
import type { Flow } from "./flow-world.js";
import type { Scenarios } from "./runbook.js";

const TYPE = "test.mail";
const REASON = "by the runbook";
const CLOSED = Object.assign(new Error("account closed"), { status: 410 });

async function createMany(flow: Flow, type: string, count: number): Promise<string[]> {
  const ids: string[] = [];
  for (let n = 0; n < count; n += 1) ids.push(await flow.create(type, { n }));
  return ids;
}

/** A type that charges once for each job, and is then refused for as long as the world wants. */
function charging(state: { isMended: boolean; charges: number }): JobDefinition {
  return scripted(
    async ({ once }) => {
      await once("charge", () => {
        state.charges += 1;
      });
      if (!state.isMended) throw CLOSED;
    },
    {},
    TYPE,
  );
}

export const JOB_SCENARIOS: Scenarios = {
  async "Dead letters by cause"(flow, page) {
    flow.start([
      scripted(throws(CLOSED), {}, TYPE),
      scripted(throws(new FatalError("no such template")), {}, "test.other"),
    ]);
    const [first = ""] = await createMany(flow, TYPE, 3);
    await createMany(flow, "test.other", 1);
    await flow.qstash.deliverDue();
    const causes = await page.query()();
    expect(causes).toMatchObject([
      { job_type: TYPE, code: "http_410", count: "3" },
      { job_type: "test.other", code: "fatal", count: "1" },
    ]);
    const newest = String(causes[1]?.newest);
    expect((await page.command()({ JOB: newest })).stdout).toContain("fatal at ");
    const tail = await page.command()({ JOB: first });
    expect(tail).toMatchObject({ code: 1, stderr: expect.stringContaining("dead_letter") });
    expect(tail.stdout).toMatch(/claimed .*\n.*attempt_finished .*account closed/);
  },

  async "A poison type"(flow, page) {
    const seen: string[] = [];
    const deploy = (run: Handler) =>
      flow.start([scripted(run, { maxAttempts: 2, backoff: { baseSeconds: 5 } }, TYPE)]);
    deploy(({ operationId }) => {
      seen.push(operationId);
      throw new Error("cannot read invoices");
    });
    await createMany(flow, TYPE, 3);
    await flow.runUntilIdle(60);
    expect(await page.query()()).toMatchObject([
      { job_type: TYPE, error_code: "handler_error", attempts: "3", jobs: "3" },
      { job_type: TYPE, error_code: "handler_error", attempts: "3", jobs: "3" },
    ]);
    await page.command()({ TYPE, REASON });
    const waiting = await flow.create(TYPE, {});
    await flow.runUntilIdle(60);
    expect(await flow.job(waiting)).toMatchObject({ status: "queued", attempts: 0 });
    expect(seen).toHaveLength(6);
    deploy(succeed());
    await page.command()({ TYPE });
    expect((await page.command()()).stdout).toContain("published: 1");
    await flow.qstash.deliverDue();
    const newest = await page.query()({ type: TYPE });
    expect(newest).toContainEqual({ outcome: "completed", count: "1" });
  },

  async "Replay safely"(flow, page) {
    const state = { isMended: false, charges: 0 };
    flow.start([charging(state)]);
    const [first = "", second = ""] = await createMany(flow, TYPE, 4);
    await flow.qstash.deliverDue();
    expect(await page.query()({ type: TYPE })).toEqual([
      { name: "charge", state: "done", count: "4" },
    ]);
    state.isMended = true;
    await page.command()({ JOB: first, REASON });
    await page.command()({ JOB: second, PAYLOAD: '{"n":7}', REASON });
    await flow.qstash.deliverDue();
    expect(await flow.job(first)).toMatchObject({ status: "completed" });
    expect(await flow.job(second)).toMatchObject({ status: "completed", payload: { n: 7 } });
    const all = { TYPE, CODE: "http_410", REASON };
    expect((await page.command()(all)).stdout).toBe("2 match, 0 of them would be skipped.\n");
    expect((await page.command()(all)).stdout).toBe("2 replayed, 0 skipped.\n");
    const [{ spread } = {}] = await flow.query(
      "select extract(epoch from max(next_run_at) - min(next_run_at))::float8 as spread from jobs",
    );
    expect(spread).toBe(300);
    await flow.runUntilIdle(700);
    expect((await page.command()({ TYPE })).stdout).toBe("No jobs.\n");
    expect(await flow.query("select distinct status from jobs")).toEqual([{ status: "completed" }]);
    expect(state.charges).toBe(4);
  },

  async "An effect with an unknown end"(flow, page) {
    let calls = 0;
    const run: Handler = ({ once }) =>
      once(
        "charge",
        () => {
          calls += 1;
          if (calls <= 2) throw new Error("the connection was cut");
        },
        { ifUnknown: "dead_letter" },
      );
    flow.start([scripted(run, {}, TYPE)]);
    const [happened = "", not = ""] = await createMany(flow, TYPE, 2);
    await flow.runUntilIdle(600);
    const unknown = page.query();
    const found = await unknown();
    expect(found).toHaveLength(2);
    for (const job of [happened, not]) {
      expect(found).toContainEqual(
        expect.objectContaining({ job, effect: "charge", operation_id: `${job}:charge` }),
      );
    }
    const settled = { EFFECT: "charge", REASON };
    expect(await page.command()({ JOB: happened, ...settled })).toMatchObject({ code: 0 });
    expect(await page.command()({ JOB: not, ...settled })).toMatchObject({ code: 0 });
    const replay = page.command();
    for (const JOB of [happened, not]) await replay({ JOB });
    await flow.qstash.deliverDue();
    expect(await unknown()).toEqual([]);
    expect(await flow.query("select distinct status from jobs")).toEqual([{ status: "completed" }]);
    // Once more for the one that had not happened, and for no other.
    expect(calls).toBe(3);
  },

  async Cancel(flow, page) {
    const work = held();
    flow.start([scripted(byAttempt(work.run), {}, TYPE)]);
    const running = await flow.create(TYPE, {});
    const delivering = flow.qstash.deliverDue();
    await work.started;
    const waiting = await flow.create(TYPE, {}, { delaySeconds: 60 });
    const cancel = page.command();
    expect((await cancel({ JOB: waiting, REASON })).stdout).toContain("cancelled");
    expect((await cancel({ JOB: running, REASON })).stdout).toContain("asked to stop");
    work.fail(new Error("stopped"));
    await delivering;
    const show = page.command();
    for (const JOB of [waiting, running]) {
      expect((await show({ JOB })).stdout).toMatch(/status +cancelled/);
    }
    const again = await cancel({ JOB: running, REASON });
    expect(again).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("job_not_cancellable"),
    });
  },

  async "Duplicate complaints"(flow, page) {
    const sent: string[] = [];
    const slow = held();
    const mail = defineJob({
      type: TYPE,
      payload: z.object({ to: z.string() }),
      leaseSeconds: 60,
      timeoutSeconds: 600,
      run: ({ payload, attempt, once, operationId }) =>
        once("send", async () => {
          sent.push(`${payload.to} ${operationId}`);
          if (payload.to === "ada@example.com" && attempt === 1) await slow.run({} as never);
          return "sent";
        }),
    });
    const first = flow.start([mail]);
    first.ports.rule = ({ method }) => (method === "heartbeat" ? "fail" : undefined);
    const since = String((await flow.query("select now()::text as now"))[0]?.now);
    for (let times = 0; times < 2; times += 1) await flow.create(TYPE, { to: "bob@example.com" });
    await flow.qstash.deliverDue();
    const once = await flow.create(TYPE, { to: "ada@example.com" });
    const [message] = flow.qstash.pending();
    const lost = flow.qstash.deliverDue();
    await slow.started;
    await flow.advance(61);
    await flow.sweep();
    await flow.runUntilIdle(300);
    slow.release();
    await lost;
    flow.qstash.duplicate(message?.messageId ?? "");
    await flow.qstash.deliverDue();

    const jobsOf = page.query();
    expect(await jobsOf({ type: TYPE, to: "bob@example.com" })).toHaveLength(2);
    expect(await jobsOf({ type: TYPE, to: "ada@example.com" })).toMatchObject([
      { id: once, status: "completed", attempts: 2 },
    ]);
    expect(await page.query()({ job: once })).toMatchObject([
      { number: 1, outcome: "lease_expired", late_outcome: "completed" },
      { number: 2, outcome: "completed", late_outcome: null },
    ]);
    expect(await page.query()({ job: once })).toMatchObject([
      { kind: "delivery_refused", data: { messageId: message?.messageId } },
    ]);
    expect(await page.query()({ job: once })).toMatchObject([{ name: "send", state: "done" }]);
    const { stdout } = await page.command()({ JOB: once });
    expect(stdout).toMatch(/lease_expired[\s\S]*effect[\s\S]*delivery_refused/);
    // Both calls bore one operation id, so a provider that honours it sent one e-mail.
    expect(sent.filter((each) => each.startsWith("ada"))).toEqual(
      Array(2).fill(`ada@example.com ${once}`),
    );
    const repeated = page.query();
    expect(await repeated({ type: TYPE, since })).toHaveLength(2);
    await flow.advance(1);
    const later = String((await flow.query("select now()::text as now"))[0]?.now);
    for (let times = 0; times < 2; times += 1) {
      await flow.create(TYPE, { to: "eve@example.com" }, { dedupeKey: "order-1" });
    }
    await flow.qstash.deliverDue();
    expect(await repeated({ type: TYPE, since: later })).toEqual([]);
  },
};
