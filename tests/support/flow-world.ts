/** One database and one QStash for the tests of a file; each test starts instances of its own. */

import { afterAll, afterEach, beforeAll, beforeEach, expect } from "vitest";
import type { DeliveryResult } from "../../dev/qstash/start.js";
import { compose } from "../../src/compose.js";
import { readConfig } from "../../src/config.js";
import type { JobDefinition } from "../../src/core/define-job.js";
import { emptyTables, type TestDatabaseOptions } from "./database.js";
import { heldToDocument } from "./documented.js";
import { faultyPorts } from "./faulty.js";
import { trackCalls } from "./flow-calls.js";
import { virtualTimers } from "./timers.js";
import { CRON_SECRET, createWorld, type Instance, KEYS, PUBLIC_URL, type World } from "./world.js";

export interface FlowInstance extends Instance {
  /** Every delivery that this instance was sent, as it came. */
  captured: Request[];
}

export interface StartOptions {
  /** More environment variables, or others. */
  env?: Record<string, string>;
  random?: () => number;
}

/** Rows as SQL gives them. */
export type Row = Record<string, unknown>;

export interface Flow extends Omit<World, "instance" | "newInstance" | "close"> {
  readonly instance: FlowInstance;
  /** Starts an instance with these job types, which serves from now on. */
  start(jobs: JobDefinition[], options?: StartOptions): FlowInstance;
  /** Returns once no call to the database or to QStash is under way. */
  settled(): Promise<void>;
  /** Advances in small steps, so that every heartbeat and deadline on the way takes effect. */
  elapse(seconds: number, stepSeconds?: number): Promise<void>;
  /** Delivers what is due, which must be one message, and gives what became of it. */
  deliverOne(): Promise<DeliveryResult>;
  events(jobId: string): Promise<Row[]>;
  effects(jobId: string): Promise<Row[]>;
  query(text: string, values?: unknown[]): Promise<Row[]>;
}

/** Makes the world before the tests of a file; after each test nothing of it is left but time. */
export function setUpFlow(database: TestDatabaseOptions = {}): Flow {
  const shared: { world?: World; instances: FlowInstance[] } = { instances: [] };
  const theWorld = (): World => {
    if (!shared.world) throw new Error("the world is made before the tests");
    return shared.world;
  };
  beforeAll(async () => {
    shared.world = await createWorld({ jobs: [], database });
  });
  beforeEach(() => setClocks(theWorld()));
  afterEach(() => cleanUp(theWorld(), shared.instances));
  afterAll(() => theWorld().close());
  return flowOver(theWorld, shared.instances);
}

function flowOver(theWorld: () => World, instances: FlowInstance[]): Flow {
  const settled = async (): Promise<void> => {
    for (const instance of instances) await trackerOf(instance).settled();
  };
  const advance = async (seconds: number): Promise<void> => {
    await settled();
    await theWorld().advance(seconds);
    await catchUp(theWorld());
    for (const { timers } of instances) await timers.advance(seconds * 1000);
    await settled();
  };
  const flow: Flow = {
    ...delegated(theWorld),
    get database() {
      return theWorld().database;
    },
    get qstash() {
      return theWorld().qstash;
    },
    get logs() {
      return theWorld().logs;
    },
    get undocumented() {
      return theWorld().undocumented;
    },
    get instance() {
      const newest = instances.find((each) => each === theWorld().instance);
      if (!newest) throw new Error("the test has not started an instance");
      return newest;
    },
    start(jobs, options = {}) {
      const instance = startInstance(theWorld(), jobs, options);
      instances.push(instance);
      theWorld().use(instance);
      return instance;
    },
    settled,
    advance,
    async elapse(seconds, stepSeconds = 1) {
      for (let left = seconds; left > 0; left -= stepSeconds) {
        await advance(Math.min(stepSeconds, left));
      }
    },
    async deliverOne() {
      const results = await theWorld().qstash.deliverDue();
      expect(results).toHaveLength(1);
      return results[0] as DeliveryResult;
    },
  };
  return flow;
}

