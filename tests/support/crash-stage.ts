/** One run of a scenario: a fault strikes its n-th call, and whoever is left goes on. */

import { randomUUID } from "node:crypto";
import { expect } from "vitest";
import type { Json } from "../../src/core/job.js";
import { StoreUnavailableError } from "../../src/core/ports.js";
import { injectFaults, type Point, type RunFaults } from "./crash-faults.js";
import type { Outside } from "./crash-jobs.js";
import { type Instance, isInstanceDeath, KEYS, type World } from "./world.js";

/** How often a platform's cron sweeps. */
const SWEEP_SECONDS = 900;
/** No platform freezes an instance for longer, and thaws it then. */
const INVOCATION_SECONDS_MAX = 3600;
/** More rounds than any recovery takes; a job that has not ended by then is lost. */
const ROUNDS_MAX = 60;
/** A client gives up at some time; a fault costs it one try. */
const TRIES_MAX = 4;

/** What scenarios are written with. */
export interface Stage {
  readonly type: string;
  readonly outside: Outside;
  readonly world: World;
  /** Asks as a client does that repeats its request, under the same key, until it has an answer. */
  ask(path: string, body: Json, statuses: number[]): Promise<{ [member: string]: Json }>;
  /** Creates a job of the type; gives its id. */
  create(more?: { [member: string]: Json }): Promise<string>;
  /** Delivers the first message that is due. */
  deliver(): Promise<void>;
  /** Sweeps at once, whatever the cron's time. */
  sweep(): Promise<void>;
  /** Loses every message that waits. */
  loseMessages(): void;
  /** QStash refuses publishes until it is over. */
  outage(on: boolean): void;
  /** Ends the instance as a platform does, without a word. */
  kill(): void;
  /** Creates a job from code in the same deployment, which repeats that until it has an answer. */
  enqueue(dedupeKey: string): Promise<void>;
  /** Lets deliveries, time and sweeps do their work until there are jobs, and all have ended. */
  recover(options?: { sweeps: boolean }): Promise<void>;
  /** Lets a frozen instance do the rest of its work, late. */
  thaw(): Promise<void>;
  /** Where faults strike this run. */
  readonly points: readonly Point[];
  /** The run's jobs are those of its type that were created from this instant on. */
  readonly since: string;
  /** The calls of all instances so far, by port and method. */
  readonly calls: readonly string[];
  readonly sweeps: number;
}

/** Prepares a run of one scenario in a world that other runs used before. */
export function createStage(
  world: World,
  parts: { type: string; outside: Outside; since: string; points: readonly Point[] },
): Stage {
  const { qstash } = world;
  const faults = injectFaults(world, parts.points);
  const { thaw } = faults;
  const { attempt, deliver } = createHands(world, faults);
  const ask = createClient(world, attempt);
  let sweeps = 0;

  const sweep = async (): Promise<void> => {
    sweeps += 1;
    await attempt((instance) => world.sweep(instance));
  };
  const recover: Stage["recover"] = async (options = { sweeps: true }) => {
    for (let round = 0; round < ROUNDS_MAX; round += 1) {
      while (await deliver());
      const { left, overdue, nextSeconds } = await lookAtJobs(world, parts);
      if (left === 0) return;
      const toMessage = secondsToMessage(world);
      // Sweeps in which nothing is overdue would find nothing; the clock just moves on.
      const step = Math.min(toMessage, overdue ? SWEEP_SECONDS : nextSeconds);
      if (step > INVOCATION_SECONDS_MAX) await thaw();
      await world.advance(step + 0.001);
      if (options.sweeps && overdue && toMessage > SWEEP_SECONDS) await sweep();
    }
    throw new Error(`lost: ${JSON.stringify(await lookAtJobs(world, parts))}`);
  };

  return {
    ...parts,
    world,
    calls: faults.calls,
    get sweeps() {
      return sweeps;
    },
    ask,
    create: async (more = {}) => {
      const body = { type: parts.type, payload: {}, ...more };
      return String((await ask("/api/jobs", body, [202])).jobId);
    },
    enqueue: async (dedupeKey) => {
      const job = { type: parts.type, payload: {}, dedupeKey };
      for (let tries = 1; tries <= TRIES_MAX; tries += 1) {
        const made = await attempt(({ app, ports }) =>
          Promise.race([app.jobsOf("acme").enqueue(job).catch(ignoreOutage), ports.died]),
        );
        if (made) return;
      }
      throw new Error("nobody took the job");
    },
    deliver: async () => void (await deliver()),
    sweep,
    loseMessages: () => {
      for (const { messageId } of qstash.pending()) qstash.drop(messageId);
    },
    outage: faults.outage,
    kill: () => world.instance.ports.kill(),
    recover,
    thaw,
  };
}

