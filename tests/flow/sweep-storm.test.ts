import { describe, expect, test } from "vitest";
import type { SweepReport } from "../../src/engine/begin-sweep.js";
import {
  countByStatus,
  insertWaiting,
  loseMessages,
  messagesOf,
  runInSql,
  sweepFor,
  sweepType,
  TYPE,
} from "../support/sweep-jobs.js";
import { setUpSweeps } from "../support/sweep-world.js";

const stage = setUpSweeps();

const published = (reports: SweepReport[]): number =>
  reports.reduce((sum, report) => sum + report.published + report.vanished + report.probes, 0);

describe("an honest backlog is no storm of messages", () => {
  test("10,000 jobs behind flow control for an hour: at most 10 a sweep and a tenth of what ran", async () => {
    const world = await stage.start({ jobs: [sweepType()] });
    await insertWaiting(world, { count: 10_000 });
    const reports = await sweepFor(world, { minutes: 60, everyMinutes: 5 }, async () => {
      loseMessages(world);
      await runInSql(world, 400, 299);
    });

    for (const [at, report] of reports.entries()) {
      expect(report, `sweep ${at}`).toMatchObject({ published: 0, probes: 0 });
      expect(report.vanished, `sweep ${at}`).toBeLessThanOrEqual(10 + 400 / 10);
    }
    expect(published(reports)).toBeLessThanOrEqual(12 * 10 + (12 * 400) / 10);
    expect(await countByStatus(world)).toEqual({ completed: 4800, queued: 5200 });
  });

  test("with real messages behind a rate limit every job runs once, whatever the sweeps add", async () => {
    let runs = 0;
    const limited = sweepType({
      flowControl: { rate: 4, periodSeconds: 60 },
      run: () => {
        runs += 1;
        return null;
      },
    });
    const world = await stage.start({ jobs: [limited] });
    const jobs = Array.from({ length: 70 }, (_, n) => ({ type: TYPE, payload: { n } }));
    expect((await world.request("POST", "/api/jobs/batch", { jobs })).status).toBe(202);
    const reports: SweepReport[] = [];
    for (let minute = 0; minute < 15; minute += 1) {
      await world.qstash.deliverDue();
      if (minute % 5 === 4) reports.push(await world.sweep());
      await world.advance(60);
    }
    expect(runs).toBe(60);
    expect(published(reports)).toBeLessThanOrEqual(10 + 2 * (10 + 2));

    await world.runUntilIdle(3600);
    expect(runs).toBe(70);
    expect(await countByStatus(world)).toEqual({ completed: 70 });
  });

  test("10,000 jobs scheduled for 09:00: nothing is repeated before, and little while they run", async () => {
    const world = await stage.start({ jobs: [sweepType()] });
    await insertWaiting(world, { count: 10_000, dueInSeconds: 1800 });
    const before = await sweepFor(world, { minutes: 30, everyMinutes: 15 });
    expect(published(before)).toBe(0);

    const reports = await sweepFor(world, { minutes: 25, everyMinutes: 5 }, () =>
      runInSql(world, 2000, 299),
    );
    expect(published(reports)).toBeLessThanOrEqual(5 * (10 + 200));
    expect(await countByStatus(world)).toEqual({ completed: 10_000 });
  });
});

describe("jobs whose messages were lost together", () => {
  test("1,200 jobs scheduled for 09:00: a probe, then each is published once, at most 500 a sweep", async () => {
    const world = await stage.start({ jobs: [sweepType()] });
    await insertWaiting(world, { count: 1200, dueInSeconds: 1800, everySeconds: 0.01 });
    await sweepFor(world, { minutes: 30, everyMinutes: 15 });
    const reports: SweepReport[] = [];
    for (let sweeps = 0; sweeps < 5; sweeps += 1) {
      await world.advance(300);
      reports.push(await world.sweep());
      await world.advance(300);
      // What was published ran long before the next sweep: the type is still again.
      const arrived = messagesOf(world).length;
      loseMessages(world);
      if (arrived > 0) await runInSql(world, arrived, 200);
    }
    expect(reports.map(({ probes }) => probes)).toEqual([1, 0, 0, 0, 0]);
    expect(reports.map(({ vanished }) => vanished)).toEqual([0, 500, 500, 199, 0]);
    expect(await countByStatus(world)).toEqual({ completed: 1200 });
  });
});

describe("refused callbacks", () => {
  test.each([
    { status: 401, hours: 24, everyMinutes: 60 },
    { status: 503, hours: 4, everyMinutes: 10 },
  ])(
    "$hours hours of deliveries answered $status: only probes go out, and after the repair every job runs once",
    async ({ status, hours, everyMinutes }) => {
      let runs = 0;
      const counted = sweepType({
        run: () => {
          runs += 1;
          return null;
        },
      });
      const world = await stage.start({ jobs: [counted] });
      await insertWaiting(world, { count: 40, published: false, everySeconds: 0.1 });
      const deliver = async (): Promise<void> => {
        await world.qstash.deliverDue();
      };
      const serve = world.answer;
      world.answer = async () => new Response("broken deployment", { status });
      expect(await world.sweep()).toMatchObject({ published: 40 });

      const reports = await sweepFor(world, { minutes: hours * 60, everyMinutes }, deliver);
      // Six within the first hour (1, 2, 4 … 32 minutes apart), then one an hour.
      const probes = reports.reduce((sum, report) => sum + report.probes, 0);
      expect(probes).toBeLessThanOrEqual(6 + hours);
      expect(published(reports)).toBe(probes);
      expect(world.qstash.counts().messages).toBe(40 + probes);

      world.answer = serve;
      await sweepFor(world, { minutes: 105, everyMinutes: 15 }, deliver);
      await deliver();
      expect(runs).toBe(40);
      expect(await countByStatus(world)).toEqual({ completed: 40 });
      expect(messagesOf(world)).toEqual([]);
    },
  );
});
