/** The operators of a soak: cancel, replay, run now, settle, pause, and sweeps on top of each other. */

import { setTimeout as delay } from "node:timers/promises";
import type pg from "pg";
import type { Answer, Call, Told } from "./clients.js";
import type { Journal } from "./journal.js";
import type { Random } from "./random.js";
import { SOAK_TYPES } from "./script.js";
import { CRON_SECRET, KEYS } from "./stage.js";

export interface OperatorTools {
  call: Call;
  told: Told;
  random: Random;
  pool: pg.Pool;
  journal: Journal;
}

/** What operators did, by name and status. */
export type Actions = Map<string, number>;

/** Acts until told to stop. */
export async function runOperators(
  tools: OperatorTools,
  actions: Actions,
  stop: AbortSignal,
): Promise<void> {
  while (!stop.aborted) {
    await delay(tools.random.between(50, 350));
    await act(tools, actions);
  }
}

async function act(tools: OperatorTools, actions: Actions): Promise<void> {
  const { random } = tools;
  const count = (name: string, status: Status): void => {
    const key = `${name} ${status}`;
    actions.set(key, (actions.get(key) ?? 0) + 1);
    if (status === 500) tools.told.contradictions.push(`${name} was answered with 500`);
  };
  const dice = random.next();
  if (dice < 0.3) return count("cancel", await onJob(tools, "cancel", "active"));
  if (dice < 0.5) return count("replay", await onJob(tools, "replay", "dead"));
  if (dice < 0.65) return count("run_now", await onJob(tools, "run-now", "active"));
  if (dice < 0.75) return count("replay_many", await replayMany(tools));
  if (dice < 0.9) return count("settle", await settle(tools));
  if (dice < 0.95) return count("pause", await pauseForAWhile(tools));
}

/** A status, or why there is none. */
type Status = number | "no answer" | "nothing to act on";

const statusOf = (answer: Answer | undefined): Status => answer?.status ?? "no answer";

/** Some act on what they just saw, others on anything. */
async function onJob(
  { call, pool, random, told }: OperatorTools,
  verb: string,
  state: "active" | "dead",
): Promise<Status> {
  const wanted =
    state === "active" ? "('queued', 'failed', 'processing')" : "('dead_letter', 'cancelled')";
  const seen = random.happens(0.8)
    ? await idOf(pool, `select id from jobs where status in ${wanted}`)
    : random.pick([...told.jobIds, undefined]);
  if (seen === undefined) return "nothing to act on";
  return statusOf(await call("POST", `/api/jobs/${seen}/${verb}`, { body: "{}" }));
}

async function idOf(pool: pg.Pool, query: string): Promise<string | undefined> {
  const { rows } = await pool.query<{ id: string }>(`${query} order by random() limit 1`);
  return rows[0]?.id;
}

async function replayMany({ call, random }: OperatorTools): Promise<Status> {
  const body = JSON.stringify({
    limit: random.integer(1, 20),
    spreadSeconds: random.pick([0, 0, 30]),
  });
  return statusOf(await call("POST", "/api/dead-letters/replay", { body }));
}

/** Settles an effect whose end nobody knows as done: from then on it must not run again. */
async function settle({ call, pool, journal }: OperatorTools): Promise<Status> {
  const { rows } = await pool.query<{ id: string; name: string }>(
    `select j.id, e.name from job_effects e join jobs j on j.id = e.job_id
     where e.state = 'started' and j.status = 'dead_letter' order by random() limit 1`,
  );
  const [effect] = rows;
  if (!effect) return "nothing to act on";
  const path = `/api/jobs/${effect.id}/effects/${effect.name}/settle`;
  const body = JSON.stringify({ outcome: "done", reason: "looked downstream" });
  const answer = await call("POST", path, { body });
  if (answer?.status === 200) {
    journal.write({ is: "effect_known", job: effect.id, name: effect.name, state: "done" });
  }
  return statusOf(answer);
}

async function pauseForAWhile({ call, random }: OperatorTools): Promise<Status> {
  const type = random.pick(Object.values(SOAK_TYPES));
  const paused = await call("POST", `/api/types/${type}/pause`, { secret: KEYS.admin });
  await delay(random.between(200, 1200));
  await call("POST", `/api/types/${type}/resume`, { secret: KEYS.admin });
  return statusOf(paused);
}

/** No pause outlives the faults. */
export async function resumeAll(call: Call): Promise<void> {
  for (const type of Object.values(SOAK_TYPES)) {
    await call("POST", `/api/types/${type}/resume`, { secret: KEYS.admin });
  }
}

/** One to three sweeps at once, by processes by chance. */
export async function sweepTogether({
  call,
  random,
  told,
}: Pick<OperatorTools, "call" | "random" | "told">): Promise<void> {
  await Promise.all(
    Array.from({ length: random.integer(1, 3) }, async () => {
      const answer = await call("POST", "/api/sweep", { secret: CRON_SECRET });
      if (!answer || answer.status === 200) return;
      told.contradictions.push(`a sweep was answered with ${answer.status} ${answer.body}`);
    }),
  );
}

/** Sweeps until told to stop. */
export async function runSweeps(tools: OperatorTools, stop: AbortSignal): Promise<void> {
  while (!stop.aborted) {
    await Promise.all([sweepTogether(tools), delay(tools.random.between(600, 2200))]);
  }
}
