import { describe, expect, test } from "vitest";
import {
  countByStatus,
  insertLost,
  insertWaiting,
  sweepFor,
  sweepType,
  TYPE,
} from "../support/sweep-jobs.js";
import { type SweepWorld, setUpSweeps } from "../support/sweep-world.js";
import { KEYS, PUBLIC_URL } from "../support/world.js";

const stage = setUpSweeps();

/** Enough for each step once. */
const FEW_CALLS = { SWEEP_MAX_CALLS: "15" };

interface EndedJobs {
  count: number;
  status: "completed" | "cancelled" | "dead_letter";
  daysAgo: number;
}

/** Inserts ended jobs with a history row, an effect and an event each; gives their ids. */
async function insertEnded(world: SweepWorld, ended: EndedJobs): Promise<string[]> {
  const ids = await insertWaiting(world, { count: ended.count });
  const params = [ids, ended.status, ended.daysAgo];
  await world.query(
    `update jobs set status = $2, attempts = 1, next_run_at = null, next_trigger_at = null,
       started_at = now(), finished_at = now() - make_interval(secs => $3::float8 * 86400),
       last_error = case when $2 = 'dead_letter' then '{"code": "fatal"}'::jsonb end
     where id = any($1)`,
    params,
  );
  await world.query(
    `insert into job_attempts (job_id, lock_token, number, job_type, started_at, finished_at, outcome)
     select id, gen_random_uuid(), 1, 'test.sweep', now(), now(), 'completed' from unnest($1::uuid[]) as id`,
    [ids],
  );
  await world.query(
    `insert into job_effects (job_id, name, state, lock_token, started_at, finished_at)
     select id, 'sent', 'done', gen_random_uuid(), now(), now() from unnest($1::uuid[]) as id`,
    [ids],
  );
  await world.query(
    `insert into job_events (job_id, action_id, at, kind, data)
     select id, gen_random_uuid(), now(), 'published', '{}' from unnest($1::uuid[]) as id`,
    [ids],
  );
  return ids;
}

async function leftIn(world: SweepWorld, table: string, column = "job_id"): Promise<Set<unknown>> {
  const rows = await world.query(`select distinct ${column} as id from ${table}`);
  return new Set(rows.map(({ id }) => id));
}

describe("retention", () => {
  test("ended jobs go after their days with all that belongs to them; the rest stays (U03)", async () => {
    const world = await stage.start({ jobs: [sweepType()] });
    for (const status of ["completed", "cancelled"] as const) {
      await insertEnded(world, { count: 5, status, daysAgo: 14.01 });
    }
    await insertEnded(world, { count: 5, status: "dead_letter", daysAgo: 90.01 });
    const kept = [
      ...(await insertEnded(world, { count: 5, status: "completed", daysAgo: 13.99 })),
      ...(await insertEnded(world, { count: 5, status: "cancelled", daysAgo: 13.99 })),
      ...(await insertEnded(world, { count: 5, status: "dead_letter", daysAgo: 89.99 })),
    ];
    // However long ago a job was made: it stays while it lives.
    const waiting = await insertWaiting(world, { count: 5, dueInSeconds: 3600 });
    const running = await insertLost(world, { count: 5, expiredSecondsAgo: -3600 });
    const live = [...waiting, ...running];
    await world.query(
      "update jobs set created_at = now() - interval '400 days' where id = any($1)",
      [live],
    );

    expect(await world.sweep()).toMatchObject({ jobsPruned: 15, more: false });
    expect(await leftIn(world, "jobs", "id")).toEqual(new Set([...kept, ...live]));
    for (const table of ["job_attempts", "job_effects", "job_events"]) {
      expect(await leftIn(world, table), table).toEqual(new Set(kept));
    }
  });

  test("many go in batches of a thousand, the oldest first, and a sweep without calls left says that there are more", async () => {
    const world = await stage.start({ jobs: [sweepType()], env: FEW_CALLS });
    await insertEnded(world, { count: 900, status: "completed", daysAgo: 20 });
    const old = await insertEnded(world, { count: 900, status: "completed", daysAgo: 30 });
    expect(await world.sweep()).toMatchObject({ jobsPruned: 1000, more: true });
    const left = await leftIn(world, "jobs", "id");
    expect(old.filter((id) => left.has(id))).toEqual([]);
    expect(await world.sweep()).toMatchObject({ jobsPruned: 800, more: false });
    for (const table of ["job_attempts", "job_effects", "job_events"]) {
      expect(await leftIn(world, table), table).toEqual(new Set());
    }
  });

  test("a day's jobs, records and counters all go in one sweep a day (U03)", async () => {
    const world = await stage.start({ jobs: [sweepType()] });
    await insertEnded(world, { count: 4500, status: "completed", daysAgo: 20 });
    await world.query(
      `insert into idempotency_records (tenant, operation, idempotency_key, request_hash, owner,
         response_status, response_json, created_at, expires_at)
       select 'acme', 'op', n::text, 'hash', gen_random_uuid(), 202, '{}', now(), now()
       from generate_series(1, 4500) as n`,
    );
    await world.query(
      `insert into job_stats (minute, job_type, measure, label, shard, count)
       select now() - interval '91 days' - make_interval(mins => n), 'test.sweep', 'attempt',
         'completed', 0, 1 from generate_series(1, 4500) as n
       union all select now() - interval '89 days', 'test.sweep', 'attempt', 'completed', 0, 1`,
    );
    expect(await world.sweep()).toMatchObject({
      idempotencyRecordsPurged: 4500,
      jobsPruned: 4500,
      more: false,
    });
    for (const table of ["jobs", "job_attempts", "job_effects", "job_events"]) {
      expect(await leftIn(world, table, table === "jobs" ? "id" : "job_id"), table).toEqual(
        new Set(),
      );
    }
    const counters = await world.query("select 1 from job_stats where label = 'completed'");
    expect(counters).toHaveLength(1);
  });

  test("what it leaves behind is vacuumed early, in every table that it takes rows from", async () => {
    const world = await stage.start({ jobs: [sweepType()] });
    const tables = await world.query<{ relname: string }>(
      `select relname from pg_class
       where reloptions @> '{autovacuum_vacuum_scale_factor=0.05}' order by relname`,
    );
    expect(tables.map(({ relname }) => relname)).toEqual([
      "idempotency_records",
      "job_attempts",
      "job_effects",
      "job_events",
      "job_stats",
      "jobs",
    ]);
  });

  test("a replay beside the pruning either saves its job or finds none", async () => {
    const world = await stage.start({ jobs: [sweepType()] });
    const ids = await insertEnded(world, { count: 20, status: "dead_letter", daysAgo: 91 });
    const [swept, ...answers] = await Promise.all([
      world.sweep(world.newInstance()),
      ...ids.map((id) => world.request("POST", `/api/jobs/${id}/replay`)),
    ]);
    const statuses = answers.map(({ status }) => status);
    const saved = ids.filter((_, at) => statuses[at] === 202);
    expect(statuses.filter((status) => status !== 202 && status !== 404)).toEqual([]);
    expect(swept.jobsPruned).toBeLessThanOrEqual(20 - saved.length);
    await world.sweep();
    expect(await leftIn(world, "jobs", "id")).toEqual(new Set(saved));
    // A saved job keeps its history and effects.
    expect(await leftIn(world, "job_effects")).toEqual(new Set(saved));
  });

  test("while jobs are made, run and end, only what is old enough goes, and nobody notices", async () => {
    const world = await stage.start({ jobs: [sweepType()] });
    await insertEnded(world, { count: 300, status: "completed", daysAgo: 15 });
    const sweeper = world.newInstance();
    const create = async (n: number) => {
      const response = await world.request("POST", "/api/jobs", { type: TYPE, payload: { n } });
      return response.status;
    };
    const [statuses, , report] = await Promise.all([
      Promise.all(Array.from({ length: 60 }, (_, n) => create(n))),
      world.qstash.deliverDue(),
      world.sweep(sweeper),
    ]);
    await world.qstash.deliverDue();
    expect(new Set(statuses)).toEqual(new Set([202]));
    expect(report).toMatchObject({ jobsPruned: 300, failedSteps: [] });
    expect(await countByStatus(world)).toEqual({ completed: 60 });
    await sweepFor(world, { minutes: 13 * 24 * 60, everyMinutes: 13 * 24 * 60 });
    expect(await countByStatus(world)).toEqual({ completed: 60 });
    await sweepFor(world, { minutes: 2 * 24 * 60, everyMinutes: 2 * 24 * 60 });
    expect(await countByStatus(world)).toEqual({});
  });
});

