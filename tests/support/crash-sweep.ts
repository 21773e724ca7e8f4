/** Loops over every call of a scenario and every fault there, and demands the same end. */

import fc from "fast-check";
import { afterAll, beforeAll, expect, test } from "vitest";
import { lookAtEnd } from "./crash-checks.js";
import { POINT_FAULTS, type Point, type PointFault } from "./crash-faults.js";
import { crashJob, createOutside } from "./crash-jobs.js";
import type { Scenario } from "./crash-scenarios.js";
import { createStage } from "./crash-stage.js";
import { createWorld, type World } from "./world.js";

/** One fault may cost the probe of a silent type, besides a message in vain for each job. */
const MESSAGES_MORE_MAX = 1;
/** A silent type is probed by one sweep, and its vanished messages are published by the next (I9). */
const SWEEPS_MORE_MAX = 2;
/** Between two runs: no claim of the type is recent any more. */
const REST_SECONDS = 7200;
/** Steps of a sweep that look at no job which waits or runs: they find the same in every story. */
const HOUSEKEEPING = new Set([
  ...["store.recordSweep", "store.takeAlerts", "store.dueSchedules", "store.rollUpStats"],
  ...["store.purgeIdempotencyRecords", "store.pruneJobs", "store.pruneMonitoring"],
]);
/** Later than most calls of any scenario; a fault beyond the last call strikes nothing. */
const LATE_CALL = 20;
const OTHER_FAULT_EVERY = 3;
const TIMEOUT_MS = 120_000;

/**
 * The faults tried at a call: a crash, before its work or after, in turn, and at every third call one
 * of the four others, so that the whole stays within the time of `npm test`. CRASH_FAULTS=all tries
 * every fault at every call.
 */
function faultsAt(number: number): readonly PointFault[] {
  if (process.env.CRASH_FAULTS === "all") return POINT_FAULTS;
  const others = POINT_FAULTS.filter((fault) => !fault.startsWith("crash"));
  const other =
    number % OTHER_FAULT_EVERY === 0
      ? others[(number / OTHER_FAULT_EVERY) % others.length]
      : undefined;
  return [number % 2 === 0 ? "crash_before" : "crash_after", ...(other ? [other] : [])];
}

/** What a run cost, and what was wrong at its end. */
interface Run {
  calls: readonly string[];
  jobs: number;
  attempts: number;
  messages: number;
  sweeps: number;
  faults: string[];
}

/** A world with a type for each scenario, and runs of them one after the other. */
interface Theatre {
  scenarios: (Scenario & { type: string })[];
  play(scenario: Scenario & { type: string }, points: Point[]): Promise<Run>;
}

/** Makes one test of each scenario; prints how many points they covered together. */
export function crashSweep(title: string, scenarios: Scenario[]): void {
  const theatre = setUpTheatre(scenarios);
  const kept = new Set<string>();
  let points = 0;
  let calls = 0;
  afterAll(() => {
    console.log(`${title}: ${points} points at ${calls} calls of ${scenarios.length} scenarios`);
  });

  test.each(theatre.scenarios)(
    "$name ends as ever, wherever a fault strikes",
    async (each) => {
      const clean = await theatre.play(each, []);
      expect(clean.faults).toEqual([]);
      expect(clean.sweeps).toBe(each.sweeps ?? 0);
      const found: string[] = [];
      for (const [at, call] of clean.calls.entries()) {
        if (HOUSEKEEPING.has(call) && kept.has(call)) continue;
        kept.add(call);
        calls += 1;
        points += faultsAt(at + 1).length;
        found.push(...(await strike(theatre, each, clean, at + 1)));
      }
      expect(found).toEqual([]);
    },
    TIMEOUT_MS,
  );
}

/** Strikes one call of a scenario with each fault; lists what was wrong at the ends. */
async function strike(
  theatre: Theatre,
  scenario: Theatre["scenarios"][number],
  clean: Run,
  number: number,
): Promise<string[]> {
  const found: string[] = [];
  for (const fault of faultsAt(number)) {
    const call = clean.calls[number - 1] ?? "";
    const run = await theatre.play(scenario, [{ number, fault }]);
    // What a client repeats by itself costs nothing but that call.
    const isFree = fault === "repeat";
    const costs = costsOf(run, clean, isFree ? 0 : 1);
    if (isFree && run.attempts !== clean.attempts) costs.push("another attempt");
    const faults = [...run.faults, ...costs];
    found.push(...faults.map((text) => `${fault} at ${number} (${call}): ${text}`));
  }
  return found;
}

