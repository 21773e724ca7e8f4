/** The composition root: configuration to a running application. The only file that sees all layers. */

import { v7 as uuidv7 } from "uuid";
import { type Config, ConfigError } from "./config.js";
import type { Registry } from "./core/define-job.js";
import type { SendAlert } from "./core/monitoring.js";
import type { Ports, RequestPlatform, SqlStatement, Store, Timers, Trigger } from "./core/ports.js";
import type { Comparison, Difference, ReconcilePorts } from "./core/reconcile.js";
import { createDashboard } from "./dashboard/create-dashboard.js";
import type { SweepReport } from "./engine/begin-sweep.js";
import { compareRecords } from "./engine/compare-records.js";
import { enqueue } from "./engine/enqueue.js";
import { nudge } from "./engine/nudge.js";
import { prepareEnqueue } from "./engine/prepare-enqueue.js";
import { repairDifferences } from "./engine/repair-differences.js";
import type { JobRequest } from "./engine/resolve-job.js";
import { sweep } from "./engine/sweep.js";
import { type WorkOptions, work } from "./engine/work.js";
import { readCodeJob } from "./http/code-job.js";
import { createApp } from "./http/create-app.js";
import { unreadableAllowEntries } from "./jobs/outbound/allow-list.js";
import { signatureHeaders } from "./jobs/outbound/webhook-signature.js";
import { createDatabase } from "./storage/client.js";
import { LATEST_MIGRATION, type Migration, migrate } from "./storage/migrate.js";
import { createReconcileStore } from "./storage/reconcile-store.js";
import { createStore } from "./storage/store.js";
import { createAlertWebhook } from "./telemetry/alert-webhook.js";
import { createLog } from "./telemetry/log.js";
import { createTrigger } from "./trigger/publish.js";
import { createRecords } from "./trigger/records.js";
import { createVerify } from "./trigger/verify.js";

/** What only the platform or a test can give. */
export interface Platform {
  /** Handed to job handlers; the platform's guards against private networks apply. */
  outboundFetch: typeof fetch;
  timers: Timers;
  random: () => number;
  /** Writes one log line. */
  writeLog: (line: string) => void;
  /** Gives a request's path from our own root, where that is not the host's. */
  pathOf?: (request: Request) => string;
  /** Wraps the ports, for fault injection; the application itself never does. */
  wrap?: { store?: (store: Store) => Store; trigger?: (trigger: Trigger) => Trigger };
}

export type { Comparison, Difference, RequestPlatform };

/** A running application. */
export interface Antrean {
  fetch(request: Request, platform?: RequestPlatform): Promise<Response>;
  /** Does one sweep, as the platform's own cron does. */
  sweep(platform?: RequestPlatform): Promise<SweepReport>;
  /** Runs jobs in this process until it is stopped. */
  work(options: WorkOptions): Promise<void>;
  /** Creates jobs from code in the same deployment, for a tenant. */
  jobsOf(tenant: string, platform?: RequestPlatform): CodeJobs;
}

/** Creating jobs from code; see `engine/enqueue`. */
export interface CodeJobs {
  enqueue(job: JobRequest): Promise<{ jobId: string; created: boolean }>;
  /** For the caller's own batch or transaction; call `nudge` after its commit. */
  enqueueStatement(job: JobRequest): Promise<{ jobId: string; statement: SqlStatement }>;
  nudge(jobIds: string[]): Promise<void>;
}

/** Compares a deployment's database with its QStash account; see `engine/compare-records`. */
export interface Reconciler {
  compare(): Promise<Comparison>;
  /** Gives the differences that it made good. */
  repair(comparison: Comparison): Promise<Difference[]>;
}

/** Bound on one database call; below it lies the statement time limit of the database. */
const DATABASE_TIMEOUT_SECONDS = 10;

/**
 * Puts the layers together once; ports are made anew for every request.
 *
 * Errors: a type whose time limit does not fit the platform is a configuration fault.
 */
export function compose(config: Config, registry: Registry, platform: Platform): Antrean {
  checkRunTimes(config, registry);
  checkOutboundAllow(config);
  const verify = createVerify({
    currentSigningKey: config.qstashCurrentSigningKey,
    nextSigningKey: config.qstashNextSigningKey,
    publicUrls: publicUrls(config),
  });
  const portsFor = (request: RequestPlatform): Ports =>
    createPorts(config, registry, platform, request);
  const { apiKeys, publicUrl } = config;
  const app = createApp({
    config,
    registry,
    verify,
    portsFor,
    latestMigration: LATEST_MIGRATION,
    pathOf: platform.pathOf,
    pages: createDashboard({ path: "/dashboard", apiKeys, publicUrl }),
  });
  return {
    fetch: async (request, requestPlatform = {}) => app.fetch(request, requestPlatform),
    sweep: (requestPlatform = {}) => sweep(portsFor(requestPlatform)),
    work: (options) => work(() => portsFor({}), options),
    jobsOf: (tenant, requestPlatform = {}) => ({
      enqueue: async (job) => enqueue(portsFor(requestPlatform), tenant, readCodeJob(job)),
      enqueueStatement: async (job) =>
        prepareEnqueue(portsFor(requestPlatform), tenant, readCodeJob(job)),
      nudge: (jobIds) => nudge(portsFor(requestPlatform), jobIds),
    }),
  };
}

