import { expect, test, vi } from "vitest";
import { faultsOf } from "../support/crash-checks.js";
import { POINT_FAULTS, type Point } from "../support/crash-faults.js";
import { crashJob, createOutside } from "../support/crash-jobs.js";
import { JOB_SCENARIOS, RECOVERY_SCENARIOS } from "../support/crash-scenarios.js";
import { createStage } from "../support/crash-stage.js";
import { createWorld } from "../support/world.js";

const ALL = [...JOB_SCENARIOS, ...RECOVERY_SCENARIOS];
test("explore", async () => {
  vi.spyOn(console, "warn").mockImplementation(() => {});
  const outside = createOutside();
  const world = await createWorld({
    jobs: ALL.map((s, i) => crashJob(`crash.s${i}`, s.handler, outside)),
  });
  let seed = Number(process.env.SEED ?? 1);
  const rnd = () => {
    seed = (seed * 1103515245 + 12345) & 0x7fffffff;
    return seed / 0x7fffffff;
  };
  const K = Number(process.env.K ?? 2);
  const end = performance.now() + Number(process.env.SECS ?? 100) * 1000;
  let runs = 0;
  let maxS = 0,
    maxM = 0;
  const found: string[] = [];
  while (performance.now() < end) {
    const i = Math.floor(rnd() * ALL.length);
    const s = ALL[i];
    if (!s) continue;
    const points: Point[] = Array.from({ length: K }, () => ({
      number: 1 + Math.floor(rnd() * 24),
      fault: POINT_FAULTS[Math.floor(rnd() * 6)] ?? "fail",
    }));
    await world.advance(7200);
    const b = world.qstash.counts().messages;
    const stage = createStage(world, { type: `crash.s${i}`, outside, points });
    let faults: string[] = [];
    try {
      await s.play(stage);
      faults = await faultsOf(stage, s);
    } catch (e) {
      faults.push(String(e).slice(0, 500));
      stage.loseMessages();
    }
    const m = world.qstash.counts().messages - b;
    maxS = Math.max(maxS, stage.sweeps);
    maxM = Math.max(maxM, m);
    if (stage.sweeps > 8 || m > 14) faults.push(`sweeps ${stage.sweeps} messages ${m}`);
    runs++;
    if (faults.length)
      found.push(
        `${s.name} ${JSON.stringify(points)} ${faults.join("; ")} CALLS ${stage.calls.join(" ")}`,
      );
  }
  console.log(
    "RUNS",
    runs,
    "maxS",
    maxS,
    "maxM",
    maxM,
    found.length,
    found.slice(0, 15).join("\n"),
  );
  await world.close();
  expect(1).toBe(1);
}, 600000);
