import { neon, neonConfig } from "@neondatabase/serverless";
import { sql as drizzleSql } from "drizzle-orm";
import { drizzle } from "drizzle-orm/neon-http";
import { integer, pgTable, text } from "drizzle-orm/pg-core";
import {
  afterAll,
  afterEach,
  beforeAll,
  beforeEach,
  describe,
  expect,
  onTestFinished,
  test,
} from "vitest";
import { type NeonStandIn, startNeon } from "../../dev/neon/server.js";
import { type TestDatabase, takeTestDatabase } from "../support/database.js";

// Neither host, nor user, nor database of it exist.
const CONNECTION_STRING = "postgres://nobody:secret@nowhere.invalid/nothing";

const sql = neon(CONNECTION_STRING, { fullResults: true });
const db = drizzle({ client: neon(CONNECTION_STRING) });
const things = pgTable("things", {
  id: integer().primaryKey(),
  name: text().notNull(),
});

let database: TestDatabase;
/** As the local mode has it; that of other tests is spared the work of forgetting. */
let shared: NeonStandIn;

beforeAll(async () => {
  database = await takeTestDatabase({ fresh: true });
  shared = await startNeon({ databaseUrl: database.url });
  await database.pg.query("create table things (id int primary key, name text not null)");
});
beforeEach(async () => {
  neonConfig.fetchEndpoint = shared.endpoint;
  shared.requests = 0;
  await database.pg.query("truncate things; insert into things values (1, 'one'), (2, 'two')");
});
afterEach(() => void shared.setFault(null));
afterAll(async () => {
  await shared.close();
  await database.release();
});

async function withStandIn(
  options: { maxConnections: number },
  use: (standIn: NeonStandIn) => Promise<void>,
): Promise<void> {
  const standIn = await startNeon({ databaseUrl: database.url, ...options });
  neonConfig.fetchEndpoint = standIn.endpoint;
  try {
    await use(standIn);
  } finally {
    await standIn.close();
  }
}

function post(body: string, headers: Record<string, string> = {}): Promise<Response> {
  return fetch(shared.endpoint, { method: "POST", body, headers });
}

async function nameOf(id: number): Promise<string> {
  const { rows } = await database.pg.query("select name from things where id = $1", [id]);
  return rows[0]?.name;
}

describe("values", () => {
  test("every value reaches the driver as Postgres wrote it, and is parsed by its type", async () => {
    const { rows, fields, rowCount, command } = await sql`
      select 1 as i, 2::bigint as b, true as t, null as n, '{"a":[1]}'::jsonb as j,
             array['x', 'y,z'] as a, timestamptz '2030-01-02 03:04:05.123456Z' as at`;
    expect(rows).toEqual([
      {
        i: 1,
        b: "2",
        t: true,
        n: null,
        j: { a: [1] },
        a: ["x", "y,z"],
        // Drizzle switches the driver's own parsing of times off, for the whole process.
        at: "2030-01-02 03:04:05.123456+00",
      },
    ]);
    expect({ rowCount, command }).toEqual({ rowCount: 1, command: "SELECT" });
    expect(fields[0]).toMatchObject({ name: "i", dataTypeID: 23, format: "text" });
  });

  test("array mode keeps columns of the same name apart", async () => {
    const { rows } = await sql.query("select 1 as x, 2 as x", [], { arrayMode: true });
    expect(rows).toEqual([[1, 2]]);
  });

  test("parameters arrive unchanged, whatever their type or characters", async () => {
    const awkward = 'it\'s "ünï\\code" 🚀; drop table things --';
    const { rows } = await sql`select ${awkward}::text as s, ${null}::int as n, ${7}::int as i,
      ${false}::bool as b, ${{ a: "b" }}::jsonb as j, ${["p", "q"]}::text[] as l,
      ${Buffer.from([0, 255])}::bytea as y`;
    expect(rows).toEqual([
      {
        s: awkward,
        n: null,
        i: 7,
        b: false,
        j: { a: "b" },
        l: ["p", "q"],
        y: Buffer.from([0, 255]),
      },
    ]);
  });

  test("drizzle's raw execute gives timestamps and counts as text, its builder as declared", async () => {
    const raw = await db.execute(
      drizzleSql`select count(*) as n, timestamptz '2030-01-01Z' as at from things`,
    );
    expect(raw.rows).toEqual([{ n: "2", at: "2030-01-01 00:00:00+00" }]);
    expect(await db.select().from(things).orderBy(things.id)).toEqual([
      { id: 1, name: "one" },
      { id: 2, name: "two" },
    ]);
  });
});

