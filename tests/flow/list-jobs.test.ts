import { describe, expect, test } from "vitest";
import * as z from "zod";
import { defineJob } from "../../src/core/define-job.js";
import { scripted, succeed, TYPE, throws } from "../support/flow-jobs.js";
import { setUpFlow } from "../support/flow-world.js";
import { KEYS } from "../support/world.js";

const flow = setUpFlow();
const OTHER_TYPE = "test.other";
const QUIET_TYPE = "test.quiet";

interface Page {
  items: Record<string, unknown>[];
  nextCursor: string | null;
}

/** The query may repeat a parameter. */
type Query = Record<string, string | number | string[]>;

function pathOf(query: Query): string {
  const pairs = Object.entries(query).flatMap(([name, value]) =>
    [value].flat().map((each) => [name, String(each)]),
  );
  return `/api/jobs?${new URLSearchParams(pairs)}`;
}

async function page(query: Query = {}, secret: string = KEYS.acme): Promise<Page> {
  const response = await flow.request("GET", pathOf(query), { secret });
  const body = await response.json();
  expect(response.status, JSON.stringify(body)).toBe(200);
  return body as Page;
}

/** Follows the cursor to the end; between two pages the test may do something. */
async function pages(query: Query, between: () => Promise<void> = async () => {}): Promise<Page[]> {
  const all: Page[] = [];
  for (let cursor: string | null | undefined; cursor !== null; ) {
    const next = await page(cursor === undefined ? query : { ...query, cursor });
    all.push(next);
    cursor = next.nextCursor;
    if (cursor !== null) await between();
  }
  return all;
}

const idsOf = (all: Page[]): unknown[] => all.flatMap(({ items }) => items.map(({ id }) => id));

async function codeOf(path: string, secret: string = KEYS.acme): Promise<string> {
  const response = await flow.request("GET", path, { secret });
  expect(response.headers.get("content-type")).toBe("application/problem+json");
  return `${response.status} ${((await response.json()) as { code: string }).code}`;
}

async function createMany(count: number, more: object = {}): Promise<string[]> {
  const jobs = Array.from({ length: count }, (_, n) => ({ type: TYPE, payload: n, ...more }));
  const response = await flow.request("POST", "/api/jobs/batch", { body: { jobs } });
  const answer = (await response.json()) as { jobs: { jobId: string }[] };
  return answer.jobs.map(({ jobId }) => jobId);
}

/** Jobs of the last type get no messages, which makes many of them cheap. */
const start = () =>
  flow.start([
    scripted(succeed()),
    scripted(throws("no"), {}, OTHER_TYPE),
    defineJob({ type: QUIET_TYPE, payload: z.unknown(), runsOn: "worker", run: succeed() }),
  ]);