describe("idempotency records", () => {
  test("expired ones are purged while their keys are sent again: each answer is a replay or a new job, no error (B08)", async () => {
    const world = await stage.start({ jobs: [sweepType()] });
    const send = async (n: number): Promise<{ status: number; jobId: string }> => {
      const response = await world.instance.fetch(
        new Request(`${PUBLIC_URL}/api/jobs`, {
          method: "POST",
          headers: {
            authorization: `Bearer ${KEYS.acme}`,
            "content-type": "application/json",
            "idempotency-key": `key-${n}`,
          },
          body: JSON.stringify({ type: TYPE, payload: { n } }),
        }),
      );
      const { jobId } = (await response.json()) as { jobId: string };
      return { status: response.status, jobId };
    };
    const numbers = Array.from({ length: 50 }, (_, n) => n);
    const first = await Promise.all(numbers.map(send));
    // Half of them expire in the middle of what follows.
    await world.query(
      `update idempotency_records set expires_at = now()
       where right(idempotency_key, 1) in ('1', '3', '5', '7', '9')`,
    );
    const sweepers = [1, 2, 3].map(() => world.newInstance());
    const [again, ...reports] = await Promise.all([
      Promise.all(numbers.map(send)),
      ...sweepers.map((each) => world.sweep(each)),
    ]);
    expect(reports.flatMap(({ failedSteps }) => failedSteps)).toEqual([]);
    for (const [n, { status, jobId }] of again.entries()) {
      expect(status).toBe(202);
      expect(jobId === first[n]?.jobId, `key ${n} replays`).toBe(n % 2 === 0);
    }
    // No job without its record, no record without its response.
    expect(
      await world.query(
        `select count(*)::int as records, count(response_json)::int as responses,
           (select count(*)::int from jobs) as jobs from idempotency_records`,
      ),
    ).toEqual([{ records: 50, responses: 50, jobs: 75 }]);
  });

  test("many expired ones go in batches of a thousand; live ones stay", async () => {
    const world = await stage.start({ jobs: [sweepType()], env: FEW_CALLS });
    await world.query(
      `insert into idempotency_records (tenant, operation, idempotency_key, request_hash, owner,
         response_status, response_json, created_at, expires_at)
       select 'acme', 'op', n::text, 'hash', gen_random_uuid(), 202, '{}', now(),
         now() + case when n <= 1300 then interval '0' else interval '1 hour' end
       from generate_series(1, 1310) as n`,
    );
    expect(await world.sweep()).toMatchObject({ idempotencyRecordsPurged: 1000, more: true });
    expect(await world.sweep()).toMatchObject({ idempotencyRecordsPurged: 300, more: false });
    expect(await world.query("select count(*)::int from idempotency_records")).toEqual([
      { count: 10 },
    ]);
  });
});