function createPorts(
  config: Config,
  registry: Registry,
  platform: Platform,
  request: RequestPlatform,
): Ports {
  const { timers } = platform;
  // Workers keep no client between requests: a module-level one fails for about half of them.
  const store = createStore(openDatabase(config, timers));
  const trigger = createTrigger({
    qstashUrl: config.qstashUrl,
    qstashToken: config.qstashToken,
    publicUrl: config.publicUrl,
    appName: config.appName,
    registry,
    protectionBypass: config.protectionBypass,
    sleep: timers.sleep,
  });
  return {
    store: platform.wrap?.store?.(store) ?? store,
    trigger: platform.wrap?.trigger?.(trigger) ?? trigger,
    timers,
    entropy: { newId: () => uuidv7(), random: platform.random },
    log: createLog(platform.writeLog, {
      requestId: request.requestId,
      traceparent: request.traceparent,
    }),
    registry,
    settings: config,
    env: config.env,
    outboundFetch: platform.outboundFetch,
    sendAlert: alertWebhook(config, platform),
    waitUntil: request.waitUntil,
  };
}

function openDatabase(config: Config, { sleep }: Timers) {
  const { databaseUrl, databaseHttpUrl } = config;
  return createDatabase({
    databaseUrl,
    databaseHttpUrl,
    timeoutSeconds: DATABASE_TIMEOUT_SECONDS,
    sleep,
  });
}

function publicUrls({ publicUrl, publicUrlPrevious }: Config): string[] {
  return publicUrlPrevious ? [publicUrl, publicUrlPrevious] : [publicUrl];
}

/** Apart from `compose`, so that no deployment carries it. */
export function composeReconciler(
  config: Config,
  registry: Registry,
  { timers, writeLog }: Pick<Platform, "timers" | "writeLog">,
): Reconciler {
  const { qstashUrl, qstashToken } = config;
  const types = [...registry.values()];
  const ports: ReconcilePorts = {
    store: createReconcileStore(openDatabase(config, timers)),
    records: createRecords({
      qstashUrl,
      qstashToken,
      publicUrls: publicUrls(config),
      sleep: timers.sleep,
    }),
    log: createLog(writeLog, {}),
    unpublishedTypes: types.filter(({ runsOn }) => runsOn === "worker").map(({ type }) => type),
    settings: config,
  };
  return {
    compare: () => compareRecords(ports),
    repair: (comparison) => repairDifferences(ports, comparison),
  };
}

function alertWebhook({ env }: Config, { outboundFetch }: Platform): SendAlert | undefined {
  const { ALERT_WEBHOOK_URL: url, ALERT_WEBHOOK_SECRET: secret } = env;
  return url
    ? createAlertWebhook({ url, secret, fetch: outboundFetch, sign: signatureHeaders })
    : undefined;
}

/** Claim, finish and publish need this much of an invocation besides the handler. */
const RUN_RESERVE_SECONDS = 15;

function checkRunTimes(config: Config, registry: Registry): void {
  for (const { type, timeoutSeconds, runsOn } of registry.values()) {
    if (runsOn === "worker" || timeoutSeconds + RUN_RESERVE_SECONDS <= config.maxRunSeconds)
      continue;
    throw new ConfigError([
      `job type "${type}": timeoutSeconds ${timeoutSeconds} + ${RUN_RESERVE_SECONDS} is more than MAX_RUN_SECONDS ${config.maxRunSeconds}`,
    ]);
  }
}

/** An entry that cannot be read would open nothing, and nobody would know why. */
function checkOutboundAllow(config: Config): void {
  const unreadable = unreadableAllowEntries(config.env.OUTBOUND_ALLOW);
  if (unreadable.length === 0) return;
  throw new ConfigError([
    `OUTBOUND_ALLOW must list host, host:port or host:*; unreadable: ${unreadable.join(", ")}`,
  ]);
}

/** Brings a database to the newest of the given migrations; see `storage/migrate`. */
export function migrateDatabase(
  database: { databaseUrl: string; databaseHttpUrl: string | undefined },
  migrations: Migration[],
): Promise<string[]> {
  return migrate(database, migrations);
}
