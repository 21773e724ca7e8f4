/** A whole deployment under a test's control: database, QStash, clock, instances, handlers. */

import { randomUUID } from "node:crypto";
import { expect, onTestFinished } from "vitest";
import { type Qstash, startQstash } from "../../dev/qstash/start.js";
import { type Antrean, compose, composeReconciler, type Reconciler } from "../../src/compose.js";
import { type Environment, readConfig } from "../../src/config.js";
import type { JobDefinition, Registry } from "../../src/core/define-job.js";
import type { Job, Json } from "../../src/core/job.js";
import { parseJson } from "../../src/core/parse-json.js";
import { type TestDatabase, type TestDatabaseOptions, takeTestDatabase } from "./database.js";
import { heldToDocument } from "./documented.js";
import { type FaultyPorts, faultyPorts, InstanceDiedError } from "./faulty.js";
import { mountInProcess } from "./in-process.js";
import { type VirtualTimers, virtualTimers } from "./timers.js";

export const PUBLIC_URL = "http://antrean.test";
export const KEYS = {
  admin: "admin-secret-0000000",
  acme: "acme-secret-00000000",
  acmeReader: "acme-reader-0000000",
  globex: "globex-secret-000000",
} as const;
export const CRON_SECRET = "cron-secret-00000000";

/** One function instance: it can be killed, and its calls can be made to fail. */
export interface Instance {
  app: Antrean;
  ports: FaultyPorts;
  timers: VirtualTimers;
  /** Answers as the platform would: a killed instance breaks the connection. */
  fetch(request: Request): Promise<Response>;
}

export interface WorldOptions {
  jobs: JobDefinition[];
  /** More environment variables. */
  env?: Record<string, string>;
  outboundFetch?: typeof fetch;
  database?: TestDatabaseOptions;
}

/** What a request to the API looks like to a test. */
export interface ApiOptions {
  secret?: string | null;
  idempotencyKey?: string;
  headers?: Record<string, string>;
  /** Sent as it is; `body` is sent as JSON. */
  rawBody?: string | Uint8Array;
  body?: unknown;
  instance?: Instance;
}

export interface World {
  database: TestDatabase;
  qstash: Qstash;
  /** The instance that serves requests and deliveries unless a test says otherwise. */
  instance: Instance;
  /** Every log line, parsed. */
  logs: Record<string, unknown>[];
  /** What answers had that the OpenAPI document does not say of them; `close` fails for any. */
  undocumented: Set<string>;
  newInstance(): Instance;
  /** The comparison with QStash that an operator runs over the deployment's environment. */
  reconciler(env: Environment, writeLog: (line: string) => void): Reconciler;
  /** Sends deliveries and requests to this instance from now on. */
  use(instance: Instance): void;
  request(method: string, path: string, options?: ApiOptions): Promise<Response>;
  create(type: string, payload: Json, more?: Record<string, unknown>): Promise<string>;
  job(jobId: string): Promise<Job>;
  /** Moves every clock of the world on. */
  advance(seconds: number): Promise<void>;
  sweep(instance?: Instance): Promise<Record<string, unknown>>;
  /** Delivers and advances until no message waits, at most so many seconds ahead. */
  runUntilIdle(secondsMax?: number): Promise<void>;
  row(jobId: string): Promise<Record<string, unknown>>;
  attempts(jobId: string): Promise<Record<string, unknown>[]>;
  close(): Promise<void>;
}

/** Builds a world; whoever builds it ends it with `close`. */
export async function createWorld(options: WorldOptions): Promise<World> {
  const database = await takeTestDatabase(options.database);
  const logs: Record<string, unknown>[] = [];
  const undocumented = new Set<string>();
  const qstash = await startQstash({
    mode: "manual",
    deliver: (request) => world.instance.fetch(request),
  });
  /** Database and QStash; the timers of instances follow in `advance`. */
  const moveClocks = async (milliseconds: number): Promise<void> => {
    await database.advance(milliseconds / 1000);
    qstash.advance(milliseconds);
  };
  const unmount = [
    mountInProcess(database.neon.endpoint, database.neon.service),
    mountInProcess(qstash.url, qstash.service),
  ];
  const instances: Instance[] = [];
  const start = instanceStarter(environment(database, qstash, options), options, moveClocks, {
    logs,
    undocumented,
  });
  const newInstance = (): Instance => {
    const instance = start();
    instances.push(instance);
    return instance;
  };
  const world: World = {
    database,
    qstash,
    instance: newInstance(),
    logs,
    undocumented,
    newInstance,
    reconciler: (env, writeLog) =>
      composeReconciler(readConfig(env, "node"), registryOf(options), {
        timers: virtualTimers(moveClocks),
        writeLog,
      }),
    use(instance) {
      world.instance = instance;
    },
    async advance(seconds) {
      await moveClocks(seconds * 1000);
      for (const { timers } of instances) await timers.advance(seconds * 1000);
    },
    async runUntilIdle(secondsMax = 86_400) {
      await qstash.runUntilIdle({
        maxMs: secondsMax * 1000,
        onAdvance: (ms) => database.advance(ms / 1000),
      });
    },
    async close() {
      for (const each of unmount) each();
      await qstash.close();
      await database.release();
      expect([...undocumented]).toEqual([]);
    },
    ...requestsTo(() => world.instance),
    ...looksInto(database),
  };
  return world;
}

