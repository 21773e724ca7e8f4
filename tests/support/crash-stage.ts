/** One run of a scenario: a fault strikes its n-th call, and whoever is left goes on. */

import { randomUUID } from "node:crypto";
import { expect } from "vitest";
import type { Json } from "../../src/core/job.js";
import type { Outside } from "./crash-jobs.js";
import type { Call, CallFault } from "./faulty.js";
import { type Instance, isInstanceDeath, KEYS, type World } from "./world.js";

/** Besides the faults of the ports: the answer is lost once, and the driver repeats the call. */
export type PointFault = CallFault | "repeat";
export const POINT_FAULTS: PointFault[] = ["crash_before", "crash_after", "fail", "cut", "repeat"];

/** Where a fault strikes; without a point nothing does. */
export interface Point {
  number: number;
  fault: PointFault;
}

/** How often a platform's cron sweeps. */
const SWEEP_SECONDS = 900;
/** More rounds than any recovery takes; a job that is still not done by then is lost. */
const ROUNDS_MAX = 60;
/** A client gives up at some time; one fault costs it one try. */
const TRIES_MAX = 3;

/** What scenarios are written with. */
export interface Stage {
  readonly type: string;
  readonly outside: Outside;
  readonly world: World;
  /** Asks as a client does that repeats its request, with the same key, until it has an answer. */
  ask(path: string, body: Json, statuses: number[]): Promise<{ [member: string]: Json }>;
  /** Creates jobs of the type; gives the id. */
  create(more?: { [member: string]: Json }): Promise<string>;
  /** Delivers the first message that is due. */
  deliver(): Promise<void>;
  /** Loses every message that waits. */
  loseMessages(): void;
  /** QStash refuses publishes until it is over. */
  outage(on: boolean): void;
  /** Ends the instance as a platform does, without a word. */
  kill(): void;
  /** Lets deliveries, time and sweeps do their work until every job has ended. */
  recover(): Promise<void>;
  /** Keys of the requests that were asked, each of which creates its jobs once. */
  readonly keys: string[];
  /** How many calls there were so far. */
  readonly calls: readonly string[];
  readonly sweeps: number;
}

/** Prepares a run of one scenario; the world was used before and is left as it is. */
export function createStage(
  world: World,
  parts: { type: string; outside: Outside; point?: Point },
): Stage {
  const { qstash } = world;
  const keys: string[] = [];
  const faults = injectFaults(world, parts.point);
  let sweeps = 0;

  /** The instance that serves from now on: dead ones are replaced, as platforms do. */
  const serving = (): Instance => {
    if (world.instance.ports.isDead) world.use(world.newInstance());
    world.instance.ports.rule = faults.rule;
    return world.instance;
  };
  serving();

  const deliver = async (): Promise<boolean> => {
    serving();
    const delivered = await qstash.deliverNext();
    expect(delivered?.status, delivered?.body).not.toBe(500);
    return delivered !== undefined;
  };
  const sweep = async (): Promise<void> => {
    sweeps += 1;
    await ignoreDeath(world.sweep(serving()));
  };
  const ask: Stage["ask"] = async (path, body, statuses) => {
    const idempotencyKey = randomUUID();
    keys.push(idempotencyKey);
    for (let tries = 1; ; tries += 1) {
      const response = await ignoreDeath(
        world.request("POST", path, { secret: KEYS.admin, body, idempotencyKey, instance: serving() }),
      );
      const answer = (await response?.json()) as { [member: string]: Json };
      if (response && statuses.includes(response.status)) return answer;
      const repeatable = response === undefined || response.status === 503;
      if (repeatable && tries < TRIES_MAX) continue;
      throw new Error(`${path} was answered ${response?.status}: ${JSON.stringify(answer)}`);
    }
  };

  return {
    ...parts,
    world,
    keys,
    calls: faults.calls,
    get sweeps() {
      return sweeps;
    },
    ask,
    create: async (more = {}) => {
      const body = { type: parts.type, payload: {}, ...more };
      return String((await ask("/api/jobs", body, [202])).jobId);
    },
    deliver: async () => void (await deliver()),
    loseMessages: () => {
      for (const { messageId } of qstash.pending()) qstash.drop(messageId);
    },
    outage: faults.outage,
    kill: () => world.instance.ports.kill(),
    recover: async () => {
      for (let round = 0; round < ROUNDS_MAX; round += 1) {
        while (await deliver());
        const { left, overdue, nextSeconds } = await lookAtJobs(world, keys);
        if (left === 0) return;
        const toMessage = secondsToMessage(world);
        // Nobody sweeps on purpose when a message is under way or a job is only waiting for its time.
        const next = overdue ? SWEEP_SECONDS : Math.max(nextSeconds, 0);
        await world.advance(Math.min(toMessage, next) + 0.001);
        if (overdue && toMessage > SWEEP_SECONDS) await sweep();
      }
      throw new Error(`jobs are lost: ${JSON.stringify(await lookAtJobs(world, keys))}`);
    },
  };
}

/** Strikes the n-th call over all instances of a run. */
function injectFaults(world: World, point: Point | undefined) {
  const { qstash } = world;
  const { neon } = world.database;
  const calls: string[] = [];
  let refusing = false;
  const lift = (): void => {
    neon.setFault(null);
    qstash.refusePublishes(refusing ? { status: 503 } : null);
  };
  return {
    calls,
    outage(on: boolean): void {
      refusing = on;
      lift();
    },
    rule({ port, method }: Call): CallFault | undefined {
      lift();
      calls.push(`${port}.${method}`);
      if (calls.length !== point?.number) return undefined;
      const { fault } = point;
      if (fault === "crash_before" || fault === "crash_after") return fault;
      if (fault === "repeat") {
        neon.setFault(port === "store" ? { action: "lose-answer", nth: 1 } : null);
        if (port === "trigger") qstash.refusePublishes("cut", { times: 1 });
        return undefined;
      }
      if (port === "store") return fault;
      // The trigger asks twice, and gives back what failed instead of throwing where there are many.
      if (fault === "fail") qstash.refusePublishes({ status: 503, times: 2 });
      else qstash.refusePublishes("cut", { times: 2 });
      return undefined;
    },
  };
}

/** How many of the jobs have not ended, whether one should have run by now, and when one will. */
async function lookAtJobs(world: World, keys: string[]) {
  const { rows } = await world.database.pg.query<{
    left: number;
    overdue: boolean;
    nextSeconds: number;
  }>(
    `select count(*)::int as left,
       coalesce(bool_or(coalesce(lock_until, next_run_at) <= now()), false) as overdue,
       coalesce(extract(epoch from min(coalesce(lock_until, next_run_at)) - now())::float8, 0)
         as "nextSeconds"
     from jobs where idempotency_key = any($1) and finished_at is null`,
    [keys],
  );
  const [row] = rows;
  if (!row) throw new Error("an aggregate gives one row");
  return row;
}

function secondsToMessage({ qstash }: World): number {
  const dueAt = qstash.pending().map((message) => message.dueAt);
  return Math.max(0, (Math.min(...dueAt) - qstash.now()) / 1000);
}

async function ignoreDeath<T>(work: Promise<T>): Promise<T | undefined> {
  try {
    return await work;
  } catch (error) {
    if (!isInstanceDeath(error)) throw error;
    return undefined;
  }
}
