import { describe, expect, test } from "vitest";
import { insertWaiting, loseMessages, messagesOf, sweepType, TYPE } from "../support/sweep-jobs.js";
import { type SweepWorld, setUpSweeps } from "../support/sweep-world.js";
import { KEYS } from "../support/world.js";

const stage = setUpSweeps({ fresh: true });

interface DeadJobs {
  count: number;
  type?: string;
  code?: string;
  /** Created so many hours ago; each next one a millisecond later. */
  hoursAgo?: number;
}

/** Inserts dead letters; gives their ids, the oldest first, which lie anywhere in the table. */
async function insertDead(world: SweepWorld, dead: DeadJobs): Promise<string[]> {
  const ids = (await insertWaiting(world, { count: dead.count, type: dead.type })).sort();
  await world.query(
    `update jobs j set status = 'dead_letter', attempts = 3, max_attempts = 3, next_run_at = null,
       next_trigger_at = null, started_at = now(), finished_at = now(),
       created_at = now() - make_interval(hours => $3::int) + place.n * interval '1 ms',
       last_error = jsonb_build_object('code', $2::text, 'message', 'no luck')
     from unnest($1::uuid[]) with ordinality as place(id, n) where j.id = place.id`,
    [ids, dead.code ?? "handler_error", dead.hoursAgo ?? 1],
  );
  await world.query("analyze jobs");
  return ids;
}

async function replay(world: SweepWorld, filter: Record<string, unknown>, secret?: string) {
  const response = await world.request("POST", "/api/dead-letters/replay", filter, secret);
  expect(response.status).toBe(200);
  return (await response.json()) as Record<string, unknown>;
}

const queuedIds = async (world: SweepWorld): Promise<Set<unknown>> =>
  new Set((await world.query("select id from jobs where status = 'queued'")).map(({ id }) => id));

