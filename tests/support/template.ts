import { readFile } from "node:fs/promises";
import { startNeon } from "../../dev/neon/server.js";
import { createDatabase, dropDatabase, withClient } from "../../dev/postgres/database.js";
import { readMigrations } from "../../src/cli/read-migrations.js";
import { migrate } from "../../src/storage/migrate.js";

/** The database of which every test database is a copy. */
export const TEMPLATE = "antrean_template";

/**
 * Tells a database whose schema, settings and statistics are those of the template.
 *
 * A copy has the object ids of its template, so what was dropped and made again is told too.
 */
export const FINGERPRINT = `select md5(concat_ws(' ',
  (select string_agg(concat_ws(' ', oid, relname, relnamespace, relkind, reloptions::text,
                               case when relkind = 'r' and reltuples > 0 then reltuples end), ' ' order by oid)
   from pg_class where oid >= 16384 and relnamespace <> 'pg_toast'::regnamespace),
  (select string_agg(concat_ws(' ', attrelid, attnum, attname, atttypid, attnotnull, atthasdef), ' '
                     order by attrelid, attnum)
   from pg_attribute where attrelid >= 16384),
  (select string_agg(concat_ws(' ', oid, adbin), ' ' order by oid) from pg_attrdef),
  (select string_agg(concat_ws(' ', oid, conname, convalidated, conbin), ' ' order by oid)
   from pg_constraint where oid >= 16384),
  (select string_agg(concat_ws(' ', oid, proname, prosrc, prosqlbody), ' ' order by oid)
   from pg_proc where oid >= 16384),
  (select string_agg(concat_ws(' ', oid, tgname, tgenabled), ' ' order by oid)
   from pg_trigger where oid >= 16384),
  (select string_agg(concat_ws(' ', starelid, staattnum), ' ' order by starelid, staattnum)
   from pg_statistic where starelid >= 16384),
  (select string_agg(setconfig::text, ' ' order by setrole)
   from pg_db_role_setting join pg_database on pg_database.oid = setdatabase
   where datname = current_database()),
  (select string_agg(migrations::text, ' ' order by migrations::text)
   from antrean_migrations as migrations)
)) as fingerprint`;

const TABLES = `select quote_ident(tablename) as name from pg_tables
  where schemaname = 'public' and tablename <> 'antrean_migrations'`;

const CLOCK = new URL("clock.sql", import.meta.url);

/** What tests know of the template. */
export interface Template {
  fingerprint: string;
  /** Tables that tests fill, quoted. */
  tables: string[];
}

/** Makes the template anew: the test clock, then the schema of the migrations. */
export async function buildTemplate(adminUrl: string): Promise<Template> {
  await dropDatabase(adminUrl, TEMPLATE);
  const url = await createDatabase(adminUrl, TEMPLATE);
  // The clock comes first: PostgreSQL decides when a table is made which now() a default means.
  await withClient(url, async (client) => client.query(await readFile(CLOCK, "utf8")));
  await applyMigrations(url);
  const template = await withClient(url, async (client) => {
    const { rows } = await client.query<{ fingerprint: string }>(FINGERPRINT);
    const { rows: tables } = await client.query<{ name: string }>(TABLES);
    return { fingerprint: rows[0]?.fingerprint ?? "", tables: tables.map(({ name }) => name) };
  });
  // A database cannot be copied while someone is connected to it, so from here on nobody may.
  await withClient(adminUrl, (client) =>
    client.query(`ALTER DATABASE ${TEMPLATE} ALLOW_CONNECTIONS false`),
  );
  return template;
}

/** By the production migrator, over the production driver. */
async function applyMigrations(databaseUrl: string): Promise<void> {
  const neon = await startNeon({ databaseUrl });
  try {
    const database = { databaseUrl, databaseHttpUrl: neon.endpoint };
    await migrate(database, await readMigrations());
  } finally {
    await neon.close();
  }
}
