/** A deployment for sweeps: one database for the tests of a file, all else made anew for each test. */

import { randomUUID } from "node:crypto";
import { afterAll, afterEach, beforeAll, expect } from "vitest";
import { type Qstash, type QstashOptions, startQstash } from "../../dev/qstash/start.js";
import { compose } from "../../src/compose.js";
import { readConfig } from "../../src/config.js";
import type { JobDefinition } from "../../src/core/define-job.js";
import type { SweepReport } from "../../src/engine/begin-sweep.js";
import {
  emptyTables,
  type TestDatabase,
  type TestDatabaseOptions,
  takeTestDatabase,
} from "./database.js";
import { faultyPorts } from "./faulty.js";
import { mountInProcess } from "./in-process.js";
import { virtualTimers } from "./timers.js";
import { CRON_SECRET, type Instance, KEYS, PUBLIC_URL } from "./world.js";

export interface SweepOptions {
  jobs: JobDefinition[];
  env?: Record<string, string>;
  /** Which plan the QStash account has; the free one delays at most seven days. */
  quota?: QstashOptions["quota"];
}

/** Any row, as SQL gives it. */
export type Row = Record<string, unknown>;

export interface SweepWorld {
  database: TestDatabase;
  qstash: Qstash;
  instance: Instance;
  /** Another instance of the same deployment. */
  newInstance(): Instance;
  /** What answers deliveries; a test may put a broken deployment here. */
  answer: (request: Request) => Promise<Response>;
  sweep(instance?: Instance): Promise<SweepReport>;
  request(method: string, path: string, body?: unknown, secret?: string): Promise<Response>;
  /** Moves every clock on. */
  advance(seconds: number): Promise<void>;
  /** Delivers and advances until no message waits, at most so many seconds ahead. */
  runUntilIdle(secondsMax: number): Promise<void>;
  query<Found = Row>(text: string, params?: unknown[]): Promise<Found[]>;
  job(jobId: string): Promise<Row>;
}

/** What tests start their worlds from. */
export interface SweepStage {
  start(options: SweepOptions): Promise<SweepWorld>;
}

/** Makes the database before the tests of a file, and empties it for each of them. */
export function setUpSweeps(options: TestDatabaseOptions = {}): SweepStage {
  let database: TestDatabase;
  let unmountNeon = () => {};
  const stops: (() => Promise<void>)[] = [];
  beforeAll(async () => {
    database = await takeTestDatabase(options);
    unmountNeon = mountInProcess(database.neon.endpoint, database.neon.service);
  });
  afterEach(async () => {
    database.neon.setFault(null);
    for (const stop of stops.splice(0)) await stop();
  });
  afterAll(async () => {
    unmountNeon();
    await database.release();
  });
  return {
    async start(options) {
      await emptyTables(database.pg);
      // Not only emptied: these tests count pages, and dead rows have some.
      await database.pg.query("update clock.offset_by set value = '0'; truncate jobs");
      const world = await startWorld(database, options);
      const unmount = mountInProcess(world.qstash.url, world.qstash.service);
      stops.push(async () => {
        unmount();
        await world.qstash.close();
      });
      return world;
    },
  };
}

async function startWorld(database: TestDatabase, options: SweepOptions): Promise<SweepWorld> {
  const qstash = await startQstash({
    mode: "manual",
    quota: options.quota,
    deliver: (request) => world.answer(request),
  });
  const newInstance = (): Instance => startInstance({ database, qstash }, options);
  const instance = newInstance();
  const query = async <Found = Row>(text: string, params: unknown[] = []): Promise<Found[]> =>
    (await database.pg.query(text, params)).rows as Found[];
  const world: SweepWorld = {
    database,
    qstash,
    instance,
    newInstance,
    answer: (request) => world.instance.fetch(request),
    async sweep(by = world.instance) {
      const headers = { authorization: `Bearer ${CRON_SECRET}` };
      const response = await by.fetch(
        new Request(`${PUBLIC_URL}/api/sweep`, { method: "POST", headers }),
      );
      expect(response.status).toBe(200);
      return (await response.json()) as SweepReport;
    },
    request: (method, path, body, secret) =>
      world.instance.fetch(apiRequest(method, path, body, secret)),
    async advance(seconds) {
      qstash.advance(seconds * 1000);
      await database.advance(seconds);
      await world.instance.timers.advance(seconds * 1000);
    },
    async runUntilIdle(secondsMax) {
      await qstash.runUntilIdle({
        maxMs: secondsMax * 1000,
        onAdvance: (ms) => database.advance(ms / 1000),
      });
    },
    query,
    async job(jobId) {
      const [row] = await query("select * from jobs where id = $1", [jobId]);
      if (!row) throw new Error(`there is no job ${jobId}`);
      return row;
    },
  };
  return world;
}

function startInstance(
  { database, qstash }: Pick<SweepWorld, "database" | "qstash">,
  { jobs, env }: SweepOptions,
): Instance {
  const ports = faultyPorts();
  const timers = virtualTimers(async (milliseconds) => {
    await database.advance(milliseconds / 1000);
    qstash.advance(milliseconds);
  });
  const config = readConfig({ ...environment(database, qstash), ...env }, "node");
  const app = compose(config, new Map(jobs.map((job) => [job.type, job])), {
    outboundFetch: fetch,
    timers,
    random: Math.random,
    writeLog: () => {},
    wrap: { store: ports.store, trigger: ports.trigger },
  });
  return {
    app,
    ports,
    timers,
    fetch: (request) => Promise.race([app.fetch(request), ports.died]),
  };
}

function environment(database: TestDatabase, qstash: Qstash): Record<string, string> {
  const { current, next } = qstash.keys();
  return {
    DATABASE_URL: database.url,
    DATABASE_HTTP_URL: database.neon.endpoint,
    QSTASH_URL: qstash.url,
    QSTASH_TOKEN: qstash.token,
    QSTASH_CURRENT_SIGNING_KEY: current,
    QSTASH_NEXT_SIGNING_KEY: next,
    PUBLIC_URL,
    API_KEYS: `ops:admin:${KEYS.admin},acme:write:${KEYS.acme},globex:write:${KEYS.globex}`,
    CRON_SECRET,
  };
}

function apiRequest(
  method: string,
  path: string,
  body: unknown,
  secret: string = KEYS.acme,
): Request {
  return new Request(`${PUBLIC_URL}${path}`, {
    method,
    headers: {
      authorization: `Bearer ${secret}`,
      "content-type": "application/json",
      "idempotency-key": randomUUID(),
    },
    body: body === undefined ? undefined : JSON.stringify(body),
  });
}
