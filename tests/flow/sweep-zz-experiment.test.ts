import { test } from "vitest";
import { insertWaiting, runInSql, sweepFor, sweepType, countByStatus, messagesOf, loseMessages } from "../support/sweep-jobs.js";
import { setUpSweeps } from "../support/sweep-world.js";
const stage = setUpSweeps();

test("slow flow control", async () => {
  const world = await stage.start({ jobs: [sweepType()] });
  await insertWaiting(world, { count: 10_000 });
  const t = Date.now();
  const reports = await sweepFor(world, { minutes: 360, everyMinutes: 5 }, async () => {
    await world.database.advance(70);
    // two claims 150 s apart, the last 70 s ago
    await runInSql(world, 2, 300);
    await world.query("update job_attempts set started_at = started_at - interval '70 s', finished_at = finished_at - interval '70 s' where finished_at > now() - interval '60 s'");
  });
  console.log("slow", Date.now() - t, "ms", reports.map((r) => r.vanished + r.probes).join(" "), world.qstash.counts());
}, 120000);

test.each([1, 5, 15])("mass vanish, sweep every %s min", async (every) => {
  const world = await stage.start({ jobs: [sweepType()] });
  await insertWaiting(world, { count: 10_000 });
  const t = Date.now();
  const reports = await sweepFor(world, { minutes: 180, everyMinutes: every }, async () => {
    // all messages that came run at once
    const n = messagesOf(world).length;
    loseMessages(world);
    if (n > 0) await runInSql(world, n, Math.min(30, every * 60));
  });
  console.log("vanish", every, Date.now() - t, "ms", reports.map((r) => r.vanished + r.probes).join(" "), await countByStatus(world));
}, 120000);
