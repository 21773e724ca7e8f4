import { readFile } from "node:fs/promises";
import { describe, expect, test } from "vitest";
import * as z from "zod";
import { defineJob } from "../../src/core/define-job.js";
import { readExposition, type Samples } from "../support/prometheus.js";
import { costOf } from "../support/sweep-plans.js";
import { type SweepWorld, setUpSweeps } from "../support/sweep-world.js";
import { KEYS } from "../support/world.js";

const stage = setUpSweeps({ fresh: true });
const echo = defineJob({ type: "test.echo", payload: z.unknown(), run: () => null });
const failing = defineJob({
  type: "test.failing",
  payload: z.unknown(),
  backoff: { baseSeconds: 30, maxSeconds: 30, jitterSeconds: 0 },
  run: () => {
    throw new Error("boom");
  },
});

async function start(): Promise<SweepWorld> {
  const world = await stage.start({ jobs: [echo, failing] });
  return world;
}

async function scrape(world: SweepWorld, instance = world.instance): Promise<string> {
  const headers = { authorization: `Bearer ${KEYS.admin}` };
  const response = await instance.fetch(
    new Request("http://antrean.test/api/metrics", { headers }),
  );
  expect(response.status).toBe(200);
  expect(response.headers.get("content-type")).toMatch(/^text\/plain; version=0\.0\.4/);
  return response.text();
}

/** Sweeps until everything that has ended is counted, and reads the metrics. */
async function rolledUp(world: SweepWorld): Promise<Samples> {
  await world.advance(121);
  while ((await world.sweep()).more);
  return readExposition(await scrape(world));
}

async function create(world: SweepWorld, type: string, more = {}): Promise<void> {
  const answer = await world.request("POST", "/api/jobs", { type, payload: {}, ...more });
  expect(answer.status).toBe(202);
}

/** Ended jobs of several tenants with one attempt each, `daysAgo` days old. */
async function insertEnded(world: SweepWorld, count: number, daysAgo = 0): Promise<void> {
  await world.query(
    `with ended as (
       select gen_random_uuid() as id, n, now() - make_interval(days => $2::int) as at
       from generate_series(1, $1::int) n),
     job as (
       insert into jobs (id, tenant, job_type, status, priority, attempts, max_attempts,
         payload_json, started_at, attempt_started_at, finished_at, created_at, updated_at)
       select id, 'tenant-' || n % 50, 'test.echo', 'completed', 0, 1, 8, '{}', at, at, at, at, at
       from ended)
     insert into job_attempts (job_id, lock_token, number, job_type, started_at, finished_at,
       outcome, wait_seconds)
     select id, gen_random_uuid(), 1, 'test.echo', at - interval '2 seconds', at, 'completed', 3
     from ended`,
    [count, daysAgo],
  );
}

const totals = (samples: Samples): Map<string, number> =>
  new Map([...samples].filter(([key]) => /_total|_bucket|_sum|_count/.test(key)));

describe("counters", () => {
  test("tell how attempts ended, with which codes, how long they took and waited", async () => {
    const world = await start();
    await create(world, "test.echo");
    await create(world, "test.failing", { maxAttempts: 2 });
    await world.runUntilIdle(600);
    const samples = await rolledUp(world);
    expect(Object.fromEntries(samples)).toMatchObject({
      'antrean_attempts_total{type="test.echo",outcome="completed"}': 1,
      'antrean_attempts_total{type="test.failing",outcome="failed"}': 1,
      'antrean_attempts_total{type="test.failing",outcome="dead_letter"}': 1,
      'antrean_retries_total{type="test.failing"}': 1,
      'antrean_errors_total{type="test.failing",code="handler_error"}': 2,
      'antrean_attempt_duration_seconds_count{type="test.failing"}': 2,
      'antrean_wait_seconds_count{type="test.echo"}': 1,
      'antrean_wait_seconds_count{type="test.failing"}': 2,
      'antrean_jobs{status="dead_letter",type="test.failing"}': 1,
      'antrean_jobs{status="queued",type="test.echo"}': 0,
      'antrean_oldest_due_seconds{type="test.echo"}': 0,
      antrean_publish_failures_total: 0,
      antrean_leases_expired_total: 0,
    });
    expect(samples.get("antrean_last_sweep_timestamp_seconds")).toBeGreaterThan(0);
  });

  test("tell of failed publishes, expired leases and deliveries that ran nothing, each once", async () => {
    const world = await start();
    world.qstash.refusePublishes({ status: 503 });
    await create(world, "test.echo");
    world.qstash.refusePublishes(null);
    await world.query(
      `insert into job_stats values (date_trunc('minute', now()), 'test.echo', 'delivery', 'finished', 1, 2),
         (date_trunc('minute', now()), 'test.echo', 'delivery', 'finished', 5, 3)`,
    );
    await world.query(
      `update jobs set status = 'processing', attempts = 1, lock_token = gen_random_uuid(),
         lock_until = now(), started_at = now(), attempt_started_at = now(), next_run_at = null,
         next_trigger_at = null`,
    );
    await world.sweep();
    await rolledUp(world);
    const samples = await rolledUp(world);
    expect(Object.fromEntries(samples)).toMatchObject({
      antrean_publish_failures_total: 1,
      antrean_leases_expired_total: 1,
      'antrean_deliveries_total{outcome="finished"}': 5,
      'antrean_attempts_total{type="test.echo",outcome="lease_expired"}': 1,
      'antrean_retries_total{type="test.echo"}': 1,
      'antrean_errors_total{type="test.echo",code="lease_expired"}': 1,
    });
    expect([...samples.keys()]).not.toContain(
      'antrean_attempt_duration_seconds_count{type="test.echo"}',
    );
  });

  test("are the same 3,000 from two instances (U07), in the bucket of their time", async () => {
    const world = await start();
    await insertEnded(world, 3000);
    const samples = await rolledUp(world);
    expect(await scrape(world, world.newInstance())).toBe(await scrape(world));
    expect(Object.fromEntries(samples)).toMatchObject({
      'antrean_attempts_total{type="test.echo",outcome="completed"}': 3000,
      'antrean_attempt_duration_seconds_bucket{type="test.echo",le="1"}': 0,
      'antrean_attempt_duration_seconds_bucket{type="test.echo",le="2.5"}': 3000,
      'antrean_attempt_duration_seconds_sum{type="test.echo"}': 6000,
      'antrean_wait_seconds_bucket{type="test.echo",le="2.5"}': 0,
      'antrean_wait_seconds_bucket{type="test.echo",le="5"}': 3000,
    });
  });

  test("stay when jobs, attempts and old minutes are deleted, and those are deleted only after they were counted", async () => {
    const world = await start();
    await insertEnded(world, 500, 100);
    world.instance.ports.rule = ({ method }) => (method === "rollUpStats" ? "fail" : undefined);
    expect(await world.sweep()).toMatchObject({ jobsPruned: 0, failedSteps: ["rollups"] });
    world.instance.ports.rule = undefined;
    expect(await world.sweep()).toMatchObject({ attemptsRolledUp: 500, jobsPruned: 500 });
    const before = await rolledUp(world);
    expect(before.get('antrean_attempts_total{type="test.echo",outcome="completed"}')).toBe(500);
    expect(await world.query("select from job_stats union all select from job_attempts")).toEqual(
      [],
    );
    expect(totals(await rolledUp(world))).toEqual(totals(before));
  });
});

