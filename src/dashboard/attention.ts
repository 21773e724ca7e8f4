/** What an operator should look at first. */

import type { Stats, TypeStats } from "../core/listing.js";
import { formatCount, formatDuration } from "./format.js";

export interface Attention {
  tone: "bad" | "warn" | "calm";
  what: string;
  /** What to do about it. */
  hint: string;
  /** Below the base. */
  path: string;
}

export interface AttentionRules {
  sweepAgeSeconds: number | null;
  sweepIntervalSeconds: number;
}

/** As alerts do by default: a job that has been due for half an hour. */
const OLDEST_DUE_SECONDS_MAX = 1800;
/** As readiness does. */
const SWEEP_INTERVALS_MAX = 3;

/** Lists what is wrong, worst first. */
export function attentionOf({ types }: Stats, rules: AttentionRules): Attention[] {
  const found = [...sweepSilence(rules), ...types.flatMap(ofType)];
  const order = ["bad", "warn", "calm"];
  return found.sort((a, b) => order.indexOf(a.tone) - order.indexOf(b.tone));
}

function sweepSilence(rules: AttentionRules): Attention[] {
  const { sweepAgeSeconds, sweepIntervalSeconds } = rules;
  const isSilent =
    sweepAgeSeconds === null || sweepAgeSeconds > sweepIntervalSeconds * SWEEP_INTERVALS_MAX;
  if (!isSilent) return [];
  const what =
    sweepAgeSeconds === null
      ? "No sweep has run yet"
      : `The last sweep was ${formatDuration(sweepAgeSeconds)} ago`;
  const hint = "Nothing recovers lost jobs until something calls /api/sweep again.";
  return [{ tone: "bad", what, hint, path: "" }];
}

function ofType(stats: TypeStats): Attention[] {
  const { type, paused, oldestDueSeconds, expiredLeases, deadLetters } = stats;
  const jobsPath = (status: string) => `/jobs?status=${status}&type=${type}`;
  const found: Attention[] = [];
  if (expiredLeases.count > 0) {
    const what = `${type}: ${formatCount(expiredLeases)} running with an expired lease`;
    const hint =
      "Their process ended without reporting. The next sweep or message takes them over.";
    found.push({ tone: "bad", what, hint, path: jobsPath("processing") });
  }
  if (!paused && (oldestDueSeconds ?? 0) > OLDEST_DUE_SECONDS_MAX) {
    const what = `${type}: due for ${formatDuration(oldestDueSeconds ?? 0)}`;
    const hint = "The oldest due job waits too long. Look whether messages arrive and sweeps run.";
    found.push({ tone: "bad", what, hint, path: jobsPath("queued") });
  }
  if (deadLetters.count > 0) {
    const what = `${type}: ${formatCount(deadLetters)} dead ${deadLetters.count === 1 ? "letter" : "letters"}`;
    const hint = "They gave up and wait for you: find the cause, then replay.";
    found.push({ tone: "warn", what, hint, path: `/dead-letters?type=${type}` });
  }
  if (paused) {
    const what = `${type} is paused`;
    const hint = "Nothing of it starts until somebody resumes it.";
    found.push({ tone: "calm", what, hint, path: "/types" });
  }
  return found;
}
