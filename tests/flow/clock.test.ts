import { afterEach, describe, expect, test, vi } from "vitest";
import { RetryAfterError } from "../../src/core/define-job.js";
import { send } from "../support/flow-delivery.js";
import { byAttempt, held, scripted, succeed, TYPE } from "../support/flow-jobs.js";
import { setUpFlow } from "../support/flow-world.js";

const flow = setUpFlow();

/** Sets the clock that a function instance sees; signatures are made by the same one. */
function skewFunctionClock(minutes: number): void {
  vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + minutes * 60_000 });
}
afterEach(() => {
  vi.useRealTimers();
});

const job = scripted(succeed());

async function post(body: Record<string, unknown>): Promise<Response> {
  return flow.request("POST", "/api/jobs", { body: { type: TYPE, payload: {}, ...body } });
}

/** How far from the database's now() the only job is due, in seconds. */
async function dueInSeconds(): Promise<number> {
  const [row] = await flow.query(
    "select extract(epoch from next_run_at - created_at)::float8 as s from jobs",
  );
  return Number(row?.s);
}

describe("a run time that is over", () => {
  test.each([
    new Date(Date.now() - 1000).toISOString(),
    new Date(Date.now() - 365 * 86_400_000).toISOString(),
    "1970-01-01T00:00:00Z",
    "2001-01-01T00:00:00+05:30",
    "0001-01-01T00:00:00Z",
  ])("%s means now (O01)", async (runAt) => {
    flow.start([job]);
    const response = await post({ runAt });
    expect(response.status).toBe(202);
    expect(await dueInSeconds()).toBe(0);
    expect(flow.qstash.pending()).toMatchObject([{ isDue: true }]);
    await flow.qstash.deliverDue();
    expect(await flow.query("select status, attempts from jobs")).toEqual([
      { status: "completed", attempts: 1 },
    ]);
  });
});

describe("a run time that is none", () => {
  test.each([
    "2026-02-30T00:00:00Z",
    "2027-02-29T00:00:00Z",
    "2026-13-01T00:00:00Z",
    "2026-04-31T00:00:00Z",
    "2026-00-10T00:00:00Z",
    "2026-01-32T00:00:00Z",
    "2026-01-01T25:00:00Z",
    "2026-01-01T24:00:00Z",
    "2026-01-01T10:60:00Z",
    "2026-01-01T10:00:00+25:00",
    "2026-01-01",
    "2026-02-29",
    "2026-01-01 10:00:00Z",
    "now",
    "tomorrow",
    "",
    "1767225600",
    "infinity",
  ])("%j is refused (O02)", async (runAt) => {
    flow.start([job]);
    const response = await post({ runAt });
    expect(response.status).toBe(422);
    expect(await response.json()).toMatchObject({
      code: "validation_failed",
      errors: [{ pointer: "#/runAt" }],
    });
    expect(await flow.query("select id from jobs")).toEqual([]);
  });

  test.each([{}, [], 1767225600, true, null])(
    "%j, which is no text, is refused (O02)",
    async (runAt) => {
      flow.start([job]);
      expect((await post({ runAt })).status).toBe(422);
    },
  );
});

describe("a run time without a zone", () => {
  const zone = process.env.TZ;
  afterEach(() => {
    if (zone === undefined) delete process.env.TZ;
    else process.env.TZ = zone;
  });

  test.each(["UTC", "Asia/Kolkata", "America/New_York"])(
    "is refused whatever zone the host has, here %s; with one it is the same instant (O05)",
    async (hostZone) => {
      process.env.TZ = hostZone;
      flow.start([job]);
      expect((await post({ runAt: "2027-07-01T09:00:00" })).status).toBe(422);
      await post({ runAt: "2027-07-01T09:00:00+02:00" });
      const [row] = await flow.query(
        "select next_run_at = '2027-07-01T07:00:00Z' as same from jobs",
      );
      expect(row).toEqual({ same: true });
    },
  );
});

