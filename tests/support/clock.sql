-- A clock that tests move. With this search_path an unqualified now() in the application's own,
-- unmodified SQL is clock.now(). current_timestamp and clock_timestamp() stay the real time.
create schema clock;

create table clock.offset_by (
  only_row boolean primary key default true check (only_row),
  value interval not null default '0'
);

insert into clock.offset_by default values;

-- Stable, as the real one is, so that comparisons with it still use an index.
create function clock.now() returns timestamptz
language sql stable parallel safe
return pg_catalog.now() + (select value from clock.offset_by);

-- public stands first because new tables go into the first schema; pg_catalog has to be named, or it
-- would come before all others.
do $$
begin
  execute format(
    'alter database %I set search_path = public, clock, pg_catalog', current_database()
  );
end
$$;
