import { randomUUID } from "node:crypto";
import pg from "pg";
import { expect, inject } from "vitest";
import { type NeonStandIn, startNeon } from "../../dev/neon/server.js";
import { openSessions, PLANNED_ONCE, type Sessions } from "../../dev/neon/sessions.js";
import { createDatabase, dropDatabase, withClient } from "../../dev/postgres/database.js";
import { FINGERPRINT, TEMPLATE } from "./template.js";

/** As many as Neon would open for us is more than tests need, and each has to learn the catalogs; 8 are too few. */
const SESSIONS_MAX = 12;
const COPY_ATTEMPTS = 5;
/** Truncating also makes every session plan its statements anew. */
const TRUNCATED_FROM_BYTES = 256 * 1024;
const OBJECT_IN_USE = "55006";

/** A database of one's own with the application's schema, and the ways to it. */
export interface TestDatabase {
  url: string;
  /** The way the application takes. */
  neon: NeonStandIn;
  /** A direct way, for holding locks and looking behind the application's back. */
  pg: pg.Pool;
  /** Moves this database's now() on. */
  advance(seconds: number): Promise<void>;
  /** Returns as soon as exactly so many statements wait for a lock. */
  lockWaiters(count: number): Promise<void>;
  /** Copies the database as it is now; what it gives puts that state back, as often as one likes. */
  backUp(): Promise<() => Promise<void>>;
  /** Gives it back; whatever still wants something of it finds its way closed. */
  release(): Promise<void>;
}

/** What of a test database outlives the tests that had it. */
interface Kept {
  name: string;
  url: string;
  pool: pg.Pool;
  sessions: Sessions;
}

/**
 * Databases that nobody has at present, as good as new, the last one used at the end.
 *
 * To make one, and to have each of its sessions read the catalogs and plan the application's
 * statements anew, was a quarter of the work of the tiers flow and race.
 */
const idle: Kept[] = [];

export interface TestDatabaseOptions {
  /**
   * Made for these tests, and gone after them: they count pages, of which dead rows have some, or
   * change more than rows, and the sessions of the database that they would spoil know much by now.
   */
  fresh?: boolean;
}

/** Takes a database without a row, with a Neon stand-in in front of it. */
export async function takeTestDatabase({
  fresh = false,
}: TestDatabaseOptions = {}): Promise<TestDatabase> {
  const adminUrl = inject("postgresAdminUrl");
  const kept = (fresh ? undefined : idle.pop()) ?? (await makeDatabase(adminUrl));
  const { name, url, pool, sessions } = kept;
  const neon = await startNeon({ databaseUrl: url, sessions });
  const backups: string[] = [];
  return {
    url,
    neon,
    pg: pool,
    async advance(seconds) {
      await pool.query("update clock.offset_by set value = value + make_interval(secs => $1)", [
        seconds,
      ]);
    },
    async lockWaiters(count) {
      await expect.poll(() => countLockWaiters(pool)).toBe(count);
    },
    async backUp() {
      const backup = `${name}_backup`;
      backups.push(backup);
      await endSessions(adminUrl, name);
      await copyDatabase(adminUrl, name, backup);
      return async () => {
        await dropDatabase(adminUrl, name);
        await copyDatabase(adminUrl, backup, name);
      };
    },
    async release() {
      await neon.close();
      // What fails at it has been spoilt by its tests, too.
      const isAsNew = !fresh && backups.length === 0 && (await makeAsNew(pool).catch(() => false));
      if (isAsNew) {
        idle.push(kept);
        return;
      }
      // Not waited for: it would wait for a session that a test has not given back.
      void pool.end();
      await sessions.close();
      for (const each of [name, ...backups]) await dropDatabase(adminUrl, each);
    },
  };
}

async function makeDatabase(adminUrl: string): Promise<Kept> {
  const name = `${inject("databasePrefix")}${randomUUID().replaceAll("-", "")}`;
  const url = await copyDatabase(adminUrl, TEMPLATE, name);
  // The application's limit is for its statements; tests also make thousands of jobs in one.
  const options = `-c statement_timeout=60s ${PLANNED_ONCE}`;
  const pool = new pg.Pool({ connectionString: url, options, idleTimeoutMillis: 0 });
  // A test may terminate sessions, whether they are idle or in use.
  pool.on("error", () => {});
  pool.on("connect", (client) => client.on("error", () => {}));
  const sessions = openSessions(url, { maxConnections: SESSIONS_MAX, keepsState: true });
  return { name, url, pool, sessions };
}

