/** Applies migrations, each file whole or not at all. */

import { type NeonQueryFunction, neon } from "@neondatabase/serverless";
import { configureEndpoint } from "./client.js";

/** One file of `drizzle/`, cut at its breakpoints. */
export interface Migration {
  /** File name without `.sql`; files apply in the order of their names. */
  name: string;
  text: string;
}

/** The newest file in `drizzle/`; readiness compares the database with it. */
export const LATEST_MIGRATION = "0003_autovacuum";

/** An arbitrary number that names our lock: migrators wait for each other. */
const LOCK_KEY = 5_174_026_113;
const BREAKPOINT = "--> statement-breakpoint";

/**
 * Applies the migrations that the database does not have yet, and gives their names.
 *
 * Shape:  one transaction a file, with an advisory lock and the file's journal row; drizzle's own
 *         migrator for this driver is not atomic.
 * Errors: a file that was changed after it was applied; whatever Postgres refuses.
 * Repeat: a rival's journal row makes the second transaction fail whole; the next look skips it.
 */
export async function migrate(
  options: { databaseUrl: string; databaseHttpUrl: string | undefined },
  migrations: Migration[],
): Promise<string[]> {
  configureEndpoint(options.databaseUrl, options.databaseHttpUrl);
  const sql = neon(options.databaseUrl);
  const applied: string[] = [];
  await sql.transaction([
    sql`select pg_advisory_xact_lock(${LOCK_KEY})`,
    sql`create table if not exists antrean_migrations (
      name text primary key, hash text not null, applied_at timestamptz not null default now())`,
  ]);
  for (const { name, text } of [...migrations].sort((a, b) => (a.name < b.name ? -1 : 1))) {
    const hash = await hashOf(text);
    if (await isApplied(sql, name, hash)) continue;
    const statements = text.split(BREAKPOINT).filter((statement) => statement.trim());
    try {
      await sql.transaction([
        sql`select pg_advisory_xact_lock(${LOCK_KEY})`,
        sql`insert into antrean_migrations (name, hash) values (${name}, ${hash})`,
        ...statements.map((statement) => sql.query(statement)),
      ]);
      applied.push(name);
    } catch (error) {
      // A rival may have applied the very same file in between.
      if (!(await isApplied(sql, name, hash))) throw error;
    }
  }
  return applied;
}

async function isApplied(
  sql: NeonQueryFunction<false, false>,
  name: string,
  hash: string,
): Promise<boolean> {
  const rows = (await sql`select hash from antrean_migrations where name = ${name}`) as {
    hash: string;
  }[];
  const [row] = rows;
  if (row && row.hash !== hash) {
    throw new Error(`migration ${name} was changed after it was applied; write a new one instead`);
  }
  return row !== undefined;
}

async function hashOf(text: string): Promise<string> {
  const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text));
  return Array.from(new Uint8Array(digest), (byte) => byte.toString(16).padStart(2, "0")).join("");
}
