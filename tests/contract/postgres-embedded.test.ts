import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { mkdtemp, readFile, rm, stat, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline/promises";
import { afterAll, beforeAll, beforeEach, describe, expect, inject, test } from "vitest";
import { close, listen } from "../../dev/listen.js";
import { createDatabase, dropDatabase, withClient } from "../../dev/postgres/database.js";
import { type EmbeddedPostgres, startPostgres } from "../../dev/postgres/embedded.js";
import { type TestDatabase, takeTestDatabase } from "../support/database.js";

async function query<Row>(url: string, sql: string): Promise<Row[]> {
  return withClient(url, async (client) => (await client.query(sql)).rows);
}

describe("the embedded PostgreSQL", () => {
  const settings = { fsync: "off" };
  let dataDir: string;
  let lockFile: string;

  beforeAll(async () => {
    dataDir = await mkdtemp(join(tmpdir(), "antrean-embedded-"));
    lockFile = join(dataDir, "cluster", "postmaster.pid");
    const postgres = await start();
    await query(postgres.url, "create table kept as select 1 as n");
    await postgres.stop();
  });
  afterAll(() => rm(dataDir, { recursive: true, force: true }));

  function start(port?: number): Promise<EmbeddedPostgres> {
    return startPostgres({ dataDir, settings, port });
  }

  async function expectToStart(): Promise<void> {
    const postgres = await start();
    expect(await query(postgres.url, "select n from kept")).toEqual([{ n: 1 }]);
    await postgres.stop();
  }

  async function readServerPid(): Promise<number> {
    return Number.parseInt(await readFile(lockFile, "utf8"), 10);
  }

  function isAlive(pid: number): boolean {
    try {
      return process.kill(pid, 0);
    } catch {
      return false;
    }
  }

  /** Starts Postgres from a process of its own, and returns when it is up. */
  async function startElsewhere(): Promise<ChildProcess> {
    const script = `
      import { startPostgres } from ${JSON.stringify(new URL("../../dev/postgres/embedded.ts", import.meta.url))};
      await startPostgres(${JSON.stringify({ dataDir, settings })});
      console.log("up");`;
    const args = ["--import", "tsx", "--input-type=module", "--eval", script];
    const owner = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "inherit"] });
    await once(createInterface(owner.stdout), "line");
    return owner;
  }

  test("data survives a stop and a start", expectToStart);

  test("stop leaves no process behind, and without persistence no data", async () => {
    const ownDir = await mkdtemp(join(tmpdir(), "antrean-embedded-"));
    const postgres = await startPostgres({ dataDir: ownDir, settings, persistent: false });
    const processes = await query<{ pid: number }>(
      postgres.url,
      "select pid from pg_stat_activity union all select pg_backend_pid()",
    );
    await postgres.stop();
    expect(processes.length).toBeGreaterThan(3);
    expect(processes.filter(({ pid }) => isAlive(pid))).toEqual([]);
    expect(existsSync(ownDir)).toBe(false);
  });

  test("stop does not wait for clients that are still connected", async () => {
    const postgres = await start();
    await withClient(postgres.url, async (client) => {
      await client.query("begin");
      await postgres.stop();
      await expect(client.query("select 1")).rejects.toThrow();
    });
  });

  test("Postgres ends with the process that started it, even if that is killed", async () => {
    const owner = await startElsewhere();
    const pid = await readServerPid();
    owner.kill("SIGKILL");
    await expect.poll(() => existsSync(lockFile)).toBe(false);
    expect(pid).toBeGreaterThan(0);
    await expectToStart();
  });

  test("a data folder can be used again at once after its owner was killed", async () => {
    const owner = await startElsewhere();
    owner.kill("SIGKILL");
    await expectToStart();
  });

  test("a data folder can be used again after Postgres itself was killed", async () => {
    const postgres = await start();
    process.kill(await readServerPid(), "SIGKILL");
    await postgres.stop();
    expect(existsSync(lockFile)).toBe(true);
    await expectToStart();
  });

  test("a lock that names another living process does not keep the data folder shut", async () => {
    const { uid, gid } = await stat(join(dataDir, "cluster"));
    const stranger = spawn("sleep", ["60"], { uid, gid });
    const port = 1;
    await writeFile(lockFile, [stranger.pid, join(dataDir, "cluster"), 0, port, ""].join("\n"));
    await expectToStart();
    stranger.kill();
  });

  test("a port that is taken is named", async () => {
    const server = createServer();
    const port = await listen(server, { port: 0, service: "a test" });
    await expect(start(port)).rejects.toThrow(`Port ${port} for Postgres is taken.`);
    await close(server);
  });

  test("a setting that Postgres refuses is told in its own words", async () => {
    const refused = startPostgres({ dataDir, settings: { max_connections: "many" } });
    await expect(refused).rejects.toThrow('invalid value for parameter "max_connections": "many"');
  });
});

test("a database is made from a template, and dropped while someone is connected", async () => {
  const adminUrl = inject("postgresAdminUrl");
  const original = await createDatabase(adminUrl, 'an "odd" name');
  await query(original, "create table copied as select 7 as n");
  const copy = await createDatabase(adminUrl, "a copy", { template: 'an "odd" name' });
  await withClient(copy, async (client) => {
    expect((await client.query("select n from copied")).rows).toEqual([{ n: 7 }]);
    await dropDatabase(adminUrl, "a copy");
  });
  await dropDatabase(adminUrl, 'an "odd" name');
  await dropDatabase(adminUrl, 'an "odd" name');
  await expect(query(copy, "select 1")).rejects.toMatchObject({ code: "3D000" });
});

describe("the clock of a test database", () => {
  let database: TestDatabase;

  beforeEach(async () => {
    database = await takeTestDatabase({ fresh: true });
    return () => database.release();
  });

  test("advance moves now() and column defaults, in every session, and no other database's", async () => {
    const other = await takeTestDatabase();
    const { rows: before } = await database.pg.query("select now() as at");
    await database.pg.query("create table stamped (id int, at timestamptz default now())");
    await database.advance(3600);
    await database.advance(0.5);
    await database.pg.query("insert into stamped (id) values (1)");
    const { rows } = await database.pg.query(
      `select now() - pg_catalog.now() = interval '1 hour 0.5 seconds' as moved,
              extract(epoch from at - $1::timestamptz)::float as seconds from stamped`,
      [before[0].at],
    );
    expect(rows[0].moved).toBe(true);
    expect(rows[0].seconds).toBeGreaterThanOrEqual(3600.4);
    const { rows: elsewhere } = await other.pg.query("select now() = pg_catalog.now() as same");
    expect(elsewhere).toEqual([{ same: true }]);
    await other.release();
  });

  test("a comparison with now() still uses an index", async () => {
    await database.pg.query(`
      create table due as select n, now() + make_interval(secs => n) as at
        from generate_series(1, 10000) as n;
      create index due_at on due (at);
      analyze due`);
    const { rows } = await database.pg.query("explain select n from due where at <= now()");
    const plan = rows.map((row) => row["QUERY PLAN"]).join("\n");
    expect(plan).toMatch(/Index Scan using due_at on due/);
    expect(plan).toMatch(/Index Cond: \(at <= now\(\)\)/);
  });

  test("DISCARD ALL keeps the clock in place", async () => {
    await database.advance(60);
    const client = await database.pg.connect();
    await client.query("set search_path = public");
    await client.query("discard all");
    const { rows } = await client.query("select now() > pg_catalog.now() as moved");
    client.release();
    expect(rows).toEqual([{ moved: true }]);
  });
});