/** Leaves nothing of what tests did; false where they did more than that can put right. */
async function makeAsNew(pool: pg.Pool): Promise<boolean> {
  if (!(await resetSessions(pool))) return false;
  const { rows } = await pool.query<{ fingerprint: string }>(FINGERPRINT);
  if (rows[0]?.fingerprint !== inject("templateFingerprint")) return false;
  await emptyTables(pool);
  await pool.query("update clock.offset_by set value = '0'");
  return true;
}

/** What DISCARD ALL does, but for plans, and for sequences, of which the schema has none. */
const RESET = `close all; set session authorization default; reset all; unlisten *;
  select pg_advisory_unlock_all(); discard temp`;

/** Takes back what sessions have set and locked; false if one is still in use, or in a transaction. */
async function resetSessions(pool: pg.Pool): Promise<boolean> {
  if (pool.idleCount < pool.totalCount) return false;
  const clients = await Promise.all(Array.from({ length: pool.totalCount }, () => pool.connect()));
  try {
    if (clients.some((client) => client.getTransactionStatus() !== "I")) return false;
    const resets = await Promise.allSettled(clients.map((client) => client.query(RESET)));
    return resets.every(({ status }) => status === "fulfilled");
  } finally {
    for (const client of clients) client.release();
  }
}

/**
 * Empties the tables of the schema; migrations and the clock stay.
 *
 * Deletes what is small: truncating makes new files for every table and index, which took 60 ms of
 * each test, and deleting 0.6. What grew big is truncated, or its dead rows would slow the next tests.
 */
export async function emptyTables(pool: pg.Pool): Promise<void> {
  const tables = inject("applicationTables");
  // As a subquery, so that the size is asked for once and not for each row.
  const deletes = tables.map(
    (name, n) =>
      `d${n} as (delete from ${name} where (select pg_relation_size(($1::text[])[${n + 1}]) <= $2))`,
  );
  const big = "select name from unnest($1::text[]) name where pg_relation_size(name) > $2";
  const { rows } = await pool.query<{ name: string }>({
    name: "empty-tables",
    text: `with ${deletes.join(", ")} ${big}`,
    values: [tables, TRUNCATED_FROM_BYTES],
  });
  if (rows.length > 0) await pool.query(`truncate ${rows.map(({ name }) => name).join(", ")}`);
}

async function copyDatabase(adminUrl: string, source: string, name: string): Promise<string> {
  for (let attempt = 1; ; attempt++) {
    try {
      const url = await createDatabase(adminUrl, name, { template: source });
      await copySettings(adminUrl, source, name);
      return url;
    } catch (error) {
      // Autovacuum may be in the source. PostgreSQL has waited five seconds for it by now.
      const inUse = (error as { code?: string }).code === OBJECT_IN_USE;
      if (!inUse || attempt === COPY_ATTEMPTS) throw error;
    }
  }
}

// What migrations and the clock set with ALTER DATABASE is not copied with the database.
async function copySettings(adminUrl: string, source: string, name: string): Promise<void> {
  await withClient(adminUrl, async (client) => {
    // By way of this session: a list such as search_path cannot be passed on as one quoted text.
    const { rows } = await client.query<{ setting: string }>(
      `select split_part(entry, '=', 1) as setting,
              set_config(split_part(entry, '=', 1), substr(entry, strpos(entry, '=') + 1), false)
       from pg_catalog.pg_db_role_setting, unnest(setconfig) as entry
       where setrole = 0 and setdatabase = (select oid from pg_database where datname = $1)`,
      [source],
    );
    for (const { setting } of rows) {
      await client.query(
        `ALTER DATABASE ${pg.escapeIdentifier(name)} SET ${pg.escapeIdentifier(setting)} FROM CURRENT`,
      );
    }
  });
}

/** A database is copied only while nobody is connected to it. */
async function endSessions(adminUrl: string, name: string): Promise<void> {
  await withClient(adminUrl, (client) =>
    client.query("select pg_terminate_backend(pid) from pg_stat_activity where datname = $1", [
      name,
    ]),
  );
}

async function countLockWaiters(pool: pg.Pool): Promise<number> {
  const { rows } = await pool.query<{ count: number }>(
    `select count(*)::int from pg_stat_activity
     where datname = current_database() and wait_event_type = 'Lock'`,
  );
  return rows[0]?.count ?? 0;
}