describe("errors", () => {
  test("a failed statement carries the fields of Postgres, also through drizzle", async () => {
    const fields = { code: "23505", severity: "ERROR", constraint: "things_pkey", table: "things" };
    await expect(sql`insert into things values (1, 'again')`).rejects.toMatchObject({
      ...fields,
      detail: "Key (id)=(1) already exists.",
    });
    await expect(db.insert(things).values({ id: 1, name: "again" })).rejects.toMatchObject({
      cause: fields,
    });
  });

  test("several statements in one text are refused and none is run, with and without parameters", async () => {
    const refused = { code: "42601" };
    await expect(sql.query("delete from things; select 1")).rejects.toMatchObject(refused);
    await expect(
      sql.query("delete from things where id = $1; select 1", [1]),
    ).rejects.toMatchObject(refused);
    expect(await nameOf(1)).toBe("one");
  });

  test("what is no request of the driver is refused with a message, and never run", async () => {
    for (const body of ["{", "[]", "null", '{"query":1}', '{"queries":[{}]}', '{"params":[]}']) {
      const response = await post(body);
      expect(response.status, body).toBe(400);
      expect(await response.json()).toEqual({
        message: expect.stringContaining("could not parse the HTTP request body"),
      });
    }
    const headers = { "Neon-Batch-Isolation-Level": "Sometimes" };
    expect((await post('{"queries":[]}', headers)).status).toBe(400);
    expect((await fetch(new URL("/", shared.endpoint))).status).toBe(404);
    expect(shared.requests).toBe(0);
  });
});

describe("batches", () => {
  test("a batch is one transaction and one request", async () => {
    const rename = db.update(things).set({ name: "renamed" }).returning({ id: things.id });
    const txid = drizzleSql<string>`pg_current_xact_id()::text`;
    const [renamed, before, after] = await db.batch([
      rename,
      db.select({ txid }).from(things).limit(1),
      db.select({ txid }).from(things).limit(1),
    ]);
    expect(renamed).toHaveLength(2);
    expect(before).toEqual(after);
    expect(shared.requests).toBe(1);
  });

  test("a batch that fails changes nothing and gives its SQLSTATE", async () => {
    const batch = db.batch([
      db.delete(things),
      db.insert(things).values({ id: 3, name: drizzleSql`null` }),
    ]);
    await expect(batch).rejects.toMatchObject({ name: "NeonDbError", code: "23502" });
    expect(await nameOf(1)).toBe("one");
  });

  test("isolation level, read only and deferrable are honoured", async () => {
    const modes = sql`select current_setting('transaction_isolation') as isolation,
      current_setting('transaction_read_only') as read_only,
      current_setting('transaction_deferrable') as deferrable`;
    const [strict] = await sql.transaction([modes], {
      isolationLevel: "Serializable",
      readOnly: true,
      deferrable: true,
    });
    expect(strict?.rows).toEqual([
      { isolation: "serializable", read_only: "on", deferrable: "on" },
    ]);
    const [plain] = await sql.transaction([modes], { readOnly: false });
    expect(plain?.rows).toEqual([
      { isolation: "read committed", read_only: "off", deferrable: "off" },
    ]);
  });
});

