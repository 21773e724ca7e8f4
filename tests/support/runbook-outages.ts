/** Situations of the runbook in which something does not answer, does not come, or comes too late. */

import { expect } from "vitest";
import type { CliOptions } from "./cli.js";
import { byAttempt, held, scripted, succeed } from "./flow-jobs.js";
import type { Flow } from "./flow-world.js";
import type { Scenarios } from "./runbook.js";
import { KEYS } from "./world.js";

const TYPE = "test.mail";
const OTHER = "test.other";

/** The machine that asks has the world's time. */
export async function atWorldTime(flow: Flow, options: CliOptions = {}): Promise<CliOptions> {
  const [{ ms } = {}] = await flow.query("select extract(epoch from now())::float8 * 1000 as ms");
  return { now: () => Number(ms), ...options };
}

function loseMessages({ qstash }: Flow): void {
  for (const { messageId } of qstash.pending()) qstash.drop(messageId);
}

export const OUTAGE_SCENARIOS: Scenarios = {
  async "Begin here"(flow, page) {
    flow.start([scripted(succeed(), {}, TYPE)]);
    await flow.create(TYPE, {});
    expect((await page.command()()).stdout).toMatch(/test\.mail +1 /);
    const examine = page.command();
    await flow.sweep();
    expect((await examine({}, await atWorldTime(flow))).stdout).toContain("✓ delivery");
    flow.qstash.signWith("sig_of_somebody_else");
    const faulty = await examine({}, await atWorldTime(flow));
    expect(faulty).toMatchObject({ code: 1, stdout: expect.stringContaining("✗ delivery") });
  },

  async "Growing backlog"(flow, page) {
    flow.start([scripted(succeed(), {}, TYPE), scripted(succeed(), {}, OTHER)]);
    const body = { reason: "deploy" };
    await flow.request("POST", `/api/types/${TYPE}/pause`, { secret: KEYS.admin, body });
    for (let n = 0; n < 3; n += 1) await flow.create(TYPE, { n });
    await flow.advance(60);
    await flow.create(OTHER, {});
    loseMessages(flow);
    await flow.advance(120);
    const backlog = page.query();
    const nothing = { running: "0", ended_in_an_hour: "0" };
    expect(await backlog()).toMatchObject([
      { job_type: TYPE, due: "3", unpublished: "3", paused: true, ...nothing },
      { job_type: OTHER, due: "1", unpublished: "0", paused: false, ...nothing },
    ]);
    expect((await page.command()()).stdout).toMatch(/test\.mail .*by ops: deploy/);
    await page.command()({ TYPE });
    const { stdout } = await page.command()();
    expect(stdout).toContain("published: 3");
    expect(stdout).toContain("probes: 1");
    await flow.qstash.deliverDue();
    expect(await backlog()).toEqual([]);
  },

  async "Stuck leases"(flow, page) {
    const work = held();
    const instance = flow.start([scripted(byAttempt(work.run, succeed()), {}, TYPE)]);
    const jobId = await flow.create(TYPE, {});
    const [message] = flow.qstash.pending();
    const dying = flow.qstash.deliverDue();
    await work.started;
    instance.ports.kill();
    await dying;
    flow.qstash.drop(message?.messageId ?? "");
    flow.start([scripted(succeed(), {}, TYPE)]);
    await flow.advance(120);
    const stuck = page.query();
    expect(await stuck()).toMatchObject([{ id: jobId, job_type: TYPE, attempts: 1 }]);
    expect((await page.command()()).stdout).toContain("leases recovered: 1");
    expect(await page.query()()).toMatchObject([{ job_type: TYPE, lost: "1", jobs: "1" }]);
    expect(await stuck()).toEqual([]);
    expect(await flow.job(jobId)).toMatchObject({ status: "failed", attempts: 1 });
    await flow.runUntilIdle(120);
    expect(await flow.job(jobId)).toMatchObject({ status: "completed", attempts: 2 });
  },

  async "QStash outage"(flow, page) {
    const type = scripted(succeed(), { timeoutSeconds: 10 }, TYPE);
    flow.start([type]);
    flow.qstash.refusePublishes({ status: 503 });
    for (let n = 0; n < 3; n += 1) await flow.create(TYPE, { n });
    await flow.create(TYPE, {}, { delaySeconds: 600 });
    expect(await page.query()()).toMatchObject([{ job_type: TYPE, failures: "4" }]);
    const unpublished = page.query();
    expect(await unpublished()).toMatchObject([{ job_type: TYPE, unpublished: "4" }]);
    const sweep = page.command();
    expect((await sweep()).stdout).toContain("ran in sweep: 3");
    expect(await unpublished()).toMatchObject([{ job_type: TYPE, unpublished: "1" }]);
    flow.qstash.refusePublishes(null);
    await sweep();
    expect(await unpublished()).toEqual([]);
    await flow.runUntilIdle(700);
    expect(await flow.query("select distinct status, attempts from jobs")).toEqual([
      { status: "completed", attempts: 1 },
    ]);
  },

  async "Neon outage"(flow, page) {
    const runs: string[] = [];
    const run = ({ operationId }: { operationId: string }) => {
      runs.push(operationId);
      // The database goes away while the handler works.
      if (runs.length === 1) flow.database.neon.setFault({ action: "refuse" });
    };
    flow.start([scripted(run, {}, TYPE)]);
    const jobId = await flow.create(TYPE, {});
    const answer = await flow.deliverOne();
    expect(answer.status).toBe(503);
    const ready = page.command();
    expect((await ready()).stdout).toContain("does not answer");
    flow.database.neon.setFault(null);
    await flow.advance(120);
    expect((await page.command()()).stdout).toContain("leases recovered: 1");
    expect(await page.query()()).toMatchObject([{ job_type: TYPE, jobs: "1" }]);
    await flow.runUntilIdle(300);
    expect(JSON.parse((await ready()).stdout)).toMatchObject({ ready: true });
    expect(await flow.job(jobId)).toMatchObject({ status: "completed", attempts: 2 });
    expect(runs).toEqual([jobId, jobId]);
  },

  async "Callbacks are refused"(flow, page) {
    flow.start([scripted(succeed(), {}, TYPE)]);
    for (let n = 0; n < 3; n += 1) await flow.create(TYPE, { n });
    flow.qstash.signWith("sig_of_somebody_else");
    await flow.runUntilIdle(4 * 3600);
    await flow.sweep();
    await flow.runUntilIdle(4 * 3600);
    await flow.sweep();
    const refused = page.query();
    expect(await refused()).toMatchObject([{ job_type: TYPE, probes: 2, due: "3" }]);
    const examined = await page.command()({}, await atWorldTime(flow));
    expect(examined.stdout).toContain("refuses QStash's signature");
    flow.qstash.signWith("current");
    await flow.advance(121);
    const sweep = page.command();
    expect((await sweep()).stdout).toContain("probes: 1");
    await flow.qstash.deliverDue();
    await flow.advance(60);
    expect((await sweep()).stdout).toMatch(/vanished: [12]/);
    await flow.runUntilIdle(60);
    expect(await refused()).toEqual([]);
    expect(await flow.query("select distinct status from jobs")).toEqual([{ status: "completed" }]);
  },

  async "Sweeps are silent"(flow, page) {
    flow.start([scripted(succeed(), {}, TYPE)]);
    await flow.sweep();
    await flow.create(TYPE, {});
    loseMessages(flow);
    await flow.advance(2760);
    const ready = page.command();
    expect(JSON.parse((await ready()).stdout)).toMatchObject({ checks: { sweep: { ok: false } } });
    const [{ minutes } = {}] = await flow.query(
      "select extract(epoch from now() - swept_at) / 60 as minutes from sweep_state",
    );
    expect(await page.query()()).toMatchObject([{ ago: { minutes: Math.floor(Number(minutes)) } }]);
    expect((await page.command()()).stdout).toMatch(/\*\/15 \* \* \* \* → \S+\/api\/sweep/);
    expect((await page.command()()).stdout).toContain("probes: 1");
    expect(JSON.parse((await ready()).stdout)).toMatchObject({ ready: true });
    const headers = { authorization: `Bearer ${flow.qstash.token}` };
    const schedules = await fetch(`${flow.qstash.url}/v2/schedules`, { headers });
    const [{ scheduleId } = {}] = (await schedules.json()) as { scheduleId?: string }[];
    await fetch(`${flow.qstash.url}/v2/schedules/${scheduleId}`, { method: "DELETE", headers });
  },

  async "Reconcile with QStash"(flow, page) {
    flow.start([scripted(succeed(), {}, TYPE)]);
    const jobId = await flow.create(TYPE, {});
    loseMessages(flow);
    await flow.advance(601);
    const missing = page.query();
    expect(await missing()).toMatchObject([{ id: jobId, deduplication_id: `${jobId}_0_1` }]);
    expect((await page.command()()).stdout).toContain("probes: 1");
    expect(await missing()).toEqual([]);
    await flow.qstash.deliverDue();
    expect(await flow.job(jobId)).toMatchObject({ status: "completed", attempts: 1 });
  },
};
