/**
 * What claim, finish, lists, metrics and the sweep's statements touch with few and many rows.
 *
 * Run: npm run bench -- [rows]   (default: a thousand and a million, mixed; then a million finished
 * beside 100,000 that wait. A million takes about a minute)
 */

import { v7 as uuidv7 } from "uuid";
import type { JobFilter } from "../src/core/listing.js";
import type { Database } from "../src/storage/client.js";
import { claim } from "../src/storage/sql/claim.js";
import { claimDue } from "../src/storage/sql/claim-due.js";
import { finish } from "../src/storage/sql/finish.js";
import { groupDeadLetters } from "../src/storage/sql/group-dead-letters.js";
import { health } from "../src/storage/sql/health.js";
import { heartbeat } from "../src/storage/sql/heartbeat.js";
import { listJobs } from "../src/storage/sql/list-jobs.js";
import { probeSilentTypes } from "../src/storage/sql/probe-silent-types.js";
import { read } from "../src/storage/sql/read.js";
import { readHistory } from "../src/storage/sql/read-history.js";
import { readRecent } from "../src/storage/sql/read-recent.js";
import { readStats } from "../src/storage/sql/read-stats.js";
import { readTimeline } from "../src/storage/sql/read-timeline.js";
import { readTotals } from "../src/storage/sql/read-totals.js";
import { recoverLeases } from "../src/storage/sql/recover-leases.js";
import { takeUnpublished } from "../src/storage/sql/take-unpublished.js";
import { takeVanished } from "../src/storage/sql/take-vanished.js";
import { type Cost, explain } from "./explain.js";
import { fill, mixed, type Population } from "./fill.js";
import { onStage } from "./stage.js";

const sizes = process.argv.slice(2).map(Number).filter(Boolean);

async function main(): Promise<void> {
  await onStage({}, async ({ client }) => {
    for (const population of populations()) {
      const named = await fill(client, population);
      console.log(`\n${describe(population)}, after vacuum`);
      for (const [name, call] of calls(named)) print(name, await explain(client, call));
    }
  });
}

function populations(): Population[] {
  if (sizes.length > 0) return sizes.map(mixed);
  const long = { due: 50_000, scheduled: 50_000, running: 1_000, finished: 1_000_000 };
  return [mixed(1_000), mixed(1_000_000), long];
}

function describe(population: Population): string {
  return Object.entries(population)
    .map(([kind, count]) => `${count.toLocaleString("en")} ${kind}`)
    .join(", ");
}

function calls(named: {
  dueJobId: string;
  doneJobId: string;
  runningJobId: string;
  runningToken: string;
}): [string, (db: Database) => Promise<unknown>][] {
  const delivery = {
    type: "bench.busy",
    seq: 1,
    lockToken: uuidv7(),
    messageId: "msg_bench",
    unknownIsPermit: false,
    leases: { "bench.busy": 60 },
  };
  const held = { jobId: named.runningJobId, lockToken: named.runningToken };
  const report = { code: "handler_error", message: "no" };
  const types = [
    { type: "bench.busy", publish: true, leaseSeconds: 60, delays: [30], jitterSeconds: 15 },
  ];
  const take = (limit: number) => ({ takeId: uuidv7(), unpublishedTypes: [], limit });
  return [
    ["claim, named job is due", (db) => claim(db, { ...delivery, jobId: named.dueJobId })],
    [
      "claim, named job is done: permit",
      (db) => claim(db, { ...delivery, jobId: named.doneJobId }),
    ],
    ["claim without a delivery", (db) => claimDue(db, types, uuidv7())],
    ["heartbeat", (db) => heartbeat(db, { ...held, leaseSeconds: 60 }, undefined)],
    [
      "finish, completed",
      (db) =>
        finish(db, {
          ...held,
          attempt: 1,
          publish: true,
          report: { kind: "completed", result: null, resultOmitted: null },
        }),
    ],
    [
      "finish, retry",
      (db) =>
        finish(db, {
          ...held,
          attempt: 1,
          publish: true,
          report: { kind: "retry", delaySeconds: 30, ...report },
        }),
    ],
    ["status", (db) => read(db, named.doneJobId, { tenant: "acme", keyName: "acme" })],
    ["sweep: expired leases, none", (db) => recoverLeases(db, types, take(200))],
    ["sweep: not published, none", (db) => takeUnpublished(db, take(500))],
    ["sweep: vanished, none", (db) => takeVanished(db, take(500))],
    ["sweep: silent types", (db) => probeSilentTypes(db, take(100))],
    ["readiness", (db) => health(db)],
    ...reads(named),
  ];
}

/** As the overview asks for them: an hour of attempts, six hours of counters. */
const FIVE_MINUTES = { count: 12, seconds: 300 };
const TEN_MINUTES = { count: 36, seconds: 600 };

function reads({
  doneJobId,
}: {
  doneJobId: string;
}): [string, (db: Database) => Promise<unknown>][] {
  const tenant = { tenant: "acme", keyName: "acme" };
  const admin = { tenant: null, keyName: "ops" };
  const all: JobFilter = {
    statuses: [],
    types: [],
    dedupeKey: null,
    createdAfter: null,
    createdBefore: null,
  };
  const page = { limit: 50, after: null, entriesMax: 2000 };
  // The running jobs of `fill` are younger.
  const createdBefore = new Date(Date.now() - 3_600_000).toISOString();
  return [
    ["list", (db) => listJobs(db, all, tenant, page)],
    ["list, all tenants", (db) => listJobs(db, all, admin, page)],
    ["list by type", (db) => listJobs(db, { ...all, types: ["bench.busy"] }, tenant, page)],
    ["list, running", (db) => listJobs(db, { ...all, statuses: ["processing"] }, tenant, page)],
    [
      "list, a walk that finds nothing",
      (db) =>
        listJobs(db, { ...all, statuses: ["processing", "failed"], createdBefore }, tenant, page),
    ],
    ["list by a dedupe key", (db) => listJobs(db, { ...all, dedupeKey: "none" }, tenant, page)],
    ["timeline", (db) => readTimeline(db, doneJobId, tenant, 1000)],
    ["statistics", (db) => readStats(db, tenant, 1000)],
    ["statistics, all tenants", (db) => readStats(db, admin, 1000)],
    ["dashboard: newest attempts", (db) => readRecent(db, null, FIVE_MINUTES, 1000)],
    ["dashboard: counted attempts", (db) => readHistory(db, TEN_MINUTES)],
    ["dashboard: groups of dead letters", (db) => groupDeadLetters(db, null, 2000)],
    ["metrics: gauges", (db) => readStats(db, admin, 10_000)],
    ["metrics: counters", (db) => readTotals(db)],
  ];
}

function print(name: string, { buffers, rowsRead, walBytes, executionMs }: Cost): void {
  const columns = [
    `${buffers} buffers`,
    `${rowsRead} rows`,
    `${walBytes} B WAL`,
    `${executionMs.toFixed(2)} ms`,
  ];
  console.log(`  ${name.padEnd(34)} ${columns.map((column) => column.padStart(14)).join(" ")}`);
}

await main();