test.each(["Sloppy", "constructor"])("isolation level %s is refused", async (level) => {
  const response = await fetch(shared.endpoint, {
    method: "POST",
    headers: { "Neon-Batch-Isolation-Level": level },
    body: JSON.stringify({ queries: [{ query: "select 1" }] }),
  });
  expect([response.status, await response.json()]).toMatchObject([
    400,
    { message: "invalid isolation level" },
  ]);
});

describe("sessions", () => {
  test("no setting, temporary table or advisory lock outlives a request", async () => {
    await withStandIn({ maxConnections: 1 }, async () => {
      await sql.transaction([
        sql`set application_name = 'left over'`,
        sql`create temporary table things as select 9 as id`,
        sql`select pg_advisory_lock(1)`,
      ]);
      const { rows } = await sql`select current_setting('application_name') as name,
        (select count(*)::int from things) as things,
        (select count(*)::int from pg_locks
         where locktype = 'advisory' and pid = pg_backend_pid()) as locks`;
      expect(rows).toEqual([{ name: "", things: 2, locks: 0 }]);
    });
  });

  test("a transaction that a request leaves open ends with the request", async () => {
    await withStandIn({ maxConnections: 1 }, async () => {
      await sql`begin`;
      await sql`delete from things`;
      const { rows } = await sql`select pg_current_xact_id_if_assigned() as open`;
      expect(rows).toEqual([{ open: null }]);
    });
    expect(await nameOf(1)).toBeUndefined();
  });

  test("the search path of the database is kept over requests", async () => {
    await withStandIn({ maxConnections: 1 }, async () => {
      await sql`set search_path = elsewhere`;
      expect((await sql`show search_path`).rows).toEqual([
        { search_path: "public, clock, pg_catalog" },
      ]);
    });
  });
});

describe("concurrency", () => {
  test("forty requests race for ten rows, and each row is taken once", async () => {
    await sql`insert into things select n, 'free' from generate_series(10, 19) as n`;
    const claim = () => sql`
      with picked as (
        select id from things where name = 'free' limit 1 for update skip locked
      )
      update things set name = 'taken' from picked where things.id = picked.id returning things.id`;
    const claims = await Promise.all(Array.from({ length: 40 }, claim));
    const ids = claims.flatMap(({ rows }) => rows.map(({ id }) => id));
    expect(ids.toSorted()).toEqual([10, 11, 12, 13, 14, 15, 16, 17, 18, 19]);
  });

  test("requests wait for a row lock together, and go on when it is released", async () => {
    const holder = await database.pg.connect();
    await holder.query("begin; update things set name = '' where id = 1");
    const updates = Array.from(
      { length: 30 },
      () => sql`update things set name = name || 'x' where id = 1`,
    ).map((query) => query.then());
    await database.lockWaiters(30);
    await holder.query("commit");
    holder.release();
    await Promise.all(updates);
    expect(await nameOf(1)).toBe("x".repeat(30));
  });

  test("a deadlock between two batches fails exactly one of them with 40P01", async () => {
    const touch = (id: number) => sql`update things set name = name || 'x' where id = ${id}`;
    // Takes the second row only when the other batch has the first of its own.
    const meet = sql`select pg_advisory_xact_lock_shared(7)`;
    const holder = await database.pg.connect();
    onTestFinished(() => holder.release());
    await holder.query("begin; select pg_advisory_xact_lock(7)");
    const failures: unknown[] = [];
    const batches = [
      sql.transaction([touch(1), meet, touch(2)]),
      sql.transaction([touch(2), meet, touch(1)]),
    ].map((batch) => batch.catch((error) => failures.push(error)));
    await Promise.race([database.lockWaiters(2), ...batches]);
    expect(failures, "both wait until they have met").toEqual([]);
    await holder.query("commit");
    await Promise.all(batches);
    expect(failures).toEqual([expect.objectContaining({ code: "40P01" })]);
  });
});
