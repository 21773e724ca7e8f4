import { beforeEach, describe, expect, test } from "vitest";
import type { AlertThresholds } from "../../src/core/monitoring.js";
import type { Store } from "../../src/core/ports.js";
import { GATE_CONDITION, setUpRace } from "../support/race.js";
import { COMPLETED, finishAs, queued, running, TYPE } from "../support/race-jobs.js";
import type { Edit } from "../support/race-session.js";

const race = setUpRace();
const SWEEPS = 5;
const LOCK = "for update skip locked";

beforeEach(async () => {
  await race.direct.recordSweep();
});

/** Attempts that ended a second apart, the last of them a minute ago. */
async function ended(count: number): Promise<void> {
  await race.database.pg.query(
    `insert into job_attempts (job_id, lock_token, number, job_type, started_at, finished_at, outcome)
     select gen_random_uuid(), gen_random_uuid(), 1, $2, at, at, 'completed'
     from generate_series(1, $1::int) n, lateral (select now() - interval '1 minute' - n * interval '1 second') t(at)`,
    [count, TYPE],
  );
}

/** What the two kinds of counters say of ended attempts. */
async function counted(): Promise<{ minutes: number; totals: number }> {
  const sumOf = async (table: string): Promise<number> => {
    const [row] = await race.rows<{ sum: number }>(
      `select coalesce(sum(count), 0)::int as sum from ${table} where measure = 'attempt'`,
    );
    return row?.sum ?? 0;
  };
  return { minutes: await sumOf("job_stats"), totals: await sumOf("stat_totals") };
}

describe("each attempt is counted once", () => {
  test("by five sweeps at once, in batches", async () => {
    await ended(2000);
    const isLeft = () =>
      race.count(
        "job_attempts, sweep_state where finished_at > coalesce(rolled_up_to, '-infinity')",
      );
    const untilNothingIsLeft = async (store: Store) => {
      let attempts = 0;
      while ((await isLeft()) > 0) attempts += (await store.rollUpStats(150)).attempts;
      return attempts;
    };
    const sweeps = Array.from({ length: SWEEPS }, () => untilNothingIsLeft(race.store));
    const attempts = (await Promise.all(sweeps)).reduce((sum, each) => sum + each, 0);

    expect(attempts).toBe(2000);
    expect(await counted()).toEqual({ minutes: 2000, totals: 2000 });
  });

  test.each([
    { end: "commit" as const, left: 0 },
    { end: "rollback" as const, left: 10 },
  ])("beside a sweep that is at it ($end), which nobody waits for", async ({ end, left }) => {
    await ended(10);
    const held = await race.begin();
    expect(await held.store.rollUpStats(100)).toEqual({ attempts: 10, more: false });
    expect(await race.store.rollUpStats(100)).toEqual({ attempts: 0, more: false });
    await held[end]();

    expect(await race.store.rollUpStats(100)).toEqual({ attempts: left, more: false });
    expect(await counted()).toEqual({ minutes: 10, totals: 10 });
  });

  /** Waits with the snapshot that it took, before it comes to the watermark's row. */
  const gate: Edit = {
    statement: "roll-up-stats",
    cut: `where id ${LOCK}`,
    into: `where id and ${GATE_CONDITION} ${LOCK}`,
  };

  test.each([
    { name: "with the lock", edits: [gate], expected: 10 },
    // A control: what the lock is for.
    {
      name: "control: without it twice",
      edits: [gate, { statement: "roll-up-stats", cut: LOCK }],
      expected: 20,
    },
  ])("also by a sweep whose snapshot is older than the watermark, $name", async (given) => {
    await ended(10);
    const closed = await race.closeGate();
    const stale = (await race.edited(given.edits)).rollUpStats(100);
    await race.waiting(1);
    expect(await race.direct.rollUpStats(100)).toMatchObject({ attempts: 10 });
    await closed.commit();
    await stale;

    expect(await counted()).toEqual({ minutes: given.expected, totals: given.expected });
  });

  test.each([
    { name: "is not passed by", edits: [], expected: 1 },
    {
      name: "control: would be lost without the time to settle",
      edits: [{ statement: "roll-up-stats", cut: "interval '30 seconds'", into: "interval '0'" }],
      expected: 0,
    },
  ])("an attempt whose finish is being committed $name", async ({ edits, expected }) => {
    const attempt = await running(race);
    const held = await race.begin();
    await finishAs(held.store, attempt, COMPLETED);
    await race.database.advance(8);
    await (await race.edited(edits)).rollUpStats(100);
    await held.commit();
    await race.database.advance(60);
    await race.store.rollUpStats(100);

    expect(await counted()).toEqual({ minutes: expected, totals: expected });
  });

  test("an attempt that ends at the same instant as the last of a batch goes with it", async () => {
    await ended(10);
    await race.database.pg.query("update job_attempts set finished_at = now() - interval '1 hour'");
    expect(await race.store.rollUpStats(3)).toMatchObject({ attempts: 10 });
    expect(await race.store.rollUpStats(3)).toEqual({ attempts: 0, more: false });
  });

  test("retention waits for the roll-up that another sweep has not committed yet", async () => {
    const attempt = await running(race);
    await finishAs(race.direct, attempt, COMPLETED);
    await race.database.advance(15 * 86_400);
    const prune = () => race.store.pruneJobs({ finishedDays: 14, deadLetterDays: 90 }, 10);
    const held = await race.begin();
    await held.store.rollUpStats(100);
    expect(await prune()).toBe(0);
    await held.commit();
    expect(await prune()).toBe(1);
    expect((await counted()).totals).toBe(1);
  });
});

describe("an incident", () => {
  const THRESHOLDS: AlertThresholds = {
    backlogAgeSeconds: 600,
    deadLetters: 0,
    expiredLeases: 0,
    publishFailures: 0,
  };

  test("is opened once and taken once by five sweeps at once, and so is its end", async () => {
    await queued(race);
    await race.database.advance(700);
    const fiveSweeps = async () =>
      (
        await Promise.all(
          Array.from({ length: SWEEPS }, () => race.store.takeAlerts(THRESHOLDS, 10)),
        )
      ).flat();
    const opened = await fiveSweeps();
    expect(opened).toMatchObject([{ phase: "opened", kind: "backlog_age", type: TYPE }]);
    await race.store.markAlertTold(opened[0]?.id ?? "", "opened");
    await race.database.pg.query("delete from jobs");

    expect(await fiveSweeps()).toMatchObject([{ id: opened[0]?.id, phase: "recovered" }]);
    expect(await race.count("alerts")).toBe(1);
  });

  test.each([
    { end: "commit" as const, notices: 0 },
    { end: "rollback" as const, notices: 1 },
  ])("that another sweep opens ($end) gives $notices notices here", async ({ end, notices }) => {
    await queued(race);
    await race.database.advance(700);
    const held = await race.begin();
    expect(await held.store.takeAlerts(THRESHOLDS, 10)).toHaveLength(1);
    const second = race.store.takeAlerts(THRESHOLDS, 10);
    await race.waiting(1);
    await held[end]();

    expect(await second).toHaveLength(notices);
    expect(await race.count("alerts")).toBe(1);
  });
});
