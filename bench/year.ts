/**
 * A year of daily traffic with the default retention: how large the tables become, month by month.
 *
 * Run: npm run bench:year -- [jobs a day] [days]   (default 200 and 365, which takes some minutes)
 *
 * Sweeps come once a day, the rarest that a free plan's cron can do. Autovacuum looks every second,
 * since a day passes in less than one; its thresholds are those of the migrations.
 */

import { readFile } from "node:fs/promises";
import * as z from "zod";
import { type Qstash, startQstash } from "../dev/qstash/start.js";
import { compose } from "../src/compose.js";
import { readConfig } from "../src/config.js";
import { defineJob } from "../src/core/define-job.js";
import { webPlatform } from "../src/entry/platform.js";
import { createStore } from "../src/storage/store.js";
import { countRows, type Deployment, liveOneDay, TABLES } from "../tests/support/history.js";
import { onStage, type Stage } from "./stage.js";

const TYPE = "bench.daily";
const JOBS_PER_REQUEST = 25;
const DAYS_PER_LINE = 30;

const jobsPerDay = Number(process.argv[2] ?? 200);
const days = Number(process.argv[3] ?? 365);

async function main(): Promise<void> {
  const before = await readFile(new URL("../tests/support/clock.sql", import.meta.url), "utf8");
  await onStage({ settings: { autovacuum_naptime: "1s" }, before }, async (stage) => {
    const qstash = await startQstash({ mode: "manual" });
    try {
      await liveThrough(deploymentOn(stage, qstash));
    } finally {
      await qstash.close();
    }
  });
}

async function liveThrough(deployment: Deployment): Promise<void> {
  console.log(`${jobsPerDay} jobs a day for ${days} days; rows and megabytes with indexes\n`);
  console.log(["day", ...TABLES, "database"].map(cell).join(""));
  for (let day = 1; day <= days; day += 1) {
    const traffic = { type: TYPE, jobsPerDay, jobsPerRequest: JOBS_PER_REQUEST };
    const report = await liveOneDay(deployment, traffic);
    if (report.failedSteps.length > 0 || report.more) throw new Error(JSON.stringify(report));
    if (day % DAYS_PER_LINE === 0 || day === days) await printLine(deployment, day);
  }
}

const cell = (text: string): string => text.padStart(21);

async function printLine(deployment: Deployment, day: number): Promise<void> {
  const counts = await countRows(deployment);
  const sizes = TABLES.map((table) => `pg_total_relation_size('${table}') as ${table}`);
  const [bytes = {}] = await deployment.query<Record<string, string>>(
    `select ${sizes.join(", ")}, pg_database_size(current_database()) as database`,
  );
  const megabytes = (name: string) => (Number(bytes[name]) / 1e6).toFixed(1);
  const cells = TABLES.map((table) => `${counts[table]} ${megabytes(table)}`);
  console.log(
    [day, ...cells, megabytes("database")].map((each) => `${each}`.padStart(19)).join(""),
  );
}

function deploymentOn({ client, database, env }: Stage, qstash: Qstash): Deployment {
  const daily = defineJob({ type: TYPE, payload: z.unknown(), run: () => null });
  const config = readConfig({ ...env, ...environmentOf(qstash) }, "node");
  const app = compose(config, new Map([[TYPE, daily]]), {
    ...webPlatform,
    outboundFetch: fetch,
    writeLog: () => {},
  });
  const query = async <Row>(text: string, params: unknown[] = []) =>
    (await client.query(text, params)).rows as Row[];
  return {
    store: createStore(database),
    query,
    async advance(seconds) {
      await query("update clock.offset_by set value = value + make_interval(secs => $1)", [
        seconds,
      ]);
    },
    sweep: () => app.sweep(),
  };
}

function environmentOf({ url, token, keys }: Qstash): Record<string, string> {
  return {
    QSTASH_URL: url,
    QSTASH_TOKEN: token,
    QSTASH_CURRENT_SIGNING_KEY: keys().current,
    QSTASH_NEXT_SIGNING_KEY: keys().next,
    PUBLIC_URL: "http://bench.test",
    API_KEYS: "bench:admin:bench-secret-000000",
  };
}

await main();
