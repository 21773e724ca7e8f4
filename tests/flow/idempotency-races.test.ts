import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import * as z from "zod";
import { defineJob } from "../../src/core/define-job.js";
import type { Json } from "../../src/core/job.js";
import { createWorld, isInstanceDeath, KEYS, PUBLIC_URL, type World } from "../support/world.js";

const note = defineJob({ type: "test.note", payload: z.unknown(), run: () => {} });
/** Any number: inserts of jobs wait while a test holds it. */
const GATE = 815;

let world: World;
beforeAll(async () => {
  world = await createWorld({ jobs: [note] });
  await world.database.pg.query(`
    create function wait_at_gate() returns trigger language plpgsql as $$
      begin perform pg_advisory_xact_lock_shared(${GATE}); return new; end $$;
    create function refuse() returns trigger language plpgsql as $$
      begin raise 'refused, as the test asked'; end $$;
    create trigger gate before insert on jobs for each row execute function wait_at_gate()`);
});
afterAll(async () => {
  await world.database.pg.query("drop function wait_at_gate, refuse cascade");
  await world.close();
});
afterEach(() => world.database.neon.setFault(null));

const job = (n: Json): Json => ({ type: note.type, payload: { n } });
const ENTRIES = [
  { path: "/api/jobs", jobs: 1, bodyOf: (n: Json): Json => job(n) },
  {
    path: "/api/jobs/batch",
    jobs: 3,
    bodyOf: (n: Json): Json => ({ jobs: [job(n), job(n), job(n)] }),
  },
];

async function answerOf(responding: Promise<Response>) {
  const response = await responding;
  return {
    status: response.status,
    isReplay: response.headers.get("idempotent-replayed") === "true",
    text: await response.text(),
  };
}

const post = (path: string, idempotencyKey: string, body: Json) =>
  answerOf(world.request("POST", path, { idempotencyKey, body }));

async function countOf(key: string): Promise<{ jobs: number; records: number }> {
  const { rows } = await world.database.pg.query(
    `select (select count(*)::int from jobs where idempotency_key = $1) as jobs,
       (select count(*)::int from idempotency_records where idempotency_key = $1) as records`,
    [key],
  );
  return rows[0];
}

/** Keeps inserts of jobs waiting until the returned function is called. */
async function closeGate(): Promise<() => Promise<void>> {
  const client = await world.database.pg.connect();
  await client.query("select pg_advisory_lock($1)", [GATE]);
  return async () => {
    await client.query("select pg_advisory_unlock($1)", [GATE]);
    client.release();
  };
}

let lastKey = 0;
const freshKey = (): string => `race-${++lastKey}`;

