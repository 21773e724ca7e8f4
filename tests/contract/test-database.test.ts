/** The databases that the tests of a worker hand on to each other. */

import { neon } from "@neondatabase/serverless";
import { describe, expect, inject, onTestFinished, test } from "vitest";
import { configureEndpoint } from "../../src/storage/client.js";
import { type TestDatabase, takeTestDatabase } from "../support/database.js";
import { FINGERPRINT } from "../support/template.js";

/** Does something to a database, gives it back, and takes the next one. */
async function handOn(use: (database: TestDatabase) => Promise<unknown>) {
  const before = await takeTestDatabase();
  await use(before);
  await before.release();
  const next = await takeTestDatabase();
  onTestFinished(() => next.release());
  return { before, next, isSame: next.url === before.url };
}

describe("what the next test gets", () => {
  test("is the same database without a row, with its clock set back", async () => {
    const { next, isSame } = await handOn(async ({ pg, advance }) => {
      await pg.query("insert into type_state (job_type, paused_at) values ('left.over', now())");
      await advance(3600);
    });
    expect(isSame).toBe(true);
    const { rows } = await next.pg.query(`select now() = pg_catalog.now() as "isNow",
      (select count(*)::int from type_state) as rows`);
    expect(rows).toEqual([{ isNow: true, rows: 0 }]);
  });

  test("has no setting, role, temporary table, lock, cursor or subscription of the sessions before", async () => {
    const { next, isSame } = await handOn(async ({ pg }) => {
      const client = await pg.connect();
      await client.query("set search_path = pg_catalog; select pg_advisory_lock(1)");
      await client.query("create temporary table jobs (id int)");
      await client.query("declare kept cursor with hold for select 1");
      await client.query("listen news; set role pg_monitor");
      client.release();
    });
    expect(isSame).toBe(true);
    // On every session that was handed on, since a query takes any of them.
    const clients = await Promise.all(
      Array.from({ length: next.pg.totalCount }, () => next.pg.connect()),
    );
    for (const client of clients) {
      const { rows } = await client.query(`select current_setting('search_path') as path,
        to_regclass('pg_temp.jobs') as jobs,
        (select count(*)::int from pg_locks where locktype = 'advisory' and pid = pg_backend_pid()) as locks,
        (select count(*)::int from pg_cursors where is_holdable) as cursors,
        (select count(*)::int from pg_listening_channels()) as channels, current_user as role`);
      client.release();
      const none = { jobs: null, locks: 0, cursors: 0, channels: 0 };
      expect(rows).toEqual([{ path: "public, clock, pg_catalog", ...none, role: "postgres" }]);
    }
  });

  test("has tables as empty when they had grown big, which are truncated", async () => {
    const { next, isSame } = await handOn(({ pg }) =>
      pg.query(
        "insert into type_state (job_type) select repeat('a', 90) || n from generate_series(1, 4000) n",
      ),
    );
    expect(isSame).toBe(true);
    const { rows } = await next.pg.query("select pg_relation_size('type_state')::int as bytes");
    expect(rows).toEqual([{ bytes: 0 }]);
  });

  test("cannot be reached by what the test before has left running", async () => {
    const { before } = await handOn(({ pg }) => pg.query("select 1"));
    await expect(fetch(before.neon.endpoint, { method: "POST" })).rejects.toThrow("fetch failed");
  });
});

describe("a session of the stand-in", () => {
  /** The same statements on one session, as long as it is kept. */
  async function oneSession() {
    const database = await takeTestDatabase();
    onTestFinished(() => database.release());
    configureEndpoint(database.url, database.neon.endpoint);
    return { database, sql: neon(database.url) };
  }

  test("is kept after a statement that was refused, since it has learned the catalogs", async () => {
    const { sql } = await oneSession();
    const before = await sql`select pg_backend_pid() as pid`;
    await expect(sql`select 1 / 0`).rejects.toThrow("division by zero");
    expect(await sql`select pg_backend_pid() as pid`).toEqual(before);
  });

  test("is not kept with a plan that its table has outgrown", async () => {
    const { sql, database } = await oneSession();
    await sql`select * from type_state`;
    await database.pg.query("alter table type_state add column note text");
    await expect(sql`select * from type_state`).rejects.toThrow("must not change result type");
    expect(await sql`select * from type_state`).toEqual([]);
  });
});

describe("the fingerprint of a database", () => {
  test.each([
    ["a table is new", "create table things (id int)"],
    ["an index is gone", "drop index alerts_open"],
    ["a column has another name", "alter table jobs rename progress_json to progress"],
    ["a default is another", "alter table type_state alter probes set default 3"],
    ["a check is gone", "alter table type_state drop constraint type_state_probes_counted"],
    [
      "a trigger is new",
      "create trigger t before update on jobs for each row execute function suppress_redundant_updates_trigger()",
    ],
    ["a table is kept in another way", "alter table jobs set (fillfactor = 50)"],
    [
      "the clock is another",
      "create or replace function clock.now() returns timestamptz language sql return pg_catalog.now()",
    ],
    ["no migration is recorded", "delete from antrean_migrations"],
  ])("is another when %s", async (_, sql) => {
    const database = await takeTestDatabase();
    onTestFinished(() => database.release());
    const client = await database.pg.connect();
    onTestFinished(() => client.release());
    const fingerprint = async () => (await client.query(FINGERPRINT)).rows[0].fingerprint;
    await client.query("begin");
    onTestFinished(async () => void (await client.query("rollback")));
    expect(await fingerprint()).toBe(inject("templateFingerprint"));
    await client.query(sql);
    expect(await fingerprint()).not.toBe(inject("templateFingerprint"));
  });
});

describe("a database is not handed on", () => {
  test.each([
    ["a table is new", "create table things (id int)"],
    [
      "the planner knows how many rows there were",
      "insert into type_state (job_type) values ('a'); analyze type_state; delete from pg_statistic",
    ],
    [
      "the planner knows what the rows were",
      "insert into type_state (job_type) values ('a'); analyze type_state; truncate type_state",
    ],
  ])("in which %s", async (_, sql) => {
    const { isSame } = await handOn(({ pg }) => pg.query(sql));
    expect(isSame).toBe(false);
  });

  test("that was made for its tests alone", async () => {
    const warm = await takeTestDatabase();
    await warm.release();
    const fresh = await takeTestDatabase({ fresh: true });
    expect(fresh.url).not.toBe(warm.url);
    await fresh.release();
    const next = await takeTestDatabase();
    onTestFinished(() => next.release());
    expect(next.url).toBe(warm.url);
  });

  test("whose settings are others", async () => {
    const { isSame } = await handOn(({ pg }) =>
      pg.query(`do $$ begin
        execute format('alter database %I set work_mem = ''1MB''', current_database());
      end $$`),
    );
    expect(isSame).toBe(false);
  });

  test("with a session in a transaction, or one that was not given back", async () => {
    const open = await handOn(async ({ pg }) => {
      const client = await pg.connect();
      await client.query("begin; lock table jobs");
      client.release();
    });
    expect(open.isSame).toBe(false);
    const kept = await handOn(async ({ pg }) => {
      const client = await pg.connect();
      onTestFinished(() => client.release());
    });
    expect(kept.isSame).toBe(false);
  });
});
