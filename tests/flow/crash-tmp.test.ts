import { test } from "vitest";
import { createOutside, crashJob } from "../support/crash-jobs.js";
import { SCENARIOS } from "../support/crash-scenarios.js";
import { createStage, POINT_FAULTS } from "../support/crash-stage.js";
import { createWorld } from "../support/world.js";

import { Session } from "node:inspector/promises";
import { writeFileSync } from "node:fs";
import { vi } from "vitest";
test("explore", async () => {
  vi.spyOn(console, "warn").mockImplementation(() => {});
  const prof = new Session(); prof.connect(); await prof.post("Profiler.enable"); await prof.post("Profiler.start");
  const cpu0 = process.cpuUsage();
  const outside = createOutside();
  const typeOf = (i: number) => `crash.s${i}`;
  const world = await createWorld({ jobs: SCENARIOS.map((s, i) => crashJob(typeOf(i), s.handler, outside)) });
  for (const [i, s] of SCENARIOS.entries()) {
    if (process.env.ONLY && !s.name.includes(process.env.ONLY)) continue;
    const t0 = performance.now();
    const before = world.qstash.counts();
    const stage = createStage(world, { type: typeOf(i), outside });
    try { await s.play(stage); } catch (e) { console.log(s.name, "CLEAN FAILED", e); continue; }
    const t1 = performance.now();
    console.log(s.name, stage.calls.length, stage.calls.join(" "), "sweeps", stage.sweeps, "messages", world.qstash.counts().messages - before.messages, "ms", Math.round(t1 - t0));
    const N = stage.calls.length;
    let points = 0;
    const failures: string[] = [];
    let maxS = 0; let maxM = 0;
    for (let n = 1; n <= N; n++) for (const fault of POINT_FAULTS) {
      points++;
      await world.advance(7200);
      const b = world.qstash.counts().messages;
      const st = createStage(world, { type: typeOf(i), outside, point: { number: n, fault } });
      try { await s.play(st); } catch (e) { failures.push(`${n} ${stage.calls[n-1]} ${fault}: ${(e as Error).message.slice(0, 300)}`); st.loseMessages(); }
      const r = await world.database.pg.query("select status, last_error->>'code' as code, count(*)::int from jobs where idempotency_key = any($1) group by 1,2", [st.keys]);
      const ok = r.rows.every((x) => x.status === s.ends || (s.mayDoubt && x.code === "effect_unknown"));
      if (!ok) failures.push(`${n} ${stage.calls[n-1]} ${fault}: END ${JSON.stringify(r.rows)}`);
      maxS = Math.max(maxS, st.sweeps); maxM = Math.max(maxM, world.qstash.counts().messages - b);
      await world.qstash.runUntilIdle({onAdvance: (ms) => world.database.advance(ms/1000)});
    }
    console.log("   points", points, "reqs", world.database.neon.requests, "cpu", JSON.stringify(process.cpuUsage(cpu0)), world.logs.length, JSON.stringify(world.qstash.counts()), "ms", Math.round(performance.now() - t1), "maxSweeps", maxS, "maxMessages", maxM, failures.length ? failures : "");
  }
  const { profile } = await prof.post("Profiler.stop"); writeFileSync("/tmp/x/prof/p.json", JSON.stringify(profile));
  console.log("CPU", process.cpuUsage(cpu0));
  await world.close();
}, 600000);
