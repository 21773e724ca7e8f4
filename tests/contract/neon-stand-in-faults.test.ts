import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { neon, neonConfig } from "@neondatabase/serverless";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { startNeon } from "../../dev/neon/server.js";
import { startPostgres } from "../../dev/postgres/embedded.js";
import { type TestDatabase, takeTestDatabase } from "../support/database.js";
import { mountInProcess } from "../support/in-process.js";

const CONNECTION_STRING = "postgres://nobody:secret@nowhere.invalid/nothing";
const sql = neon(CONNECTION_STRING);
const BROKEN = "Error connecting to database";

let database: TestDatabase;

beforeAll(async () => {
  database = await takeTestDatabase({ fresh: true });
  await database.pg.query("create table things (id int primary key, name text not null)");
});
beforeEach(async () => {
  neonConfig.fetchEndpoint = database.neon.endpoint;
  await database.pg.query("truncate things; insert into things values (1, 'one'), (2, 'two')");
});
afterEach(() => {
  database.neon.setFault(null);
});
afterAll(() => database.release());

async function nameOf(id: number): Promise<string> {
  const { rows } = await database.pg.query("select name from things where id = $1", [id]);
  return rows[0]?.name;
}

function rename(name: string, signal?: AbortSignal): Promise<unknown> {
  const options = signal ? { fetchOptions: { signal } } : {};
  return sql.query("update things set name = $1 where id = 1", [name], options).then();
}

/** Most tests go the second way, and have to see the same. */
const WAYS = [
  { way: "over a socket", mount: () => () => {} },
  {
    way: "in this process",
    mount: () => mountInProcess(database.neon.endpoint, database.neon.service),
  },
];

describe.each(WAYS)("$way", ({ mount }) => {
  let unmount: () => void;
  beforeEach(() => {
    unmount = mount();
  });
  afterEach(() => unmount());

  describe("faults", () => {
    test("a refused request runs nothing and breaks the connection", async () => {
      database.neon.setFault({ action: "refuse" });
      await expect(rename("refused")).rejects.toThrow(BROKEN);
      expect(await nameOf(1)).toBe("one");
    });

    test.each([500, 503] as const)("a request answered with %d runs nothing", async (status) => {
      database.neon.setFault({ action: "status", status });
      await expect(rename("unavailable")).rejects.toThrow(`HTTP status ${status}`);
      expect(await nameOf(1)).toBe("one");
    });

    test("a lost answer leaves what was asked for committed, and hides an error too", async () => {
      database.neon.setFault({ action: "lose-answer" });
      await expect(rename("committed")).rejects.toThrow(BROKEN);
      await expect(sql.transaction([sql`delete from things where id = 2`])).rejects.toThrow(BROKEN);
      await expect(sql`insert into things values (1, 'again')`.then()).rejects.toThrow(BROKEN);
      expect([await nameOf(1), await nameOf(2)]).toEqual(["committed", undefined]);
    });

    test("a hanging request runs nothing, and its client can give up", async () => {
      const { struck } = database.neon.setFault({ action: "hang" });
      const client = new AbortController();
      const renamed = rename("never", client.signal);
      await struck;
      client.abort();
      await expect(renamed).rejects.toThrow("abort");
      expect(await nameOf(1)).toBe("one");
    });

    test("a hanging request is cut when the fault is cleared, and runs nothing", async () => {
      const { struck } = database.neon.setFault({ action: "hang" });
      const renamed = rename("never");
      await struck;
      database.neon.setFault(null);
      await expect(renamed).rejects.toThrow(BROKEN);
      expect(await nameOf(1)).toBe("one");
    });

    test("a delayed request runs when it is released, and not before", async () => {
      const release = Promise.withResolvers<void>();
      const { struck } = database.neon.setFault({ action: "delay", until: release.promise });
      const renamed = rename("late");
      await struck;
      expect(await nameOf(1)).toBe("one");
      release.resolve();
      await renamed;
      expect(await nameOf(1)).toBe("late");
    });

    test("a fault for the n-th request spares those before and after it", async () => {
      database.neon.setFault({ action: "status", status: 503, nth: 2 });
      await rename("first");
      await expect(rename("second")).rejects.toThrow("503");
      await rename("third");
      expect(await nameOf(1)).toBe("third");
    });

    test("a fault for some statements spares the others and counts only its own", async () => {
      const matching = (text: string) => text.startsWith("update");
      database.neon.setFault({ action: "refuse", nth: 2, matching });
      await sql`select 1`;
      await rename("first");
      await sql`select 1`;
      await expect(
        sql.transaction([sql`select 1`, sql`update things set name = ''`]),
      ).rejects.toThrow(BROKEN);
      expect(await nameOf(1)).toBe("first");
    });
  });

  describe("aborts", () => {
    test("an aborted request stops waiting for its lock and changes nothing", async () => {
      const holder = await database.pg.connect();
      await holder.query("begin; update things set name = 'held' where id = 1");
      const client = new AbortController();
      const renamed = rename("aborted", client.signal);
      await database.lockWaiters(1);
      client.abort();
      await expect(renamed).rejects.toThrow("abort");
      await database.lockWaiters(0);
      await holder.query("commit");
      holder.release();
      expect(await nameOf(1)).toBe("held");
    });

    test("an aborted batch gives back the locks that it holds already", async () => {
      const holder = await database.pg.connect();
      await holder.query("begin; update things set name = 'held' where id = 1");
      const client = new AbortController();
      const batch = sql.transaction(
        [sql`update things set name = 'batch' where id = 2`, sql`update things set name = 'batch'`],
        { fetchOptions: { signal: client.signal } },
      );
      const failed = expect(batch).rejects.toThrow("abort");
      await database.lockWaiters(1);
      client.abort();
      await failed;
      // Would wait for ever if the batch still had the row.
      await holder.query("update things set name = 'free' where id = 2");
      await holder.query("commit");
      holder.release();
      expect(await nameOf(2)).toBe("free");
    });
  });
});