/** Makes instances that share nothing but the database, QStash and the log. */
function instanceStarter(
  env: Record<string, string>,
  options: WorldOptions,
  moveClocks: (milliseconds: number) => Promise<void>,
  { logs, undocumented }: Pick<World, "logs" | "undocumented">,
): () => Instance {
  const config = readConfig(env, "node");
  const registry = registryOf(options);
  return () => {
    const ports = faultyPorts();
    const timers = virtualTimers(moveClocks);
    const app = compose(config, registry, {
      outboundFetch: options.outboundFetch ?? fetch,
      timers,
      random: Math.random,
      writeLog: (line) => logs.push(JSON.parse(line) as Record<string, unknown>),
      wrap: { store: ports.store, trigger: ports.trigger },
    });
    return {
      app,
      ports,
      timers,
      fetch: heldToDocument(
        (request) => Promise.race([app.fetch(request), ports.died]),
        undocumented,
      ),
    };
  };
}

function registryOf({ jobs }: WorldOptions): Registry {
  return new Map(jobs.map((job) => [job.type, job]));
}

function requestsTo(current: () => Instance): Pick<World, "request" | "create" | "job" | "sweep"> {
  const request: World["request"] = (method, path, given = {}) =>
    (given.instance ?? current()).fetch(apiRequest(method, path, given));
  return {
    request,
    async create(type, payload, more = {}) {
      const body = { type, payload, ...more };
      const response = await request("POST", "/api/jobs", { body });
      const answer = (await response.json()) as { jobId: string };
      expect(response.status, JSON.stringify(answer)).toBe(202);
      return answer.jobId;
    },
    async job(jobId) {
      const response = await request("GET", `/api/jobs/${jobId}`, { secret: KEYS.admin });
      expect(response.status).toBe(200);
      // Not by the response itself, whose JSON.parse may take one name for another.
      return parseJson(await response.text()) as unknown as Job;
    },
    async sweep(instance) {
      const response = await request("POST", "/api/sweep", { secret: CRON_SECRET, instance });
      expect(response.status).toBe(200);
      return (await response.json()) as Record<string, unknown>;
    },
  };
}

function looksInto({ pg }: TestDatabase): Pick<World, "row" | "attempts"> {
  return {
    row: async (jobId) => {
      const { rows } = await pg.query("select * from jobs where id = $1", [jobId]);
      return rows[0] as Record<string, unknown>;
    },
    attempts: async (jobId) => {
      const { rows } = await pg.query(
        "select * from job_attempts where job_id = $1 order by number, started_at",
        [jobId],
      );
      return rows as Record<string, unknown>[];
    },
  };
}

/** Builds a world that is torn down at the end of the present test. */
export async function worldForTest(options: WorldOptions): Promise<World> {
  const world = await createWorld(options);
  onTestFinished(() => world.close());
  return world;
}

/** True for the error that a request to a killed instance ends with. */
export function isInstanceDeath(error: unknown): boolean {
  return error instanceof InstanceDiedError;
}

function environment(
  database: TestDatabase,
  qstash: Qstash,
  options: WorldOptions,
): Record<string, string> {
  const { current, next } = qstash.keys();
  return {
    DATABASE_URL: database.url,
    DATABASE_HTTP_URL: database.neon.endpoint,
    QSTASH_URL: qstash.url,
    QSTASH_TOKEN: qstash.token,
    QSTASH_CURRENT_SIGNING_KEY: current,
    QSTASH_NEXT_SIGNING_KEY: next,
    PUBLIC_URL,
    API_KEYS: [
      `ops:admin:${KEYS.admin}`,
      `acme:write:${KEYS.acme}`,
      `acme:read:${KEYS.acmeReader}`,
      `globex:write:${KEYS.globex}`,
    ].join(","),
    CRON_SECRET,
    ...options.env,
  };
}

function apiRequest(method: string, path: string, options: ApiOptions): Request {
  const headers = new Headers(options.headers);
  const secret = options.secret === undefined ? KEYS.acme : options.secret;
  if (secret !== null) headers.set("authorization", `Bearer ${secret}`);
  const body =
    options.rawBody ?? (options.body === undefined ? undefined : JSON.stringify(options.body));
  if (body !== undefined && !headers.has("content-type")) {
    headers.set("content-type", "application/json");
  }
  const creates = method === "POST" && /^\/api\/jobs(\/batch)?$/.test(path);
  if (options.idempotencyKey !== undefined) headers.set("idempotency-key", options.idempotencyKey);
  else if (creates && !headers.has("idempotency-key")) headers.set("idempotency-key", randomUUID());
  return new Request(`${PUBLIC_URL}${path}`, {
    method,
    headers,
    body: body as BodyInit | undefined,
  });
}