describe("a replay of 2,000 dead letters by filter (M06)", () => {
  test("answers with its counts, publishes 500 at once and leaves the rest to sweeps, each once", async () => {
    const world = await stage.start({ jobs: [sweepType()] });
    const ids = await insertDead(world, { count: 2000 });
    expect(await replay(world, { limit: 2000, reason: "fixed" })).toEqual({
      matched: 2000,
      replayed: 2000,
      skipped: 0,
      dryRun: false,
    });
    expect(messagesOf(world)).toHaveLength(500);
    expect(world.qstash.counts().batchRequests).toBe(5);
    const published = await world.query("select id from jobs where triggered_at is not null");
    expect(new Set(messagesOf(world).map(({ jobId }) => jobId))).toEqual(
      new Set(published.map(({ id }) => id)),
    );

    expect(await world.sweep()).toMatchObject({ published: 1500, probes: 0 });
    const messages = messagesOf(world);
    expect(messages.map(({ jobId }) => jobId).sort()).toEqual([...ids].sort());
    expect(new Set(messages.map(({ seq }) => seq))).toEqual(new Set([2]));
    // What the sweep publishes leaves 100 at once and then 20 a second.
    expect(messages.filter(({ dueInSeconds }) => dueInSeconds <= 0).length).toBeLessThan(620);
    expect(messages.at(-1)?.dueInSeconds).toBeGreaterThanOrEqual(69);
    expect(
      await world.query(
        `select status, attempts, attempts_before_replay, snoozes, result_json,
           last_error ->> 'code' as code, count(*)::int from jobs group by 1, 2, 3, 4, 5, 6`,
      ),
    ).toEqual([
      {
        status: "queued",
        attempts: 3,
        attempts_before_replay: 3,
        snoozes: 0,
        result_json: null,
        code: "handler_error",
        count: 2000,
      },
    ]);
  });

  test("of several types at once, exactly those that are marked as published have a message", async () => {
    const world = await stage.start({ jobs: [sweepType(), sweepType({ type: "test.other" })] });
    await insertDead(world, { count: 400 });
    await insertDead(world, { count: 400, type: "test.other" });
    expect(await replay(world, { limit: 1000 })).toMatchObject({ replayed: 800 });
    const published = await world.query("select id from jobs where triggered_at is not null");
    expect(published).toHaveLength(500);
    expect(
      messagesOf(world)
        .map(({ jobId }) => jobId)
        .sort(),
    ).toEqual(published.map(({ id }) => id).sort());
    expect(await world.sweep()).toMatchObject({ published: 300 });
    expect(new Set(messagesOf(world).map(({ jobId }) => jobId)).size).toBe(800);
  });

  test("over 1,000 seconds they become due evenly, the oldest first, also those that sweeps publish", async () => {
    const world = await stage.start({ jobs: [sweepType()] });
    const ids = await insertDead(world, { count: 2000 });
    expect(await replay(world, { limit: 2000, spreadSeconds: 1000 })).toMatchObject({
      replayed: 2000,
    });
    const due = await world.query<{ id: string; wait: number }>(
      "select id, extract(epoch from next_run_at - updated_at)::float8 as wait from jobs order by 2",
    );
    expect(due.map(({ id }) => id)).toEqual(ids);
    for (const [place, { wait }] of due.entries()) expect(wait).toBeCloseTo(place / 2, 3);

    expect(messagesOf(world)).toHaveLength(500);
    await world.sweep();
    const messages = messagesOf(world);
    expect(messages).toHaveLength(2000);
    const perMinute = messages.filter(({ dueInSeconds }) => dueInSeconds <= 60).length;
    // Beside them, at most one sweep's own burst.
    expect(perMinute).toBeLessThanOrEqual(60 * 2 + 20);
    expect(messages.at(-1)?.dueInSeconds).toBeGreaterThan(990);
  });

  test("the filter is honoured exactly: type, code, both ends of the time, tenant, limit", async () => {
    const world = await stage.start({ jobs: [sweepType(), sweepType({ type: "test.other" })] });
    const wanted = await insertDead(world, { count: 30, code: "timeout", hoursAgo: 5 });
    await insertDead(world, { count: 20, code: "fatal", hoursAgo: 5 });
    await insertDead(world, { count: 20, code: "timeout", hoursAgo: 5, type: "test.other" });
    await insertDead(world, { count: 20, code: "timeout", hoursAgo: 9 });
    await insertDead(world, { count: 20, code: "timeout", hoursAgo: 2 });
    const foreign = await insertDead(world, { count: 20, code: "timeout", hoursAgo: 5 });
    await world.query("update jobs set tenant = 'globex' where id = any($1)", [foreign]);
    const hoursAgo = (hours: number) => new Date(Date.now() - hours * 3_600_000).toISOString();
    const filter = {
      type: TYPE,
      errorCode: "timeout",
      createdAfter: hoursAgo(7),
      createdBefore: hoursAgo(4),
    };

    expect(await replay(world, { ...filter, dryRun: true })).toEqual({
      matched: 30,
      replayed: 0,
      skipped: 0,
      dryRun: true,
    });
    expect(await queuedIds(world)).toEqual(new Set());
    expect(world.qstash.counts().publishRequests).toBe(0);

    expect(await replay(world, { ...filter, limit: 10 })).toMatchObject({ replayed: 10 });
    expect(await queuedIds(world)).toEqual(new Set(wanted.slice(0, 10)));
    expect(await replay(world, filter)).toMatchObject({ matched: 20, replayed: 20 });
    expect(await queuedIds(world)).toEqual(new Set(wanted));
    expect(await replay(world, filter)).toMatchObject({ matched: 0, replayed: 0 });
    // An operator sees every tenant's.
    expect(await replay(world, filter, KEYS.admin)).toMatchObject({ matched: 20, replayed: 20 });
    expect(await queuedIds(world)).toEqual(new Set([...wanted, ...foreign]));
  });

  test("of several with one dedupe key the newest is replayed; those whose key is taken are skipped", async () => {
    const world = await stage.start({ jobs: [sweepType()] });
    const ids = await insertDead(world, { count: 6 });
    await world.query("update jobs set dedupe_key = 'invoice:1' where id = any($1)", [
      ids.slice(0, 3),
    ]);
    await world.query("update jobs set dedupe_key = 'invoice:2' where id = $1", [ids[3]]);
    const [active = ""] = await insertWaiting(world, { count: 1 });
    await world.query("update jobs set dedupe_key = 'invoice:2' where id = $1", [active]);
    const filter = { limit: 100 };
    expect(await replay(world, { ...filter, dryRun: true })).toMatchObject({
      matched: 6,
      skipped: 3,
    });
    expect(await replay(world, filter)).toMatchObject({ matched: 6, replayed: 3, skipped: 3 });
    expect(await queuedIds(world)).toEqual(new Set([...ids.slice(4), ids[2], active]));
  });

  test("while QStash refuses, the replay is answered all the same and sweeps publish everything", async () => {
    const world = await stage.start({ jobs: [sweepType()] });
    await insertDead(world, { count: 700 });
    world.qstash.refusePublishes({ status: 503 });
    expect(await replay(world, { limit: 1000 })).toMatchObject({ replayed: 700 });
    expect(await world.query("select count(*)::int from jobs where triggered_at is null")).toEqual([
      { count: 700 },
    ]);
    world.qstash.refusePublishes(null);
    expect(await world.sweep()).toMatchObject({ published: 700, publishFailures: 0 });
    loseMessages(world);
  });

  test("rows that another holds at this moment are skipped and stay dead letters", async () => {
    const world = await stage.start({ jobs: [sweepType()] });
    const ids = await insertDead(world, { count: 5 });
    const holder = await world.database.pg.connect();
    await holder.query("begin");
    await holder.query("select from jobs where id = $1 for update", [ids[0]]);
    expect(await replay(world, {})).toMatchObject({ matched: 5, replayed: 4, skipped: 1 });
    await holder.query("rollback");
    holder.release();
    expect(await world.job(ids[0] ?? "")).toMatchObject({ status: "dead_letter", attempts: 3 });
    expect(await replay(world, {})).toMatchObject({ matched: 1, replayed: 1 });
  });
});
