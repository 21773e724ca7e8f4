/** What goes wrong: kills, databases that go away, a QStash that refuses, messages that misbehave. */

import { setTimeout as delay } from "node:timers/promises";
import type { Fault } from "../../dev/neon/faults.js";
import type { NeonStandIn } from "../../dev/neon/server.js";
import type { Random } from "./random.js";
import type { Stage } from "./stage.js";

/** What was done to the stage. */
export interface Damage {
  databaseOutages: number;
  qstashOutages: number;
  earlyWindows: number;
}

/** Makes bad weather until told to stop, and then good weather. */
export async function runWeather(
  stage: Stage,
  random: Random,
  damage: Damage,
  stop: AbortSignal,
): Promise<void> {
  const { qstash, deliveries, neons } = stage;
  qstash.setFaults({ duplicateRate: 0.05, dropRate: 0.02, loseAnswerRate: 0.04, shuffle: true });
  deliveries.faults = { lateRate: 0.05, lateMsMax: 1500, copyRate: 0.03 };
  const rolls = new Map(neons.map((neon, n) => [neon, random.fork(`answers ${n}`)]));
  const unsteady = (neon: NeonStandIn): void => {
    const roll = rolls.get(neon) ?? random;
    neon.setFault({ action: "lose-answer", matching: () => roll.happens(0.01) });
  };
  for (const neon of neons) unsteady(neon);
  await Promise.all([
    repeat(random.fork("kills"), stop, [2500, 7500], async (chance) => {
      stage.fleet.kill(chance.integer(0, stage.fleet.size - 1));
    }),
    repeat(random.fork("databases"), stop, [3000, 9000], async (chance) => {
      damage.databaseOutages += 1;
      const struck = chance.happens(0.3) ? neons : [chance.pick(neons)];
      const fault = pickDatabaseFault(chance);
      for (const neon of struck) neon.setFault(fault);
      await delay(chance.between(200, 1500), undefined, { signal: stop }).catch(() => {});
      for (const neon of struck) unsteady(neon);
    }),
    repeat(random.fork("qstash"), stop, [4000, 10_000], async (chance) => {
      damage.qstashOutages += 1;
      qstash.refusePublishes(chance.pick([{ status: 503 }, { status: 429 }, "hang", "cut"]));
      await delay(chance.between(500, 5000), undefined, { signal: stop }).catch(() => {});
      qstash.refusePublishes(null);
    }),
    repeat(random.fork("early"), stop, [5000, 12_000], async (chance) => {
      damage.earlyWindows += 1;
      qstash.setFaults({ earlySeconds: chance.pick([3, 20, 120]) });
      await delay(chance.between(500, 2000), undefined, { signal: stop }).catch(() => {});
      qstash.setFaults({ earlySeconds: 0 });
    }),
  ]);
  await clear(stage);
}

async function clear({ qstash, deliveries, neons, fleet }: Stage): Promise<void> {
  for (const neon of neons) neon.setFault(null);
  qstash.refusePublishes(null);
  qstash.setFaults({
    duplicateRate: 0,
    dropRate: 0,
    loseAnswerRate: 0,
    earlySeconds: 0,
    shuffle: false,
  });
  deliveries.faults = { lateRate: 0, lateMsMax: 0, copyRate: 0 };
  await fleet.allUp();
}

function pickDatabaseFault(chance: Random): Fault {
  return chance.pick([
    { action: "refuse" },
    { action: "hang" },
    { action: "status", status: 503 },
    { action: "lose-answer", matching: () => chance.happens(0.5) },
  ]);
}

async function repeat(
  random: Random,
  stop: AbortSignal,
  [low, high]: [number, number],
  once: (random: Random) => Promise<void>,
): Promise<void> {
  while (!stop.aborted) {
    await delay(random.between(low, high), undefined, { signal: stop }).catch(() => {});
    if (!stop.aborted) await once(random);
  }
}
