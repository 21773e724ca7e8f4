import { describe, expect, test } from "vitest";
import { statsSchema } from "../../src/http/answers/get-stats.js";
import { byAttempt, held, scripted, succeed, TYPE, throws } from "../support/flow-jobs.js";
import { setUpFlow } from "../support/flow-world.js";
import { KEYS } from "../support/world.js";

const flow = setUpFlow();
const FAILING = "test.failing";
const HELD = "test.held";

async function stats(secret: string = KEYS.acme) {
  const response = await flow.request("GET", "/api/stats", { secret });
  const body = await response.json();
  expect(response.status, JSON.stringify(body)).toBe(200);
  return statsSchema.parse(body);
}

const exactly = (count: number) => ({ count, capped: false });
const NOTHING = {
  paused: false,
  queuedDue: exactly(0),
  queuedLater: exactly(0),
  failed: exactly(0),
  processing: exactly(0),
  expiredLeases: exactly(0),
  deadLetters: exactly(0),
  oldestDueSeconds: null,
  attempts: { since: expect.any(String), capped: false, byOutcome: {} },
};

/** Jobs as SQL makes them, for counts that the API would take long to reach. */
async function insert(count: number, columns: Record<string, string>): Promise<void> {
  const all = {
    id: "gen_random_uuid()",
    tenant: "'acme'",
    job_type: `'${TYPE}'`,
    priority: "0",
    max_attempts: "8",
    payload_json: "'{}'",
    created_at: "now()",
    updated_at: "now()",
    ...columns,
  };
  await flow.query(
    `insert into jobs (${Object.keys(all)}) select ${Object.values(all)} from generate_series(1, ${count})`,
  );
}
const DUE = { status: "'queued'", next_run_at: "now()", next_trigger_at: "now()" };

describe("the statistics", () => {
  test("are empty where nothing is", async () => {
    flow.start([scripted(succeed())]);
    expect(await stats()).toEqual({ at: expect.any(String), types: [] });
  });

  test("count each live state, dead letters and the last hour's attempts by type", async () => {
    const { run, started, release } = held();
    const failing = byAttempt(throws("no"));
    flow.start([scripted(succeed()), scripted(failing, {}, FAILING), scripted(run, {}, HELD)]);
    await flow.create(TYPE, {});
    await flow.create(FAILING, {}, { maxAttempts: 1 });
    await flow.create(FAILING, {}, { maxAttempts: 2 });
    await flow.create(HELD, {});
    const delivered = flow.qstash.deliverDue();
    await started;
    await flow.settled();
    await flow.create(TYPE, {}, { delaySeconds: 3600 });
    await flow.create(TYPE, {});
    await flow.create(TYPE, {}, { priority: 9 });

    const { types } = await stats();
    expect(types).toEqual([
      {
        ...NOTHING,
        type: FAILING,
        failed: exactly(1),
        deadLetters: exactly(1),
        attempts: { ...NOTHING.attempts, byOutcome: { dead_letter: 1, failed: 1 } },
      },
      { ...NOTHING, type: HELD, processing: exactly(1) },
      {
        ...NOTHING,
        type: TYPE,
        queuedDue: exactly(2),
        queuedLater: exactly(1),
        oldestDueSeconds: expect.any(Number),
        attempts: { ...NOTHING.attempts, byOutcome: { completed: 1 } },
      },
    ]);
    expect(types[2]?.oldestDueSeconds).toBeLessThan(10);
    release();
    await delivered;
  });

  test("tell a lease that ran out, and how long the oldest job has been due", async () => {
    const { run, started, release } = held();
    const instance = flow.start([scripted(succeed()), scripted(run, { leaseSeconds: 60 }, HELD)]);
    await flow.create(HELD, {});
    const delivered = flow.qstash.deliverDue();
    await started;
    instance.ports.rule = ({ method }) => (method === "heartbeat" ? "fail" : undefined);
    await flow.create(TYPE, {});
    await flow.database.advance(4000);
    await flow.create(TYPE, {});
    expect((await stats()).types).toMatchObject([
      { type: HELD, processing: exactly(1), expiredLeases: exactly(1) },
      { type: TYPE, queuedDue: exactly(2) },
    ]);
    const [, due] = (await stats()).types;
    expect(Math.round((due?.oldestDueSeconds ?? 0) / 10)).toBe(400);
    release();
    await delivered;
  });

  test("forget attempts after an hour", async () => {
    flow.start([scripted(throws("no"))]);
    await flow.create(TYPE, {}, { maxAttempts: 1 });
    await flow.qstash.deliverDue();
    expect((await stats()).types[0]?.attempts.byOutcome).toEqual({ dead_letter: 1 });
    await flow.advance(3601);
    expect((await stats()).types).toEqual([{ ...NOTHING, type: TYPE, deadLetters: exactly(1) }]);
  });

  test("name paused types, and those that have nothing else to tell", async () => {
    flow.start([scripted(succeed())]);
    await flow.request("POST", `/api/types/${TYPE}/pause`, { secret: KEYS.admin });
    expect((await stats()).types).toEqual([{ ...NOTHING, type: TYPE, paused: true }]);
  });

  test("stop counting at a thousand and say so", async () => {
    flow.start([scripted(succeed())]);
    await insert(1001, DUE);
    await insert(999, { ...DUE, next_run_at: "now() + interval '1 hour'" });
    await insert(1001, {
      status: "'dead_letter'",
      finished_at: "now()",
      last_error: `'{"code": "fatal"}'`,
    });
    await flow.query(
      `insert into job_attempts (job_id, lock_token, number, job_type, started_at, finished_at, outcome)
       select gen_random_uuid(), gen_random_uuid(), 1, $1, now(), now() - n * interval '1 second', 'completed'
       from generate_series(1, 1001) n`,
      [TYPE],
    );
    const { at, types } = await stats(KEYS.admin);
    expect(types).toMatchObject([
      {
        queuedDue: { count: 1000, capped: true },
        queuedLater: exactly(999),
        deadLetters: { count: 1000, capped: true },
        attempts: { capped: true, byOutcome: { completed: 1000 } },
      },
    ]);
    const sinceMs = Date.parse(at) - Date.parse(types[0]?.attempts.since ?? "");
    expect(Math.round(sinceMs / 100_000)).toBe(10);
  });
});