/** Does work on the serving instance; undefined when that died or froze on the way. */
type Attempt = <T>(work: (instance: Instance) => Promise<T>) => Promise<T | undefined>;

/** What makes instances work, and replaces them when they no longer do. */
function createHands(world: World, faults: RunFaults) {
  const watched = new Set<Instance>();
  /** The instance that serves from now on; dead and frozen ones are replaced, as platforms do. */
  const serving = (): Instance => {
    const { instance } = world;
    if (instance.ports.isDead || faults.isFrozen(instance)) world.use(world.newInstance());
    if (!watched.has(world.instance)) watch(world.instance, faults);
    watched.add(world.instance);
    return world.instance;
  };
  const attempt: Attempt = async (work) => {
    const instance = serving();
    const done = await faults.unlessFrozen(instance, () => ignoreDeath(work(instance)));
    return done === "frozen" ? undefined : done;
  };
  return {
    attempt,
    /** Delivers one message; false when none is due. */
    deliver: async (): Promise<boolean> => {
      const delivered = await attempt(async () => (await world.qstash.deliverNext()) ?? "none");
      if (delivered === "none") return false;
      expect(delivered?.status, delivered?.body).not.toBe(500);
      return true;
    },
  };
}

function createClient(world: World, attempt: Attempt): Stage["ask"] {
  return async (path, body, statuses) => {
    const request = { secret: KEYS.admin, body, idempotencyKey: randomUUID() };
    for (let tries = 1; ; tries += 1) {
      const response = await attempt((instance) =>
        world.request("POST", path, { ...request, instance }),
      );
      const answer = (await response?.json()) as { [member: string]: Json };
      if (response && statuses.includes(response.status)) return answer;
      const repeatable = response === undefined || response.status === 503;
      if (repeatable && tries < TRIES_MAX) continue;
      throw new Error(`${path} was answered ${response?.status}: ${JSON.stringify(answer)}`);
    }
  };
}

/** Counts and strikes the calls of an instance for this run, and no longer for an earlier one. */
function watch(instance: Instance, faults: RunFaults): void {
  const { app, ports } = instance;
  ports.rule = (call) => faults.rule(call, instance);
  // QStash gives up a delivery long before a frozen instance is done with it.
  instance.fetch = (request) => faults.follow(Promise.race([app.fetch(request), ports.died]));
}

/** How many jobs are still to end, whether one should have run by now, and when one will. */
async function lookAtJobs(world: World, { type, since }: { type: string; since: string }) {
  const { rows } = await world.database.pg.query<{
    left: number;
    overdue: boolean;
    nextSeconds: number;
  }>(
    // A job that is not even made is one that only a sweep can make.
    `select case when count(*) = 0 then 1 else count(*) - count(finished_at) end::int as left,
       coalesce(bool_or(coalesce(lock_until, next_run_at) <= now()), count(*) = 0) as overdue,
       coalesce(extract(epoch from min(coalesce(lock_until, next_run_at)) - now())::float8, 0)
         as "nextSeconds"
     from jobs where job_type = $1 and created_at >= $2`,
    [type, since],
  );
  const [row] = rows;
  if (!row) throw new Error("an aggregate gives one row");
  return row;
}

function secondsToMessage({ qstash }: World): number {
  const dueAt = qstash.pending().map((message) => message.dueAt);
  return Math.max(0, (Math.min(...dueAt) - qstash.now()) / 1000);
}

function ignoreOutage(error: unknown): undefined {
  if (!(error instanceof StoreUnavailableError)) throw error;
}

async function ignoreDeath<T>(work: Promise<T>): Promise<T | undefined> {
  try {
    return await work;
  } catch (error) {
    if (!isInstanceDeath(error)) throw error;
    return undefined;
  }
}