describe("a function instance whose clock is wrong", () => {
  test.each([-5, 5, -600, 600])(
    "by %i minutes: an immediate job runs at once, a delayed one not early (O08)",
    async (minutes) => {
      skewFunctionClock(minutes);
      flow.start([job]);
      const dueAt = new Date(flow.qstash.now() + 2000).toISOString();
      const immediate = await flow.create(TYPE, 1);
      const delayed = await flow.create(TYPE, 2, { runAt: dueAt });
      const relative = await flow.create(TYPE, 3, { delaySeconds: 60 });
      await flow.qstash.deliverDue();
      expect(await flow.job(immediate)).toMatchObject({ status: "completed" });
      expect(await flow.job(relative)).toMatchObject({ status: "queued", attempts: 0 });
      await flow.runUntilIdle();
      for (const jobId of [delayed, relative]) {
        expect(await flow.job(jobId)).toMatchObject({ status: "completed", attempts: 1 });
      }
      const { startedAt } = await flow.job(delayed);
      expect(Date.parse(startedAt ?? "")).toBeGreaterThanOrEqual(Date.parse(dueAt));
    },
  );

  test.each([-10, 10])(
    "by %i minutes takes no living lease and leaves no dead one (I08)",
    async (minutes) => {
      const work = held();
      let runs = 0;
      const script = scripted(
        byAttempt(
          (context) => {
            runs += 1;
            return work.run(context);
          },
          () => {
            runs += 1;
          },
        ),
        { leaseSeconds: 60, timeoutSeconds: 600 },
      );
      const first = flow.start([script]);
      const jobId = await flow.create(TYPE, {});
      const delivery = flow.qstash.deliverDue();
      await work.started;

      skewFunctionClock(minutes);
      const skewed = flow.start([script]);
      await flow.elapse(59, 19);
      const messageId = first.captured[0]?.headers.get("upstash-message-id");
      expect(await send(flow, { jobId, messageId, retried: 1 })).toMatchObject({
        status: 409,
        body: { code: "job_running" },
      });
      expect(await flow.sweep(skewed)).toMatchObject({ leasesRecovered: 0 });
      expect(runs).toBe(1);

      first.ports.kill();
      await delivery;
      await flow.advance(61);
      expect(await flow.sweep(skewed)).toMatchObject({ leasesRecovered: 1 });
      await flow.runUntilIdle();
      expect(runs).toBe(2);
      expect(await flow.job(jobId)).toMatchObject({ status: "completed", attempts: 2 });
    },
  );

  test.each([-10, 10])(
    "by %i minutes writes its instants from the database's clock alone (I08)",
    async (minutes) => {
      skewFunctionClock(minutes);
      flow.start([
        scripted(
          byAttempt(
            () => {
              throw new RetryAfterError(new Date(Date.now() + 90_000));
            },
            ({ once }) => once("a", () => "done"),
          ),
        ),
      ]);
      const jobId = await flow.create(TYPE, {});
      await flow.qstash.deliverDue();
      const [wait] = await flow.query(
        "select extract(epoch from next_run_at - updated_at)::float8 as s from jobs",
      );
      expect(wait).toEqual({ s: 90 });
      await flow.runUntilIdle();
      expect(await flow.job(jobId)).toMatchObject({ status: "completed", attempts: 2 });
      const off = await flow.query(
        `select 'job' as of from jobs where greatest(created_at, started_at, finished_at, updated_at) > now()
           or least(created_at, started_at, finished_at, updated_at) < now() - interval '5 min'
         union all select 'attempt' from job_attempts
           where finished_at > now() or started_at < now() - interval '5 min'
         union all select 'effect' from job_effects
           where finished_at > now() or started_at < now() - interval '5 min'`,
      );
      expect(off).toEqual([]);
    },
  );

  test("jobs of two instances an hour apart run in the order in which the database got them (I08)", async () => {
    const ran: unknown[] = [];
    const script = scripted(({ payload }) => void ran.push(payload));
    flow.start([script]);
    const done = await flow.create(TYPE, "before");
    await flow.qstash.deliverDue();
    skewFunctionClock(60);
    flow.start([script]);
    await flow.create(TYPE, "first");
    vi.useRealTimers();
    flow.start([script]);
    await flow.create(TYPE, "second");
    // Permits for whatever is the longest due.
    await send(flow, { jobId: done });
    await send(flow, { jobId: done });
    expect(ran).toEqual(["before", "first", "second"]);
  });
});
