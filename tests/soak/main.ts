/** `npm run soak`: hours of bad weather in minutes, then quiet, then the books are compared. */

import { setTimeout as delay } from "node:timers/promises";
import { type Evidence, readEvidence } from "./attempts.js";
import { createCall, nothingTold, runClients, type Told } from "./clients.js";
import { readFigures } from "./figures.js";
import { readJournal } from "./journal.js";
import { type Actions, resumeAll, runOperators, runSweeps } from "./operators.js";
import { commandLine, HELP, readOptions, type SoakOptions } from "./options.js";
import { comeToRest, type Quiet } from "./quiet.js";
import { createRandom, type Random } from "./random.js";
import { printReport } from "./report.js";
import { type Stage, startStage } from "./stage.js";
import {
  effectFaults,
  historyFaults,
  overlaps,
  resultFaults,
  runsTwice,
} from "./verdict-journal.js";
import { atMostOnceEffects, promiseFaults, rowFaults, watchDedupeKeys } from "./verdict-rows.js";
import { type Damage, runWeather } from "./weather.js";

/** Everything that was counted on the way. */
export interface Course {
  told: Told;
  actions: Actions;
  damage: Damage;
  dedupeFaults: Set<string>;
  quiet: Quiet;
}

async function main(): Promise<void> {
  const options = readOptions(process.argv.slice(2));
  if (!options) {
    console.log(HELP);
    return;
  }
  console.log(commandLine(options));
  const random = createRandom(options.seed);
  const stage = await startStage(options, random);
  const interrupted = () => void stage.close().then(() => process.exit(130));
  process.once("SIGINT", interrupted).once("SIGTERM", interrupted);
  let faults: string[];
  try {
    const course = await runCourse(stage, options, random);
    const evidence = readEvidence(readJournal(stage.journalPath));
    faults = await judge(stage, course, evidence);
    printReport(await readFigures(stage, course, evidence), faults, options);
  } finally {
    await stage.close();
  }
  if (faults.length > 0) process.exitCode = 1;
}

async function runCourse(stage: Stage, options: SoakOptions, random: Random): Promise<Course> {
  const told = nothingTold();
  const course: Course = {
    told,
    actions: new Map(),
    damage: { databaseOutages: 0, qstashOutages: 0, earlyWindows: 0 },
    dedupeFaults: new Set(),
    quiet: { realSeconds: 0, skippedSeconds: 0, unfinished: 0 },
  };
  const call = createCall(stage.fleet, random.fork("calls"), told);
  const tools = (name: string) => ({ ...stage, call, told, random: random.fork(name) });
  const stop = AbortSignal.timeout(options.minutes * 60_000);
  const end = new AbortController();
  const watch = watchUntil(stage, course.dedupeFaults, end.signal);
  // Where the course breaks off, the watch may find its database closed.
  watch.catch(() => {});
  await Promise.all([
    runClients(tools("clients"), options.rate, stop),
    runOperators(tools("operators"), course.actions, stop),
    runSweeps(tools("sweeps"), stop),
    runWeather(stage, random.fork("weather"), course.damage, stop),
    showProgress(stage, told, stop),
  ]);
  await resumeAll(call);
  course.quiet = await comeToRest(stage, tools("quiet"));
  end.abort();
  await watch;
  return course;
}

async function watchUntil(stage: Stage, faults: Set<string>, end: AbortSignal): Promise<void> {
  while (!end.aborted) {
    await watchDedupeKeys(stage.pool, faults);
    await delay(200);
  }
}

async function showProgress(stage: Stage, told: Told, stop: AbortSignal): Promise<void> {
  const startedMs = performance.now();
  while (!stop.aborted) {
    await delay(10_000, undefined, { signal: stop }).catch(() => {});
    const seconds = Math.round((performance.now() - startedMs) / 1000);
    const { deliveries } = stage.qstash.counts();
    console.log(`  ${seconds} s: ${told.jobIds.size} jobs accepted, ${deliveries} deliveries`);
  }
}

async function judge(stage: Stage, course: Course, evidence: Evidence): Promise<string[]> {
  const { pool } = stage;
  return [
    ...course.dedupeFaults,
    ...(await promiseFaults(pool, course.told)),
    ...(await rowFaults(pool)),
    ...overlaps(evidence),
    ...runsTwice(evidence),
    ...effectFaults(evidence, await atMostOnceEffects(pool)),
    ...(await historyFaults(pool, evidence)),
    ...(await resultFaults(pool, evidence)),
    ...evidence.complaints.map((text) => `an unexpected error in ${text}`),
  ];
}

main().catch((error: unknown) => {
  console.error(error);
  // Clients and operators may still be trying.
  process.exit(1);
});
