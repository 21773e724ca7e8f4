import { randomUUID } from "node:crypto";
import { describe, expect, test, vi } from "vitest";
import type { Store } from "../../src/core/ports.js";
import type { SweepReport } from "../../src/engine/begin-sweep.js";
import { claimFor, newTake } from "../support/store.js";
import {
  countByStatus,
  insertLost,
  insertWaiting,
  loseMessages,
  sweepType,
  TYPE,
} from "../support/sweep-jobs.js";
import { costOf, knownType } from "../support/sweep-plans.js";
import { type SweepWorld, setUpSweeps } from "../support/sweep-world.js";

const stage = setUpSweeps({ fresh: true });

/** Sweeps once, and counts the requests that left the instance. */
async function counted(world: SweepWorld): Promise<{ report: SweepReport; requests: number }> {
  const { neon } = world.database;
  neon.requests = 0;
  const before = world.qstash.counts().publishRequests;
  const report = await world.sweep();
  const requests = neon.requests + world.qstash.counts().publishRequests - before;
  return { report, requests };
}

describe("one sweep is bounded", () => {
  test.each([
    { calls: "15", overdue: 10_000, leastPerSweep: 500 },
    { calls: "40", overdue: 5000, leastPerSweep: 1500 },
  ])(
    "$overdue overdue jobs, $calls calls: never more requests, progress each time, the longest due first, nothing lost (N05)",
    async ({ calls, overdue, leastPerSweep }) => {
      const world = await stage.start({ jobs: [sweepType()], env: { SWEEP_MAX_CALLS: calls } });
      const ids = await insertWaiting(world, {
        count: overdue,
        published: false,
        dueInSeconds: -86_400,
        everySeconds: 1,
      });
      let published = 0;
      for (let sweeps = 1; sweeps <= 2; sweeps += 1) {
        const { report, requests } = await counted(world);
        expect(requests).toBeLessThanOrEqual(Number(calls));
        expect(report).toMatchObject({ publishFailures: 0, failedSteps: [], more: true });
        expect(report.published).toBeGreaterThanOrEqual(leastPerSweep);
        published += report.published;
        const left = await world.query<{ id: string }>(
          "select id from jobs where triggered_at is null order by next_run_at",
        );
        expect(left.map(({ id }) => id)).toEqual(ids.slice(published));
        loseMessages(world);
      }
    },
  );

  test("with everything to do at once it keeps to its calls, and each step gets its share of later sweeps", async () => {
    const world = await stage.start({ jobs: [sweepType()], env: { SWEEP_MAX_CALLS: "15" } });
    await insertLost(world, { count: 450 });
    await insertWaiting(world, { count: 900, published: false, dueInSeconds: -3600 });
    await insertWaiting(world, { count: 30, type: "test.other", dueInSeconds: -3600 });
    await world.query(
      `insert into idempotency_records (tenant, operation, idempotency_key, request_hash, owner,
         response_status, response_json, created_at, expires_at)
       select 'acme', 'op', n::text, 'hash', gen_random_uuid(), 202, '{}', now(), now()
       from generate_series(1, 50) as n`,
    );
    let sweeps = 0;
    let report: SweepReport;
    do {
      sweeps += 1;
      const swept = await counted(world);
      expect(swept.requests).toBeLessThanOrEqual(15);
      report = swept.report;
    } while (report.more && sweeps < 20);
    expect(sweeps).toBeGreaterThan(2);
    expect(sweeps).toBeLessThan(10);
    expect(await countByStatus(world)).toEqual({ failed: 450, queued: 930 });
    expect(await world.query("select count(*)::int from jobs where triggered_at is null")).toEqual([
      { count: 0 },
    ]);
    expect(await world.query("select count(*)::int from idempotency_records")).toEqual([
      { count: 0 },
    ]);
  });

  test("refused publishes count, tries included: it keeps to its calls in an outage, too", async () => {
    const world = await stage.start({ jobs: [sweepType()] });
    await insertLost(world, { count: 300 });
    await insertWaiting(world, { count: 2000, published: false, dueInSeconds: -3600 });
    await insertWaiting(world, { count: 5, type: "test.other", dueInSeconds: -3600 });
    world.qstash.refusePublishes({ status: 503 });
    const { report, requests } = await counted(world);
    expect(requests).toBeLessThanOrEqual(40);
    expect(report).toMatchObject({ leasesRecovered: 300, more: true, failedSteps: [] });
    expect(
      await world.query(
        "select count(*)::int from jobs where job_type = $1 and triggered_at is not null",
        [TYPE],
      ),
    ).toEqual([{ count: 0 }]);
  });

  test("a sweep whose time is up begins nothing more, and says that there is more", async () => {
    const world = await stage.start({ jobs: [sweepType()], env: { SWEEP_MAX_SECONDS: "10" } });
    await insertLost(world, { count: 3 });
    await insertWaiting(world, { count: 600, published: false });
    let nowMs = performance.now();
    const clock = vi.spyOn(performance, "now").mockImplementation(() => nowMs);
    // Every call takes three seconds.
    world.instance.ports.rule = () => {
      nowMs += 3000;
      return undefined;
    };
    const report = await world.sweep();
    clock.mockRestore();
    expect(report).toMatchObject({ leasesRecovered: 3, more: true });
    expect(world.instance.ports.calls.length).toBeLessThanOrEqual(6);
    world.instance.ports.rule = undefined;
    await world.sweep();
    expect(await world.query("select count(*)::int from jobs where triggered_at is null")).toEqual([
      { count: 0 },
    ]);
  });

  test("a step that fails is reported, and the others run all the same", async () => {
    const world = await stage.start({ jobs: [sweepType()] });
    await insertLost(world, { count: 2 });
    await insertWaiting(world, { count: 2, published: false });
    world.instance.ports.rule = ({ method }) =>
      ["recoverLeases", "takeVanished", "purgeIdempotencyRecords"].includes(method)
        ? "fail"
        : undefined;
    expect(await world.sweep()).toMatchObject({
      failedSteps: ["leases", "vanished", "idempotency_records"],
      leasesRecovered: 0,
      published: 2,
    });
    world.instance.ports.rule = undefined;
    expect(await world.sweep()).toMatchObject({ failedSteps: [], leasesRecovered: 2 });
  });

  test("a sweep with nothing to do makes a call a step, and none to QStash", async () => {
    const world = await stage.start({ jobs: [sweepType()] });
    await insertWaiting(world, { count: 10, dueInSeconds: 600 });
    const { report, requests } = await counted(world);
    expect(requests).toBeLessThanOrEqual(12);
    expect(world.qstash.counts().publishRequests).toBe(0);
    expect(report).toMatchObject({ more: false, published: 0, vanished: 0, probes: 0 });
    expect(await countByStatus(world)).toEqual({ queued: 10 });
  });
});

