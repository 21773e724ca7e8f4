/** What the jobs of a soak do: their payload is the script that their handler follows. */

import * as z from "zod";
import type { Random } from "./random.js";

/** What one attempt does after its effects. */
const stepSchema = z.enum([
  "succeed",
  "throw",
  "throw_fatal",
  "throw_retry_after",
  "throw_http_422",
  "snooze",
  /** Waits for the end of its time and heeds it. */
  "hang",
  /** Works on after its time. */
  "ignore_abort",
  /** Keeps the whole process from doing anything for longer than the lease. */
  "block",
  /** Ends the process. */
  "exit",
]);
export type Step = z.infer<typeof stepSchema>;

const effectSchema = z.object({
  name: z.string(),
  ifUnknown: z.enum(["run", "dead_letter"]),
  /** How it ends, attempt by attempt; the last one serves every later attempt. */
  ends: z.array(z.enum(["done", "refused", "unclear"])).min(1),
});
export type Effect = z.infer<typeof effectSchema>;

export const scriptSchema = z.object({
  /** By attempt; the last one serves every later attempt. */
  steps: z.array(stepSchema).min(1),
  effects: z.array(effectSchema),
  workMs: z.number(),
  reportsProgress: z.boolean(),
});
export type Script = z.infer<typeof scriptSchema>;

/** The job types of a soak; times are those of the soak's own fast clock. */
export const SOAK_TYPES = {
  plain: "soak.plain",
  effects: "soak.effects",
  limited: "soak.limited",
  unique: "soak.unique",
  uniqueStart: "soak.unique_start",
  rude: "soak.rude",
} as const;
export type SoakType = (typeof SOAK_TYPES)[keyof typeof SOAK_TYPES];

export const LEASE_SECONDS = 15;
export const TIMEOUT_SECONDS = 8;
export const MAX_ATTEMPTS = 4;

const CALM: Step[] = ["succeed", "succeed", "succeed", "throw", "throw_retry_after", "snooze"];
const HARD: Step[] = ["throw", "throw_fatal", "throw_http_422", "hang", "ignore_abort", "snooze"];
/** These cost other jobs their process or its time, so they are rare. */
const RUDE: Step[] = ["block", "exit"];

/** Writes the script of one job. */
export function writeScript(random: Random, type: SoakType): Script {
  const steps: Step[] = [];
  const length = random.integer(1, 4);
  while (steps.length < length) steps.push(random.pick(random.happens(0.75) ? CALM : HARD));
  if (type === SOAK_TYPES.rude) steps.unshift(random.pick(RUDE));
  // The last step serves every later attempt: most end well, and none snoozes for ever.
  if (random.happens(0.85) || steps.at(-1) === "snooze") steps.push("succeed");
  const effects =
    type === SOAK_TYPES.effects || random.happens(0.2)
      ? Array.from({ length: random.integer(1, 3) }, (_, n) => writeEffect(random, n))
      : [];
  return { steps, effects, workMs: random.between(0, 2500), reportsProgress: random.happens(0.2) };
}

function writeEffect(random: Random, n: number): Effect {
  const ends: Effect["ends"] = [];
  while (random.happens(0.25)) ends.push(random.pick(["refused", "unclear"]));
  ends.push("done");
  return { name: `effect-${n}`, ifUnknown: random.pick(["run", "run", "dead_letter"]), ends };
}

export const pickType = (random: Random): SoakType =>
  random.happens(0.02)
    ? SOAK_TYPES.rude
    : random.pick([
        SOAK_TYPES.plain,
        SOAK_TYPES.plain,
        SOAK_TYPES.effects,
        SOAK_TYPES.limited,
        SOAK_TYPES.unique,
        SOAK_TYPES.uniqueStart,
      ]);
