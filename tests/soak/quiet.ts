/** The time after the faults: deliveries and sweeps alone bring every job to its end. */

import { setTimeout as delay } from "node:timers/promises";
import type { Call, Told } from "./clients.js";
import { skip } from "./clocks.js";
import { sweepTogether } from "./operators.js";
import type { Random } from "./random.js";
import type { Stage } from "./stage.js";

/** How the end was reached. */
export interface Quiet {
  realSeconds: number;
  /** How far both clocks were moved on, where nothing but time was waited for. */
  skippedSeconds: number;
  unfinished: number;
}

const REAL_SECONDS_MAX = 240;
/** The longest step of the clocks: sweeps come at least so often, as in a deployment. */
const STEP_SECONDS_MAX = 900;

/** Returns when every job has ended, or when that takes too long. */
export async function comeToRest(
  stage: Stage,
  tools: { call: Call; told: Told; random: Random },
): Promise<Quiet> {
  const startedMs = performance.now();
  const quiet: Quiet = { realSeconds: 0, skippedSeconds: 0, unfinished: 0 };
  for (;;) {
    await sweepTogether(tools);
    await delay(250);
    const { unfinished, processing, nextInSeconds } = await lookAt(stage);
    quiet.unfinished = unfinished;
    quiet.realSeconds = (performance.now() - startedMs) / 1000;
    if (unfinished === 0 || quiet.realSeconds > REAL_SECONDS_MAX) return quiet;
    if (processing > 0 || stage.deliveries.underWay > 0) continue;
    const seconds = Math.min(STEP_SECONDS_MAX, Math.max(0, nextInSeconds ?? 0));
    if (seconds < 5) continue;
    await skip(stage.pool, stage.qstash, seconds);
    quiet.skippedSeconds += seconds;
  }
}

interface Look {
  unfinished: number;
  processing: number;
  /** Until something happens by itself: a message, a due time, a look of the sweep. */
  nextInSeconds: number | undefined;
}

async function lookAt({ pool, qstash }: Stage): Promise<Look> {
  const { rows } = await pool.query<{ unfinished: number; processing: number; next: number }>(
    `select count(*)::int as unfinished,
       count(*) filter (where status = 'processing')::int as processing,
       extract(epoch from min(case when next_run_at > now() then next_run_at
         else next_trigger_at end) - now())::float8 as next
     from jobs where status in ('queued', 'processing', 'failed')`,
  );
  const [row] = rows;
  const messageAt = qstash.pending()[0]?.dueAt;
  const waits = [row?.next, messageAt && (messageAt - qstash.now()) / 1000];
  const known = waits.filter((seconds) => typeof seconds === "number");
  return {
    unfinished: row?.unfinished ?? 0,
    processing: row?.processing ?? 0,
    nextInSeconds: known.length > 0 ? Math.min(...known) : undefined,
  };
}