describe("a large backlog makes neither a sweep nor a claim slow (U01)", () => {
  test("15,000 jobs, nine tenths of them scheduled: every step reads by index, few pages", async () => {
    const world = await stage.start({ jobs: [sweepType()] });
    await insertWaiting(world, { count: 13_500, dueInSeconds: 3600, everySeconds: 1 });
    const [due = ""] = await insertWaiting(world, { count: 1500, dueInSeconds: -300 });
    await insertWaiting(world, { count: 300, dueInSeconds: 3600, published: false });
    await insertLost(world, { count: 20 });
    await world.query("vacuum analyze jobs");

    const nothing: [string, (store: Store) => Promise<unknown>][] = [
      ["no lease has expired", (store) => store.recoverLeases([knownType(TYPE)], newTake(0))],
      ["nothing is unpublished", (store) => store.takeUnpublished(newTake(500, [TYPE]))],
      ["nothing has vanished yet", (store) => store.takeVanished(newTake(500))],
      ["a silent type is probed", (store) => store.probeSilentTypes(newTake(100))],
      ["nothing fits a claim", (store) => store.claimDue([knownType("test.none")], randomUUID())],
      ["one is claimed", (store) => store.claimDue([knownType(TYPE)], randomUUID())],
      [
        "nothing is old",
        (store) => store.pruneJobs({ finishedDays: 14, deadLetterDays: 90 }, 1000),
      ],
    ];
    for (const [name, call] of nothing) {
      const { pages, scanned } = await costOf(world, call);
      expect(
        scanned.filter((table) => table === "jobs"),
        name,
      ).toEqual([]);
      expect(pages, name).toBeLessThan(200);
    }
    // An explained claim answers with no row, which it takes for a bug.
    const claimed = await costOf(world, (store) =>
      claimFor(store, { id: due, type: TYPE }).catch(() => {}),
    );
    expect(claimed.scanned.filter((table) => table === "jobs")).toEqual([]);
    expect(claimed.pages, "a delivery's claim").toBeGreaterThan(0);
    expect(claimed.pages, "a delivery's claim").toBeLessThanOrEqual(100);
    // What takes many rows pays for those it takes, whatever else waits.
    const taken = await costOf(world, (store) => store.takeUnpublished(newTake(100)));
    expect(taken.scanned.filter((table) => table === "jobs")).toEqual([]);
    expect(taken.pages / 100).toBeLessThan(80);
  });
});
