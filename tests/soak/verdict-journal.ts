/** What the journal alone must not show, and what database and journal must agree on. */

import type pg from "pg";
import type { Evidence, SeenAttempt } from "./attempts.js";

/** Two attempts of one job that held its lease at the same time. */
export function overlaps({ attempts }: Evidence): string[] {
  const faults: string[] = [];
  for (const [job, seen] of Map.groupBy(attempts, (each) => each.job)) {
    const held = seen
      .filter(({ heldUntil, claimedAt }) => heldUntil !== undefined && heldUntil > claimedAt)
      .sort((a, b) => a.claimedAt - b.claimedAt);
    for (const [at, attempt] of held.entries()) {
      const next = held[at + 1];
      if (next && (attempt.heldUntil ?? 0) > next.claimedAt) {
        faults.push(`${job}: attempts ${attempt.attempt} and ${next.attempt} held it together`);
      }
    }
  }
  return faults;
}

/** An attempt, by its number, that ran in two places. */
export function runsTwice({ runs, attempts }: Evidence): string[] {
  const twice = <Seen extends { job: string; attempt: number }>(seen: Seen[], what: string) =>
    [...Map.groupBy(seen, ({ job, attempt }) => `${job} attempt ${attempt}`)]
      .filter(([, each]) => each.length > 1)
      .map(([name, each]) => `${name} was ${what} ${each.length} times`);
  return [...twice(runs, "started"), ...twice(attempts, "claimed")];
}

/**
 * Effects that ran although the ledger had them as done, or again although nobody knew their end.
 *
 * Shape: judged by when an attempt asked. One that was told to run, and then hung until its lease
 *        was gone, may run at any later time; nothing can call it back.
 */
export function effectFaults({ effects }: Evidence, atMostOnce: Set<string>): string[] {
  return effects.flatMap(({ job, name, runs, freedAt, doneAt = Number.POSITIVE_INFINITY }) => {
    const faults: string[] = [];
    const inOrder = runs.toSorted((a, b) => a.askedAt - b.askedAt);
    for (const [at, { askedAt, ranAt }] of inOrder.entries()) {
      const before = inOrder[at - 1];
      if (askedAt > doneAt) faults.push(`${job}: effect ${name} ran again after it was done`);
      if (!before || !atMostOnce.has(`${job}/${name}`)) continue;
      const isFree = freedAt.some((freed) => freed > before.askedAt && freed < ranAt);
      if (!isFree) faults.push(`${job}: effect ${name} ran again with its end unknown`);
    }
    return faults;
  });
}

interface HistoryRow {
  job_id: string;
  lock_token: string;
  number: number;
  outcome: string;
  late_outcome: string | null;
}

/** The history must hold every attempt that a process was given, with what it was told of its end. */
export async function historyFaults(pool: pg.Pool, { attempts }: Evidence): Promise<string[]> {
  const { rows } = await pool.query<HistoryRow>(
    "select job_id, lock_token, number, outcome, late_outcome from job_attempts",
  );
  // By both: a claim that is repeated after its first try was lost, lease and all, may bring its
  // token to another job.
  const known = new Map(rows.map((row) => [`${row.job_id}/${row.lock_token}`, row]));
  return attempts.flatMap((attempt) => {
    const row = known.get(`${attempt.job}/${attempt.token}`);
    const name = `${attempt.job} attempt ${attempt.attempt}`;
    if (!row) return [`${name} has no history row`];
    if (row.number !== attempt.attempt) {
      return [`${name} stands in the history as attempt ${row.number}`];
    }
    return endFaults(name, attempt, row);
  });
}

function endFaults(name: string, { finished }: SeenAttempt, row: HistoryRow): string[] {
  if (!finished) return [];
  const { outcome, kind } = finished;
  if (outcome === "lease_lost") {
    return row.outcome === "lease_expired" && row.late_outcome === kind
      ? []
      : [`${name} was told that it came too late, and stands as ${JSON.stringify(row)}`];
  }
  const told = outcome === "queued" ? "snoozed" : outcome;
  return row.outcome === told
    ? []
    : [`${name} was told ${told}, and stands in the history as ${row.outcome}`];
}

/** The result of a completed job is that of the run of its completing attempt. */
export async function resultFaults(pool: pg.Pool, { runs }: Evidence): Promise<string[]> {
  const { rows } = await pool.query<{ id: string; attempts: number; result_json: unknown }>(
    "select id, attempts, result_json from jobs where status = 'completed'",
  );
  const nonces = new Map(runs.map(({ job, attempt, nonce }) => [`${job}/${attempt}`, nonce]));
  return rows.flatMap(({ id, attempts, result_json }) => {
    const expected = { attempt: attempts, nonce: nonces.get(`${id}/${attempts}`) };
    const { attempt, nonce } = (result_json ?? {}) as Partial<typeof expected>;
    return attempt === expected.attempt && nonce === expected.nonce
      ? []
      : [`${id} has the result ${JSON.stringify(result_json)} for ${JSON.stringify(expected)}`];
  });
}