describe("labels", () => {
  test("are as many for 1,000 jobs of 50 tenants as for one, and hold no id (U05)", async () => {
    const world = await start();
    await insertEnded(world, 1);
    const few = await rolledUp(world);
    await insertEnded(world, 1000);
    const many = await rolledUp(world);
    expect([...many.keys()]).toEqual([...few.keys()]);
    expect(await scrape(world)).not.toMatch(/tenant|[0-9a-f]{8}-[0-9a-f]{4}-/);
  });

  test("are escaped", async () => {
    const world = await start();
    await insertEnded(world, 1);
    await world.query(`update job_attempts set error_code = $1`, ['a"b\\c\nd']);
    const samples = await rolledUp(world);
    expect(samples.get('antrean_errors_total{type="test.echo",code="a\\"b\\\\c\\nd"}')).toBe(1);
  });
});

describe("access", () => {
  test("is for admins", async () => {
    const world = await start();
    expect((await world.request("GET", "/api/metrics", undefined, KEYS.acme)).status).toBe(403);
    expect(
      (await world.request("GET", "/api/metrics", undefined, "nobody-knows-this")).status,
    ).toBe(401);
  });

  test.each(["DELETE", "POST", "PUT", "PATCH"])(
    "%s is a 405 that says what is allowed (E01)",
    async (method) => {
      const world = await start();
      const response = await world.request(method, "/api/metrics", undefined, KEYS.admin);
      expect(response.status).toBe(405);
      expect(response.headers.get("allow")).toBe("GET, HEAD, OPTIONS");
    },
  );
});

test("neither a roll-up nor a scrape reads the history", async () => {
  const world = await start();
  await insertEnded(world, 30_000, 1);
  await rolledUp(world);
  await world.query("vacuum analyze jobs, job_attempts, job_stats");
  await insertEnded(world, 10);
  await world.advance(121);
  for (const call of ["rollUpStats", "readTotals", "pruneMonitoring"] as const) {
    const cost = await costOf(world, (store) => store[call](2000).catch(() => {}));
    expect(cost.pages, call).toBeLessThan(call === "rollUpStats" ? 600 : 100);
    expect(cost.scanned, call).not.toContain("job_attempts");
    expect(cost.scanned, call).not.toContain("jobs");
  }
});

test("rules and dashboard in the documentation name metrics that exist", async () => {
  const world = await start();
  const known = new Set(
    [...(await scrape(world)).matchAll(/^# TYPE (\S+)/gm)].map(([, name]) => name ?? ""),
  );
  for (const file of ["prometheus-rules.yml", "grafana-dashboard.json"]) {
    const text = await readFile(new URL(`../../docs/${file}`, import.meta.url), "utf8");
    if (file.endsWith(".json")) JSON.parse(text);
    const named = [...text.matchAll(/\bantrean_[a-z_]+/g)].map(([name]) => name);
    expect(named.length).toBeGreaterThan(5);
    expect(
      named.filter(
        (name) => !known.has(name) && !known.has(name.replace(/_(bucket|sum|count)$/, "")),
      ),
    ).toEqual([]);
  }
});
