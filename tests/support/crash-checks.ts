/** What must hold at the end of a run, whatever happened on the way. */

import { EFFECTS, UNREPEATABLE } from "./crash-jobs.js";
import type { Scenario } from "./crash-scenarios.js";
import type { Stage } from "./crash-stage.js";

/** A job at its end. */
interface JobEnd {
  id: string;
  status: string;
  attempts: number;
  code: string | null;
  result: { [member: string]: unknown } | null;
  updated: string;
}

interface AttemptEnd {
  number: number;
  outcome: string;
  late: string | null;
}

/** Lists what is wrong with the end of a run, and counts the attempts that it took. */
export async function lookAtEnd(stage: Stage, scenario: Scenario) {
  const jobs = await endsOf(stage);
  const attempts = jobs.reduce((sum, job) => sum + job.attempts, 0);
  const faults: string[] = [];
  if (jobs.length !== scenario.jobs) faults.push(`${jobs.length} jobs, not ${scenario.jobs}`);
  for (const job of jobs) {
    const inDoubt = scenario.mayDoubt === true && job.code === "effect_unknown";
    const expected = inDoubt ? "dead_letter" : scenario.ends;
    if (job.status !== expected) faults.push(`ended as ${job.status} with ${job.code}`);
    faults.push(...attemptFaults(job, await attemptsOf(stage, job.id)));
    const times = stage.outside.times(job.id, UNREPEATABLE);
    if (times > 1) faults.push(`${UNREPEATABLE} happened ${times} times`);
    if (scenario.handler === "performs") faults.push(...(await effectFaults(stage, job)));
  }
  const internal = stage.world.logs.splice(0).filter(({ event }) => event === "request_failed");
  faults.push(...internal.filter(({ code }) => code === "internal").map((log) => `${log.error}`));
  faults.push(...(await lateFaults(stage, scenario, jobs)));
  return { faults, attempts };
}

async function endsOf({ world, type, since }: Stage): Promise<JobEnd[]> {
  const { rows } = await world.database.pg.query<JobEnd>(
    `select id, status, attempts, last_error ->> 'code' as code, result_json as result,
       updated_at::text as updated
     from jobs where job_type = $1 and created_at >= $2 order by id`,
    [type, since],
  );
  return rows;
}

async function attemptsOf({ world }: Stage, jobId: string): Promise<AttemptEnd[]> {
  const { rows } = await world.database.pg.query<AttemptEnd>(
    `select number, outcome, late_outcome as late from job_attempts
     where job_id = $1 order by number, lock_token`,
    [jobId],
  );
  return rows;
}

/** Each attempt that was counted has one row, and at most one of them made the job what it is. */
function attemptFaults(job: JobEnd, attempts: AttemptEnd[]): string[] {
  const story = attempts.map(({ number, outcome }) => `${number} ${outcome}`).join(", ");
  const numbers = attempts.map(({ number }) => number);
  const counted = Array.from({ length: job.attempts }, (_, at) => at + 1);
  const faults: string[] = [];
  if (numbers.join() !== counted.join()) faults.push(`${job.attempts} attempts, but: ${story}`);
  const completed = attempts.filter(({ outcome }) => outcome === "completed").length;
  if (completed !== Number(job.status === "completed")) faults.push(`${job.status}, but: ${story}`);
  const last = attempts.at(-1)?.outcome;
  // A job that ended while it waited, or by the end of its lease, has no attempt that said so.
  const ends = [job.status, "lease_expired", ...(job.status === "cancelled" ? [undefined] : [])];
  if (!ends.includes(last)) faults.push(`${job.status}, but last: ${story}`);
  if (attempts.some(({ outcome, late }) => late !== null && outcome !== "lease_expired")) {
    faults.push(`a late outcome was kept with an attempt that was not lost: ${story}`);
  }
  return faults;
}

/** The ledger, the result and the world outside agree. */
async function effectFaults(stage: Stage, job: JobEnd): Promise<string[]> {
  const { world, outside } = stage;
  const { rows } = await world.database.pg.query<{ name: string; state: string; result: unknown }>(
    "select name, state, result_json as result from job_effects where job_id = $1",
    [job.id],
  );
  const faults: string[] = [];
  const doubted = rows.find(({ name }) => name === UNREPEATABLE)?.state === "started";
  // Only an instance that thaws late can tell the end after the doubt.
  const isTold = stage.points.some(({ fault }) => fault === "late");
  if (job.status === "dead_letter" && !doubted && !isTold) faults.push("no effect is in doubt");
  for (const effect of EFFECTS) {
    const times = outside.times(job.id, effect);
    const row = rows.find(({ name }) => name === effect);
    const isDone = row?.state === "done";
    if (isDone && times === 0) faults.push(`${effect} is recorded and never happened`);
    if (job.status !== "completed") continue;
    if (!isDone) faults.push(`${effect} is ${row?.state} although the job is completed`);
    if (row?.result !== job.result?.[effect]) faults.push(`${effect} has two results`);
  }
  return faults;
}

/** Messages and instances that come after the end change nothing any more (I2, I10). */
async function lateFaults(stage: Stage, scenario: Scenario, before: JobEnd[]): Promise<string[]> {
  const { qstash } = stage.world;
  await stage.thaw();
  if (qstash.pending().length > 0) await stage.world.runUntilIdle();
  const after = new Map((await endsOf(stage)).map((job) => [job.id, JSON.stringify(job)]));
  const faults: string[] = [];
  if (before.some((job) => after.get(job.id) !== JSON.stringify(job))) {
    faults.push("changed after its end");
  }
  if (after.size !== before.length && !scenario.mayRepeat) faults.push("made again after its end");
  return faults;
}