describe("the pages of a list", () => {
  test("hold jobs that one statement made at one instant, each once (T01)", async () => {
    start();
    const created = await createMany(50);
    const all = await pages({ limit: 10 });
    expect(all.map(({ items }) => items.length)).toEqual([10, 10, 10, 10, 10]);
    expect(idsOf(all).sort()).toEqual(created.sort());
  });

  test("tell apart jobs that were made a microsecond apart", async () => {
    start();
    const created = await createMany(10);
    await flow.query(
      `update jobs j set created_at = timestamptz '2030-01-01 00:00:00.123400Z' + nth * interval '1 microsecond'
       from unnest($1::uuid[]) with ordinality as u(id, nth) where j.id = u.id`,
      [created],
    );
    expect(idsOf(await pages({ limit: 3 }))).toEqual(created.reverse());
  });

  test("show what was there throughout exactly once, while jobs come and change (T03)", async () => {
    start();
    const type = QUIET_TYPE;
    const present = [...(await createMany(500, { type })), ...(await createMany(500, { type }))];
    const changing = present.filter((_, n) => n % 10 === 3);
    const all = await pages({ limit: 100 }, async () => {
      await createMany(23, { type });
      const cancels = changing
        .splice(0, 12)
        .map((jobId) => flow.request("POST", `/api/jobs/${jobId}/cancel`));
      for (const { status } of await Promise.all(cancels)) expect(status).toBe(200);
    });
    expect(changing).toEqual([]);
    expect(idsOf(all).sort()).toEqual(present.sort());
  });

  test("count jobs and not their attempts (T07)", async () => {
    start();
    await createMany(3, { type: OTHER_TYPE, maxAttempts: 3 });
    await flow.runUntilIdle();
    const { items, nextCursor } = await page({ limit: 2 });
    expect(items).toMatchObject([
      { status: "dead_letter", attempts: 3, attemptsLeft: 0 },
      { status: "dead_letter", attempts: 3, attemptsLeft: 0 },
    ]);
    expect(nextCursor).not.toBeNull();
  });

  test("have the members of the job object but the large ones, newest first", async () => {
    start();
    const older = await flow.create(TYPE, { secret: 1 }, { dedupeKey: "a" });
    const newer = await flow.create(TYPE, { secret: 2 });
    await flow.qstash.deliverDue();
    const { items, nextCursor } = await page();
    const jobs = await Promise.all([newer, older].map((jobId) => flow.job(jobId)));
    expect(items).toEqual(jobs.map(({ payload, result, progress, ...summary }) => summary));
    expect(nextCursor).toBeNull();
  });

  test("cost one round trip each", async () => {
    start();
    await createMany(3);
    flow.database.neon.requests = 0;
    await page({ limit: 2, status: ["queued", "failed"], type: TYPE });
    expect(flow.database.neon.requests).toBe(1);
  });

  test("may be short where hardly anything fits, and lead to what does", async () => {
    start();
    const rare = await flow.create(TYPE, {});
    await flow.qstash.deliverDue();
    await flow.query(`insert into jobs (id, tenant, job_type, status, priority, max_attempts,
        payload_json, next_run_at, next_trigger_at, created_at, updated_at)
      select gen_random_uuid(), 'acme', '${TYPE}', 'queued', 0, 8, '{}', now(), now(), now(), now()
      from generate_series(1, 4500)`);
    const all = await pages({ status: "completed" });
    expect(all.map(({ items }) => items.length)).toEqual([0, 0, 1]);
    expect(idsOf(all)).toEqual([rare]);
    // Running jobs have an index of their own: they are found at once.
    expect(await page({ status: "processing" })).toEqual({ items: [], nextCursor: null });
  });
});

describe("the filters of a list", () => {
  test("pick by state, type, dedupe key and time, alone and together", async () => {
    start();
    const done = await flow.create(TYPE, {}, { dedupeKey: "k" });
    const dead = await flow.create(OTHER_TYPE, {}, { dedupeKey: "k", maxAttempts: 1 });
    await flow.qstash.deliverDue();
    const cancelled = await flow.create(TYPE, {}, { delaySeconds: 60 });
    await flow.request("POST", `/api/jobs/${cancelled}/cancel`);
    await flow.advance(1);
    const waiting = await flow.create(TYPE, {}, { dedupeKey: "k" });
    const { createdAt } = await flow.job(waiting);
    const expected: [Query, string[]][] = [
      [{}, [waiting, cancelled, dead, done]],
      [{ status: "queued" }, [waiting]],
      [{ status: "completed" }, [done]],
      [{ status: ["dead_letter", "cancelled"] }, [cancelled, dead]],
      [{ status: ["dead_letter", "queued"] }, [waiting, dead]],
      [{ type: OTHER_TYPE }, [dead]],
      [{ type: [OTHER_TYPE, TYPE, TYPE] }, [waiting, cancelled, dead, done]],
      [{ type: TYPE, status: ["dead_letter", "cancelled"] }, [cancelled]],
      [{ type: "test.unknown" }, []],
      [{ dedupeKey: "k" }, [waiting, dead, done]],
      [{ dedupeKey: "k", type: TYPE }, [waiting, done]],
      [{ dedupeKey: "k", status: "completed" }, [done]],
      [{ createdBefore: createdAt }, [cancelled, dead, done]],
      [{ createdAfter: createdAt }, [waiting]],
      [{ createdAfter: createdAt, createdBefore: createdAt }, []],
    ];
    for (const [query, jobIds] of expected) {
      expect(idsOf(await pages(query)), JSON.stringify(query)).toEqual(jobIds);
      expect(idsOf(await pages({ ...query, limit: 1 })), JSON.stringify(query)).toEqual(jobIds);
    }
  });

  test.each([
    "sort=created_at;select pg_sleep(5)",
    "dir=asc,(select 1)",
    "status=x' or '1'='1",
    "status=",
    "status=queued,failed",
    "tag=%25",
    "type=%25",
    "type=a' or 'a'='a",
    "limit=0",
    "limit=201",
    "limit=1e1",
    "limit=1&limit=2",
    "cursor=a&cursor=b",
    "dedupeKey=",
    "dedupeKey=a%00b",
    "dedupeKey=a&dedupeKey=b",
    "createdAfter=yesterday",
    "createdBefore=2030-02-30T00:00:00Z",
    "createdBefore=2030-01-01T00:00:00Z&createdBefore=2031-01-01T00:00:00Z",
  ])("refuse what is not on their lists: %s (R09)", async (query) => {
    start();
    expect(await codeOf(`/api/jobs?${query}`)).toBe("400 invalid_query");
  });
});

