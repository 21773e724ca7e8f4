/** Loops over every call of a scenario and every fault there, and demands the same end. */

import { afterAll, beforeAll, beforeEach, expect, test, vi } from "vitest";
import { faultsOf } from "./crash-checks.js";
import { POINT_FAULTS, type Point } from "./crash-faults.js";
import { crashJob, createOutside } from "./crash-jobs.js";
import type { Scenario } from "./crash-scenarios.js";
import { createStage } from "./crash-stage.js";
import { createWorld, type World } from "./world.js";

/** One fault may cost a message in vain, and the probe of a silent type another. */
const MESSAGES_MORE_MAX = 2;
/** A silent type is probed by one sweep, and its vanished messages are published by the next (I9). */
const SWEEPS_MORE_MAX = 2;
/** Between two runs: nothing that a sweep knows of the type is recent any more. */
const REST_SECONDS = 7200;
const TIMEOUT_MS = 120_000;

/** What a run cost. */
interface Run {
  calls: readonly string[];
  messages: number;
  sweeps: number;
  faults: string[];
}

/** Makes one test of each scenario; prints how many points they covered together. */
export function crashSweep(title: string, scenarios: Scenario[]): void {
  const outside = createOutside();
  const types = scenarios.map((scenario, at) => ({ type: `crash.scenario_${at}`, scenario }));
  let world: World;
  let points = 0;
  let calls = 0;

  const play = async (
    { type, scenario }: (typeof types)[number],
    points: Point[],
  ): Promise<Run> => {
    await world.advance(REST_SECONDS);
    const messagesBefore = world.qstash.counts().messages;
    const stage = createStage(world, { type, outside, points });
    const faults: string[] = [];
    try {
      await scenario.play(stage);
      faults.push(...(await faultsOf(stage, scenario)));
    } catch (error) {
      faults.push(String(error));
      stage.loseMessages();
    }
    const messages = world.qstash.counts().messages - messagesBefore;
    return { calls: stage.calls, sweeps: stage.sweeps, messages, faults };
  };

  // The client of QStash reports every refusal there, and refusals are what this is about.
  beforeEach(() => void vi.spyOn(console, "error").mockImplementation(() => {}));
  beforeAll(async () => {
    const jobs = types.map(({ type, scenario }) => crashJob(type, scenario.handler, outside));
    world = await createWorld({ jobs });
  });
  afterAll(async () => {
    console.log(`${title}: ${points} points at ${calls} calls of ${scenarios.length} scenarios`);
    await world.close();
  });

  test.each(types)(
    "$scenario.name ends as ever, wherever a fault strikes",
    async (each) => {
      const clean = await play(each, []);
      expect(clean.faults).toEqual([]);
      calls += clean.calls.length;
      const found: string[] = [];
      for (const [at, call] of clean.calls.entries()) {
        for (const fault of POINT_FAULTS) {
          const run = await play(each, [{ number: at + 1, fault }]);
          points += 1;
          if (run.messages > clean.messages + MESSAGES_MORE_MAX) {
            run.faults.push(`${run.messages} messages instead of ${clean.messages}`);
          }
          if (run.sweeps > clean.sweeps + SWEEPS_MORE_MAX) {
            run.faults.push(`${run.sweeps} sweeps instead of ${clean.sweeps}`);
          }
          found.push(...run.faults.map((text) => `${fault} at ${at + 1} (${call}): ${text}`));
        }
      }
      expect(found).toEqual([]);
    },
    TIMEOUT_MS,
  );
}
