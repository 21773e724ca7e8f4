/** Clocks that run many times faster than real time, all alike, so that minutes of a soak are hours. */

import type pg from "pg";
import type { Qstash } from "../../dev/qstash/start.js";

/** With this search path, now() in the application's own SQL is clock.now(). */
const CLOCK = `
create schema clock;
create table clock.rate (
  only_row boolean primary key default true check (only_row),
  base timestamptz not null,
  speed float8 not null,
  skipped interval not null default '0'
);
create function clock.now() returns timestamptz language sql stable parallel safe
return (select base + (pg_catalog.now() - base) * speed + skipped from clock.rate);
do $$
begin
  execute format(
    'alter database %I set search_path = public, clock, pg_catalog', current_database()
  );
end
$$`;

/** Installs the clock; it stands at the given instant now, and runs. */
export async function installClock(
  client: pg.ClientBase,
  clock: { startAtMs: number; speed: number },
): Promise<void> {
  await client.query(CLOCK);
  await client.query(
    `insert into clock.rate (base, speed, skipped)
     values (pg_catalog.now(), $1, to_timestamp($2::float8 / 1000) - pg_catalog.now())`,
    [clock.speed, clock.startAtMs],
  );
}

/** Moves the database's clock and QStash's on by the same time. */
export async function skip(pool: pg.Pool, qstash: Qstash, seconds: number): Promise<void> {
  await pool.query("update clock.rate set skipped = skipped + make_interval(secs => $1::float8)", [
    seconds,
  ]);
  qstash.advance(seconds * 1000);
}
