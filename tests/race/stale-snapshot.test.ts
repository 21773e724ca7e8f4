import { expect, test } from "vitest";
import type { Store } from "../../src/core/ports.js";
import { setUpRace } from "../support/race.js";
import { CALLS, CALLS_AFTER_CLAIM, type CaseJob, CHANGES, jobsIn } from "../support/race-cases.js";

const race = setUpRace();

/**
 * Each call begins when the row is in one state, waits, and goes on when it is in another: it must
 * do what it does when it comes after the change, and no CHECK may see a mixture of both states.
 */
test.each(CHANGES)(
  "every call that waits for a job ($from, then $name) does as if it had come after that",
  async ({ from, make }) => {
    const neverClaimed = ["queued", "later", "cancelled"].includes(from);
    const calls = Object.entries(neverClaimed ? CALLS : CALLS_AFTER_CLAIM);
    const jobs = await jobsIn(race, from, 2 * calls.length);
    const [raced, after] = [jobs.slice(0, calls.length), jobs.slice(calls.length)];

    const holder = await race.lockJobs(...raced.map(({ jobId }) => jobId));
    let settled = 0;
    const answers = eachCall(race.store, calls, raced).map((call) => call.finally(() => settled++));
    await race.until(async () => settled + (await race.waiters()), calls.length);
    for (const job of raced) await make(holder.store, job);
    await holder.commit();
    const racedResults = await resultsOf(raced, await Promise.all(answers));

    for (const job of after) await make(race.direct, job);
    const expected = await resultsOf(after, await Promise.all(eachCall(race.direct, calls, after)));
    expect(named(calls, racedResults)).toEqual(named(calls, expected));
  },
);

type Calls = [name: string, call: (typeof CALLS)[string]][];

const eachCall = (store: Store, calls: Calls, jobs: CaseJob[]): Promise<unknown>[] =>
  jobs.map(async (job, at) => calls[at]?.[1](store, job));

const named = (calls: Calls, results: unknown[]) =>
  Object.fromEntries(calls.map(([name], at) => [name, results[at]]));

/** All that a later reader could tell apart, without ids and times. */
async function resultsOf(jobs: CaseJob[], answers: unknown[]) {
  const ids = jobs.map(({ jobId }) => jobId);
  const rows = await race.rows<{ id: string; lock_token: string | null }>(
    `select id, lock_token, status, attempts, attempts_before_replay, snoozes, trigger_seq,
       triggered_at is not null as published, cancel_requested_at is not null as cancel_requested,
       next_run_at > now() as later, last_error ->> 'code' as error, progress_json,
       (select jsonb_agg(jsonb_build_array(number, outcome, late_outcome) order by number, outcome)
        from job_attempts where job_id = jobs.id) as history,
       (select jsonb_agg(kind order by at, kind) from job_events where job_id = jobs.id) as events
     from jobs where id = any($1)`,
    [ids],
  );
  return jobs.map(({ jobId, attempt }, at) => {
    const { id, lock_token, ...row } = rows.find((each) => each.id === jobId) ?? {};
    const held = lock_token === attempt.lockToken;
    return { answer: (answers[at] as { kind?: string } | undefined)?.kind, held, ...row };
  });
}