describe("a cursor", () => {
  test("that is broken, or of another list, is refused (T04)", async () => {
    start();
    await createMany(3);
    const { nextCursor } = await page({ limit: 1 });
    const cursor = nextCursor ?? "";
    const broken = [
      "",
      "%00",
      "\0",
      "bm90IGEgY3Vyc29y",
      "////",
      "{}",
      cursor.slice(0, -1),
      cursor.slice(0, 40),
      `${cursor}AAAA`,
      atob(cursor),
      btoa(atob(cursor).replace(/\.\d+\./, ".9999999999999999.")),
      btoa(atob(cursor).replace(/\.\d+\./, ".99999999999999999999.")),
    ];
    for (const each of broken) {
      expect(await codeOf(pathOf({ cursor: each })), each).toBe("400 invalid_cursor");
    }
    const others: Query[] = [
      { status: "queued" },
      { type: TYPE },
      { dedupeKey: "k" },
      { createdAfter: "2020-01-01T00:00:00Z" },
    ];
    for (const query of others) {
      const path = pathOf({ ...query, cursor });
      expect(await codeOf(path), path).toBe("400 invalid_cursor");
    }
    expect((await page({ cursor, limit: 2 })).items).toHaveLength(2);
  });

  test("is good for the same filters in another order and form", async () => {
    start();
    await createMany(3);
    const first = { status: ["queued", "failed"], createdAfter: "2020-01-01T00:00:00Z" };
    const { nextCursor } = await page({ ...first, limit: 1 });
    const again = { status: ["failed", "queued"], createdAfter: "2020-01-01T01:00:00.000+01:00" };
    expect((await page({ ...again, cursor: nextCursor ?? "" })).items).toHaveLength(2);
  });

  test("opens nobody else's list (R04)", async () => {
    start();
    await createMany(2);
    const { nextCursor } = await page({ limit: 1 });
    const path = pathOf({ cursor: nextCursor ?? "" });
    expect(await codeOf(path, KEYS.globex)).toBe("400 invalid_cursor");
    expect(await codeOf(path, KEYS.admin)).toBe("400 invalid_cursor");
  });
});

describe("who asks for jobs", () => {
  test("sees those of their own tenant, an admin all in one order (R04)", async () => {
    start();
    const theirs: string[] = [];
    for (const secret of [KEYS.acme, KEYS.globex, KEYS.acme, KEYS.admin]) {
      const body = { type: TYPE, payload: {} };
      const response = await flow.request("POST", "/api/jobs", { secret, body });
      theirs.unshift(((await response.json()) as { jobId: string }).jobId);
    }
    const [ofOps, newest, ofGlobex, oldest] = theirs;
    expect(idsOf([await page()])).toEqual([newest, oldest]);
    expect(idsOf([await page({}, KEYS.globex)])).toEqual([ofGlobex]);
    const first = await page({ limit: 3 }, KEYS.admin);
    expect(idsOf([first])).toEqual([ofOps, newest, ofGlobex]);
    const second = await page({ limit: 3, cursor: first.nextCursor ?? "" }, KEYS.admin);
    expect(second).toMatchObject({ items: [{ id: oldest }], nextCursor: null });
    expect(await codeOf("/api/jobs", "no-such-secret-00000")).toBe("401 unauthorized");
  });

  test("may ask with HEAD and OPTIONS", async () => {
    start();
    const head = await flow.request("HEAD", "/api/jobs?limit=2");
    expect([head.status, await head.text()]).toEqual([200, ""]);
    expect((await flow.request("HEAD", "/api/jobs?limit=x")).status).toBe(400);
    const options = await flow.request("OPTIONS", "/api/jobs");
    expect(options.status).toBe(204);
    expect(options.headers.get("allow")?.split(", ").sort().join()).toBe("GET,HEAD,OPTIONS,POST");
  });
});