describe.each(ENTRIES)("POST $path", ({ path, jobs, bodyOf }) => {
  test("a request that comes while the first is being handled waits for its answer (A03)", async () => {
    const key = freshKey();
    const openGate = await closeGate();
    const first = post(path, key, bodyOf(1));
    await world.database.lockWaiters(1);
    const same = post(path, key, bodyOf(1));
    const other = post(path, key, bodyOf(2));
    await world.database.lockWaiters(3);
    await openGate();
    const created = await first;
    expect([created.status, created.isReplay]).toEqual([202, false]);
    expect(await same).toEqual({ ...created, isReplay: true });
    expect((await other).status).toBe(409);
    expect(await countOf(key)).toEqual({ jobs, records: 1 });
  });

  test("when the first fails in the store, exactly one of those who wait takes its place (A03)", async () => {
    const key = freshKey();
    const openGate = await closeGate();
    const first = post(path, key, bodyOf(1));
    await world.database.lockWaiters(1);
    const second = post(path, key, bodyOf(2));
    await world.database.lockWaiters(2);
    // The first loses its session and repeats by itself, so it may also win again.
    await world.database.pg.query(
      `select pg_terminate_backend(pid) from pg_stat_activity
       where datname = current_database() and wait_event = 'advisory'`,
    );
    await openGate();
    const answers = [await first, await second];
    expect(answers.map(({ status }) => status).sort()).toEqual([202, 409]);
    expect(await countOf(key)).toEqual({ jobs, records: 1 });
    const winner = answers.findIndex(({ status }) => status === 202);
    expect(await post(path, key, bodyOf(winner + 1))).toEqual({
      ...answers[winner],
      isReplay: true,
    });
  });

  test("a client that gave up gets the created job when it asks again (A19)", async () => {
    const key = freshKey();
    const openGate = await closeGate();
    const client = new AbortController();
    const abandoned = world.instance.fetch(
      new Request(`${PUBLIC_URL}${path}`, {
        method: "POST",
        headers: {
          authorization: `Bearer ${KEYS.acme}`,
          "content-type": "application/json",
          "idempotency-key": key,
        },
        body: JSON.stringify(bodyOf(1)),
        signal: client.signal,
      }),
    );
    await world.database.lockWaiters(1);
    client.abort();
    const again = post(path, key, bodyOf(1));
    await world.database.lockWaiters(2);
    await openGate();
    const answer = await again;
    expect([answer.status, answer.isReplay]).toEqual([202, true]);
    expect((await answerOf(abandoned)).text).toBe(answer.text);
    expect(await countOf(key)).toEqual({ jobs, records: 1 });
  });

  test("of 20 at once under one key one creates and publishes, the others repeat its answer (B01)", async () => {
    const key = freshKey();
    const { messages } = world.qstash.counts();
    const answers = await Promise.all(
      Array.from({ length: 20 }, () => post(path, key, bodyOf("same"))),
    );
    expect(new Set(answers.map(({ status, text }) => `${status} ${text}`)).size).toBe(1);
    expect(answers.filter(({ isReplay }) => !isReplay)).toHaveLength(1);
    expect(answers[0]?.status).toBe(202);
    expect(await countOf(key)).toEqual({ jobs, records: 1 });
    expect(world.qstash.counts().messages - messages).toBe(jobs);
  });

  test("of different requests at once under one key one wins, with all of its repeats (B01)", async () => {
    const key = freshKey();
    const answers = await Promise.all(
      Array.from({ length: 18 }, (_, at) => post(path, key, bodyOf(at % 3))),
    );
    const statuses = answers.map(({ status }) => status).sort();
    expect(statuses).toEqual([...Array(6).fill(202), ...Array(12).fill(409)]);
    const accepted = answers.flatMap(({ status }, at) => (status === 202 ? [at % 3] : []));
    expect(new Set(accepted).size).toBe(1);
    expect(await countOf(key)).toEqual({ jobs, records: 1 });
    const { rows } = await world.database.pg.query(
      "select distinct (payload_json ->> 'n')::int as n from jobs where idempotency_key = $1",
      [key],
    );
    expect(rows).toEqual([{ n: accepted[0] }]);
  });

  test.each(["jobs", "idempotency_records"])(
    "a failure at the write to %s leaves no key that points at nothing (B03)",
    async (table) => {
      const key = freshKey();
      const event = table === "jobs" ? "insert" : "update";
      await world.database.pg.query(
        `create trigger refused before ${event} on ${table} for each row execute function refuse()`,
      );
      expect((await post(path, key, bodyOf(1))).status).toBe(500);
      expect(await countOf(key)).toEqual({ jobs: 0, records: 0 });
      await world.database.pg.query(`drop trigger refused on ${table}`);
      const again = await post(path, key, bodyOf(1));
      expect([again.status, again.isReplay]).toEqual([202, false]);
      expect(await countOf(key)).toEqual({ jobs, records: 1 });
    },
  );

  test.each([
    ["crash_before", false],
    ["crash_after", true],
    ["fail", false],
    ["cut", true],
  ] as const)(
    "after %s at the create, the retry gets the one answer (B03)",
    async (fault, created) => {
      const key = freshKey();
      const instance = world.newInstance();
      instance.ports.rule = ({ method }) => (method === "create" ? fault : undefined);
      const broken = await answerOf(
        world.request("POST", path, { idempotencyKey: key, body: bodyOf(1), instance }),
      ).catch((error) => ({ status: isInstanceDeath(error) ? 0 : -1 }));
      expect(broken.status).toBe(fault.startsWith("crash") ? 0 : 503);
      const again = await post(path, key, bodyOf(1));
      expect([again.status, again.isReplay]).toEqual([202, created]);
      expect(await countOf(key)).toEqual({ jobs, records: 1 });
    },
  );

  test("purging never takes a record from under a repeated request (B08)", async () => {
    const keys = Array.from({ length: 50 }, freshKey);
    const isExpired = (at: number): boolean => at % 2 === 0;
    const create = (which: (at: number) => boolean) =>
      Promise.all(keys.map((key, at) => (which(at) ? post(path, key, bodyOf(1)) : undefined)));
    const old = await create(isExpired);
    await world.advance(24 * 3600 - 30);
    const young = await create((at) => !isExpired(at));
    await world.advance(60);
    const firsts = keys.map((_, at) => old[at] ?? young[at]);

    const [answers, sweeps] = await Promise.all([
      Promise.all(keys.map((key) => post(path, key, bodyOf(1)))),
      Promise.all(Array.from({ length: 5 }, () => world.sweep())),
    ]);
    for (const sweep of sweeps) expect(sweep).toMatchObject({ failedSteps: [] });
    for (const [at, answer] of answers.entries()) {
      expect([answer.status, answer.isReplay]).toEqual([202, !isExpired(at)]);
      expect(answer.text === firsts[at]?.text).toBe(!isExpired(at));
    }
    // Each answer is remembered from then on, together with its jobs.
    for (const [at, key] of keys.entries()) {
      expect(await post(path, key, bodyOf(1))).toEqual({ ...answers[at], isReplay: true });
    }
    const { rows } = await world.database.pg.query(
      `select count(*)::int from jobs j where idempotency_key = any($1)
       and created_at > now() - interval '1 minute' and not exists (
         select from idempotency_records r where r.idempotency_key = j.idempotency_key)`,
      [keys],
    );
    expect(rows).toEqual([{ count: 0 }]);
  });
});