/** Makes the tests that show that a crash sweep finds what it looks for. */
export function crashControls(): void {
  const story = { jobs: 1, ends: "completed" } as const;
  const theatre = setUpTheatre([
    {
      ...story,
      name: "an effect outside of the ledger",
      handler: "careless",
      play: async (stage) => {
        await stage.create();
        await stage.recover();
      },
    },
    {
      ...story,
      name: "deliveries alone",
      handler: "completes",
      play: async (stage) => {
        await stage.create();
        await stage.recover({ sweeps: false });
      },
    },
  ]);
  const [careless, unswept] = theatre.scenarios;

  test("control: an effect outside of the ledger happens twice", async () => {
    if (!careless) throw new Error("there are two scenarios");
    const clean = await theatre.play(careless, []);
    const found = await strike(theatre, careless, clean, clean.calls.indexOf("store.finish") + 1);
    expect(found.join()).toContain("crash_before at 4 (store.finish): second happened 2 times");
  });

  test("control: without sweeps a job is lost where its publish is", async () => {
    if (!unswept) throw new Error("there are two scenarios");
    const run = await theatre.play(unswept, [{ number: 2, fault: "crash_before" }]);
    expect(run.faults.join()).toContain("lost");
  });
}

/** Makes one test in which several faults strike each run, of any scenario. */
export function crashManyTimes(title: string, scenarios: Scenario[], runs: number): void {
  const theatre = setUpTheatre(scenarios);
  const point = fc.record({
    number: fc.integer({ min: 1, max: LATE_CALL }),
    fault: fc.constantFrom(...POINT_FAULTS),
  });
  const several = fc.array(point, { minLength: 2, maxLength: 4 });

  test(
    `${title}: ${runs} runs with up to four faults each end as ever`,
    async () => {
      const clean = new Map<Scenario, Run>();
      for (const each of theatre.scenarios) clean.set(each, await theatre.play(each, []));
      const scenario = fc.constantFrom(...theatre.scenarios);
      await fc.assert(
        fc.asyncProperty(scenario, several, async (each, points) => {
          const run = await theatre.play(each, points);
          expect(each.name + run.faults).toBe(each.name);
          expect(costsOf(run, clean.get(each) ?? run, points.length)).toEqual([]);
        }),
        // The same runs every time: chance found them, but must not decide whether the tests pass.
        { numRuns: runs, seed: 20_260_101, endOnFailure: true },
      );
    },
    TIMEOUT_MS,
  );
}

function costsOf(run: Run, clean: Run, faults: number): string[] {
  const costs: string[] = [];
  if (run.messages > clean.messages + faults * (run.jobs + MESSAGES_MORE_MAX)) {
    costs.push(`${run.messages} messages instead of ${clean.messages}`);
  }
  if (run.sweeps > clean.sweeps + faults * SWEEPS_MORE_MAX) {
    costs.push(`${run.sweeps} sweeps instead of ${clean.sweeps}`);
  }
  return costs;
}

function setUpTheatre(given: Scenario[]): Theatre {
  const outside = createOutside();
  const scenarios = given.map((each, at) => ({ ...each, type: `crash.scenario_${at}` }));
  let world: World;
  beforeAll(async () => {
    const jobs = scenarios.map(({ type, handler }) => crashJob(type, handler, outside));
    world = await createWorld({ jobs });
  });
  afterAll(() => world.close());

  return {
    scenarios,
    play: async (scenario, points) => {
      await world.advance(REST_SECONDS);
      const { rows } = await world.database.pg.query(
        "with gone as (delete from type_state) select now()::text as since",
      );
      const messagesBefore = world.qstash.counts().messages;
      const { type } = scenario;
      const stage = createStage(world, { type, outside, points, since: rows[0].since });
      const end = await scenario
        .play(stage)
        .then(() => lookAtEnd(stage, scenario))
        .catch((error) => {
          stage.outage(false);
          stage.loseMessages();
          return { faults: [String(error)], attempts: 0 };
        });
      const messages = world.qstash.counts().messages - messagesBefore;
      const { calls, sweeps } = stage;
      return { calls, jobs: scenario.jobs, sweeps, messages, ...end };
    },
  };
}