describe("a stand-in of its own", () => {
  test("a request aborted before a session is free for it is never run", async () => {
    const standIn = await startNeon({ databaseUrl: database.url, maxConnections: 1 });
    neonConfig.fetchEndpoint = standIn.endpoint;
    const holder = await database.pg.connect();
    await holder.query("begin; update things set name = 'held' where id = 2");
    const first = sql`update things set name = 'first' where id = 2`.then();
    await database.lockWaiters(1);
    const client = new AbortController();
    const queued = rename("queued", client.signal);
    await expect.poll(() => standIn.requests).toBe(2);
    client.abort();
    await expect(queued).rejects.toThrow("abort");
    await holder.query("commit");
    holder.release();
    await first;
    await standIn.close();
    expect(await nameOf(1)).toBe("one");
  });

  test("closing the stand-in ends requests that wait for a lock or hang", async () => {
    const standIn = await startNeon({ databaseUrl: database.url });
    neonConfig.fetchEndpoint = standIn.endpoint;
    const holder = await database.pg.connect();
    await holder.query("begin; update things set name = 'held' where id = 1");
    const waiting = expect(rename("waiting")).rejects.toThrow(BROKEN);
    await database.lockWaiters(1);
    const { struck } = standIn.setFault({ action: "hang" });
    const hanging = expect(rename("hanging")).rejects.toThrow(BROKEN);
    await struck;
    await standIn.close();
    await Promise.all([waiting, hanging]);
    await database.lockWaiters(0);
    await holder.query("rollback");
    holder.release();
  });
});

describe("a database that goes away", () => {
  test("a session that is terminated fails its request with the SQLSTATE, and no other", async () => {
    const holder = await database.pg.connect();
    await holder.query("begin; update things set name = 'held' where id = 1");
    const renamed = rename("terminated");
    const failed = expect(renamed).rejects.toMatchObject({ code: "57P01" });
    await database.lockWaiters(1);
    await database.pg.query(
      `select pg_terminate_backend(pid) from pg_stat_activity
       where datname = current_database() and wait_event_type = 'Lock'`,
    );
    await failed;
    await holder.query("rollback");
    holder.release();
    await rename("after");
    expect(await nameOf(1)).toBe("after");
  });

  test("requests fail while Postgres is down, and work again when it is back", async () => {
    const dataDir = await mkdtemp(join(tmpdir(), "antrean-restart-"));
    const settings = { fsync: "off" };
    const before = await startPostgres({ dataDir, settings });
    const standIn = await startNeon({ databaseUrl: before.url });
    neonConfig.fetchEndpoint = standIn.endpoint;
    await Promise.all([sql`select 1`, sql`select 2`]);
    await before.stop();
    await expect(sql`select 1`.then()).rejects.toThrow("HTTP status 500");
    const after = await startPostgres({
      dataDir,
      settings,
      port: before.port,
      persistent: false,
    });
    expect(await sql`select 1 as one`).toEqual([{ one: 1 }]);
    await standIn.close();
    await after.stop();
  });
});
