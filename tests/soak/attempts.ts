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
}

export interface SeenEffect {
  job: string;
  name: string;
  /** Its runs, each with the place where its attempt had asked for it. */
  runs: { askedAt: number; ranAt: number }[];
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
  const attempts = readAttempts(entries);
  const runs = entries.flatMap((entry) => {
    if (entry.is !== "started") return [];
    const { job, attempt, nonce } = entry;
    return [{ job, attempt, nonce }];
  });
  const sweeps = new Map<string, number>();
  const complaints: string[] = [];
  let boots = 0;
  for (const entry of entries) {
    if (entry.is === "boot") boots += 1;
    if (entry.is === "complaint") complaints.push(`${entry.process}: ${entry.text}`);
    if (entry.is !== "swept") continue;
    for (const [name, count] of Object.entries(entry.counts)) {
      sweeps.set(name, (sweeps.get(name) ?? 0) + count);
    }
  }
  const effects = readEffects(entries, attempts);
  return { attempts: [...attempts.values()], runs, effects, boots, sweeps, complaints };
}

/** By lock token. */
function readAttempts(entries: JournalEntry[]): Map<string, SeenAttempt> {
  const attempts = new Map<string, SeenAttempt>();
  const calls = new Map<string, { token: string; at: number }>();
  for (const [place, entry] of entries.entries()) {
    if (entry.is === "claimed") {
      const { job, attempt, token, by } = entry;
      const seen = { job, attempt, token, by, claimedAt: place };
      attempts.set(token, { ...seen, heldUntil: undefined, finished: undefined });
    } else if (entry.is === "held_call") {
      calls.set(entry.call, { token: entry.token, at: place });
    } else if (entry.is === "held_answer") {
      const call = calls.get(entry.call);
      const holder = call && attempts.get(call.token);
      if (holder && entry.holds) holder.heldUntil = Math.max(holder.heldUntil ?? 0, call.at);
    } else if (entry.is === "finished") {
      const holder = attempts.get(entry.token);
      if (holder) holder.finished = { outcome: entry.outcome, kind: entry.kind };
    }
  }
  return attempts;
}

function readEffects(
  entries: JournalEntry[],
  attempts: ReadonlyMap<string, SeenAttempt>,
): SeenEffect[] {
  const effects = new Map<string, SeenEffect>();
  const asked = new Map<string, number>();
  const effectOf = ({ job, name }: { job: string; name: string }): SeenEffect => {
    const key = `${job}/${name}`;
    const effect = effects.get(key) ?? { job, name, runs: [], freedAt: [], doneAt: undefined };
    effects.set(key, effect);
    return effect;
  };
  for (const [place, entry] of entries.entries()) {
    if (entry.is === "effect_asked") {
      const asking = attempts.get(entry.token)?.attempt;
      asked.set(`${entry.job}/${asking}/${entry.name}`, place);
    } else if (entry.is === "effect_ran") {
      const askedAt = asked.get(`${entry.job}/${entry.attempt}/${entry.name}`) ?? place;
      effectOf(entry).runs.push({ askedAt, ranAt: place });
    } else if (entry.is === "effect_told" && entry.state === "not_done") {
      effectOf(entry).freedAt.push(place);
    } else if (entry.is === "effect_known" && entry.state === "done") {
      effectOf(entry).doneAt ??= place;
    }
  }
  return [...effects.values()];
}