/** What goes on to the world as it is, and plain looks at tables. */
function delegated(theWorld: () => World) {
  const query = async (text: string, values: unknown[] = []): Promise<Row[]> =>
    (await theWorld().database.pg.query(text, values)).rows as Row[];
  return {
    query,
    use: (instance: Instance) => theWorld().use(instance),
    request: (...args: Parameters<World["request"]>) => theWorld().request(...args),
    create: (...args: Parameters<World["create"]>) => theWorld().create(...args),
    job: (jobId: string) => theWorld().job(jobId),
    row: (jobId: string) => theWorld().row(jobId),
    attempts: (jobId: string) => theWorld().attempts(jobId),
    sweep: (instance?: Instance) => theWorld().sweep(instance),
    reconciler: (...args: Parameters<World["reconciler"]>) => theWorld().reconciler(...args),
    runUntilIdle: (secondsMax?: number) => theWorld().runUntilIdle(secondsMax),
    events: (jobId: string) =>
      query("select * from job_events where job_id = $1 order by at, kind", [jobId]),
    effects: (jobId: string) =>
      query("select * from job_effects where job_id = $1 order by name", [jobId]),
  };
}

const trackers = new WeakMap<Instance, ReturnType<typeof trackCalls>>();

function trackerOf(instance: Instance): ReturnType<typeof trackCalls> {
  const tracker = trackers.get(instance);
  if (!tracker) throw new Error("only instances of a flow are tracked");
  return tracker;
}

function startInstance(world: World, jobs: JobDefinition[], options: StartOptions): FlowInstance {
  const tracker = trackCalls();
  const ports = faultyPorts();
  const timers = virtualTimers(async (milliseconds) => {
    await world.database.advance(milliseconds / 1000);
    world.qstash.advance(milliseconds);
  });
  const config = readConfig(environment(world, options.env), "node");
  const app = compose(config, new Map(jobs.map((job) => [job.type, job])), {
    outboundFetch: fetch,
    timers,
    random: options.random ?? Math.random,
    writeLog: (line) => world.logs.push(JSON.parse(line) as Row),
    wrap: {
      store: (store) => ports.store(tracker.wrap(store)),
      trigger: (trigger) => ports.trigger(tracker.wrap(trigger)),
    },
  });
  const captured: Request[] = [];
  const serve = heldToDocument(
    (request) => Promise.race([app.fetch(request), ports.died]),
    world.undocumented,
  );
  const instance: FlowInstance = {
    app,
    ports,
    timers,
    captured,
    fetch: (request) => {
      if (request.headers.has("upstash-signature")) captured.push(request.clone());
      return serve(request);
    },
  };
  trackers.set(instance, tracker);
  return instance;
}

/** What an instance is configured with; the signing keys are those of this moment. */
export function environment(world: Pick<World, "database" | "qstash">, more = {}) {
  const { current, next } = world.qstash.keys();
  return {
    DATABASE_URL: world.database.url,
    DATABASE_HTTP_URL: world.database.neon.endpoint,
    QSTASH_URL: world.qstash.url,
    QSTASH_TOKEN: world.qstash.token,
    QSTASH_CURRENT_SIGNING_KEY: current,
    QSTASH_NEXT_SIGNING_KEY: next,
    PUBLIC_URL,
    API_KEYS: `ops:admin:${KEYS.admin},acme:write:${KEYS.acme},globex:write:${KEYS.globex}`,
    CRON_SECRET,
    ...more,
  };
}

/** The database's clock goes on in real time, that of QStash stands still: both start together. */
export async function setClocks({
  database,
  qstash,
}: Pick<World, "database" | "qstash">): Promise<void> {
  await database.pg.query(
    "update clock.offset_by set value = to_timestamp($1::float8) - pg_catalog.now()",
    [qstash.now() / 1000],
  );
}

/** Moves QStash's clock on to where the database's is by now. */
async function catchUp({ database, qstash }: World): Promise<void> {
  const { rows } = await database.pg.query<{ ms: number }>(
    "select floor(extract(epoch from now()) * 1000)::float8 as ms",
  );
  qstash.advance(Math.max(0, (rows[0]?.ms ?? 0) - qstash.now()));
}

async function cleanUp(world: World, instances: FlowInstance[]): Promise<void> {
  world.database.neon.setFault(null);
  // What a test left running must not reach the next one.
  for (const instance of instances) instance.ports.kill();
  for (const instance of instances.splice(0)) await trackerOf(instance).settled();
  const { qstash } = world;
  qstash.refusePublishes(null);
  qstash.signWith("current");
  qstash.clockOffset(0);
  for (const { messageId } of qstash.pending()) qstash.drop(messageId);
  world.logs.length = 0;
  await emptyTables(world.database.pg);
  const undocumented = [...world.undocumented];
  world.undocumented.clear();
  expect(undocumented).toEqual([]);
}