describe("who asks for statistics", () => {
  test("gets the numbers of their own tenant, an admin those of all (R04)", async () => {
    flow.start([scripted(throws("no"), {}, FAILING), scripted(succeed())]);
    await flow.create(FAILING, {}, { maxAttempts: 1 });
    const body = { type: TYPE, payload: {} };
    await flow.request("POST", "/api/jobs", { body, secret: KEYS.globex });
    await flow.qstash.deliverDue();
    await flow.request("POST", "/api/jobs", { body, secret: KEYS.globex });
    const failing = { type: FAILING, deadLetters: exactly(1) };
    const waiting = {
      type: TYPE,
      queuedDue: exactly(1),
      attempts: { byOutcome: { completed: 1 } },
    };
    expect((await stats(KEYS.acme)).types).toMatchObject([failing]);
    expect((await stats(KEYS.globex)).types).toMatchObject([waiting]);
    expect((await stats(KEYS.admin)).types).toMatchObject([failing, waiting]);
    expect((await stats(KEYS.acme)).types).toHaveLength(1);
  });

  test("learns that others fill a queue, not by how much", async () => {
    flow.start([scripted(succeed())]);
    await insert(1200, { ...DUE, tenant: "'globex'" });
    expect((await stats(KEYS.acme)).types).toMatchObject([
      { type: TYPE, queuedDue: { count: 0, capped: true }, queuedLater: exactly(0) },
    ]);
  });

  test("may ask with HEAD and OPTIONS, and with nothing in the query", async () => {
    flow.start([scripted(succeed())]);
    flow.database.neon.requests = 0;
    const head = await flow.request("HEAD", "/api/stats");
    expect([head.status, await head.text(), flow.database.neon.requests]).toEqual([200, "", 1]);
    const options = await flow.request("OPTIONS", "/api/stats");
    expect([options.status, options.headers.get("allow")]).toEqual([204, "GET, HEAD, OPTIONS"]);
    expect((await flow.request("GET", "/api/stats?type=a")).status).toBe(400);
  });
});
