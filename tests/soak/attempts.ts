/** What the journal says about attempts, put in order. */

import type { JournalEntry } from "./journal.js";

/** One attempt as its process saw it; places are lines of the journal. */
export interface SeenAttempt {
  job: string;
  attempt: number;
  token: string;
  by: string;
  claimedAt: number;
  /** The start of the last call that proved that the lease was still held; undefined without one. */
  heldUntil: number | undefined;
  finished: { outcome: string; kind: string } | undefined;
}

/** One run of a handler. */
export interface SeenRun {
  job: string;
  attempt: number;
  nonce: string;
  startedAt: number;
  ended: boolean;
}

export interface SeenEffect {
  job: string;
  name: string;
  ranAt: number[];
  /** When the ledger was told that it had not happened. */
  freedAt: number[];
  /** When the ledger was known to have it as done. */
  doneAt: number | undefined;
}

export interface Evidence {
  attempts: SeenAttempt[];
  runs: SeenRun[];
  effects: SeenEffect[];
  boots: number;
  /** Sums over all sweeps that came to their end. */
  sweeps: Map<string, number>;
  complaints: string[];
}

/** Puts the lines together by attempt, run and effect. */
export function readEvidence(entries: JournalEntry[]): Evidence {
  const attempts = new Map<string, SeenAttempt>();
  const calls = new Map<string, { token: string; at: number }>();
  const runs = new Map<string, SeenRun>();
  const effects = new Map<string, SeenEffect>();
  const sweeps = new Map<string, number>();
  const complaints: string[] = [];
  let boots = 0;
  const effectOf = (job: string, name: string): SeenEffect => {
    const key = `${job}/${name}`;
    const known = effects.get(key) ?? {
      job,
      name,
      ranAt: [],
      freedAt: [],
      doneAt: undefined,
    };
    effects.set(key, known);
    return known;
  };
  for (const [place, entry] of entries.entries()) {
    switch (entry.is) {
      case "boot":
        boots += 1;
        break;
      case "claimed": {
        const { job, attempt, token, by } = entry;
        const seen = { job, attempt, token, by, claimedAt: place };
        attempts.set(token, { ...seen, heldUntil: undefined, finished: undefined });
        break;
      }
      case "held_call":
        calls.set(entry.call, { token: entry.token, at: place });
        break;
      case "held_answer": {
        const call = calls.get(entry.call);
        const holder = call && attempts.get(call.token);
        if (holder && entry.holds) holder.heldUntil = Math.max(holder.heldUntil ?? 0, call.at);
        break;
      }
      case "finished": {
        const holder = attempts.get(entry.token);
        if (holder) holder.finished = { outcome: entry.outcome, kind: entry.kind };
        break;
      }
      case "started": {
        const { job, attempt, nonce } = entry;
        runs.set(nonce, { job, attempt, nonce, startedAt: place, ended: false });
        break;
      }
      case "ended": {
        const run = runs.get(entry.nonce);
        if (run) run.ended = true;
        break;
      }
      case "effect_ran":
        effectOf(entry.job, entry.name).ranAt.push(place);
        break;
      case "effect_told":
        if (entry.state === "not_done") effectOf(entry.job, entry.name).freedAt.push(place);
        break;
      case "effect_known":
        if (entry.state === "done") effectOf(entry.job, entry.name).doneAt ??= place;
        break;
      case "swept":
        for (const [name, count] of Object.entries(entry.counts)) {
          sweeps.set(name, (sweeps.get(name) ?? 0) + count);
        }
        break;
      case "complaint":
        complaints.push(`${entry.process}: ${entry.text}`);
        break;
    }
  }
  return {
    attempts: [...attempts.values()],
    runs: [...runs.values()],
    effects: [...effects.values()],
    boots,
    sweeps,
    complaints,
  };
}
