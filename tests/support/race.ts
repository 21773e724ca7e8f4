/** One database for the races of a file, and what they hold, release and look at. */

import { afterAll, afterEach, beforeAll, beforeEach, expect } from "vitest";
import type { Store } from "../../src/core/ports.js";
import {
  emptyTables,
  type TestDatabase,
  type TestDatabaseOptions,
  takeTestDatabase,
} from "./database.js";
import { mountInProcess } from "./in-process.js";
import { type Edit, type OpenTransaction, openTransaction, storeOn } from "./race-session.js";
import { storeOver } from "./store.js";

/** Any number; statements wait for it where a test put a gate into them. */
const GATE = 4711;

/** A condition that a gated statement waits in: after its snapshot was taken, before it locks. */
export const GATE_CONDITION = `(select true from pg_advisory_xact_lock_shared(${GATE}))`;

/** A row of jobs, as far as races look at it. */
export interface JobRow {
  id: string;
  status: string;
  attempts: number;
  attempts_before_replay: number;
  snoozes: number;
  lock_token: string | null;
  lock_until: Date | null;
  claimed_by_message: string | null;
  trigger_seq: number;
  triggered_at: Date | null;
  next_run_at: Date | null;
  next_trigger_at: Date | null;
  cancel_requested_at: Date | null;
  finished_at: Date | null;
  last_error: { code: string; retryable: boolean } | null;
  result_json: unknown;
  progress_json: unknown;
  payload_json: unknown;
}

/** A row of job_attempts, as far as races look at it. */
export interface AttemptRow {
  number: number;
  lock_token: string;
  outcome: string;
  error_code: string | null;
  late_outcome: string | null;
  late_detail: unknown;
}

/** What every race works with; `store` goes through the driver and the Neon stand-in. */
export interface Race {
  readonly database: TestDatabase;
  readonly store: Store;
  /** The same statements without driver and stand-in: quicker, for what only prepares a race. */
  readonly direct: Store;
  /** A transaction that is rolled back after its test unless it was ended. */
  begin(edits?: Edit[]): Promise<OpenTransaction>;
  /** The production store on a session of its own, each statement by itself, edited. */
  edited(edits: Edit[]): Promise<Store>;
  /** Closes the gate of statements that hold `GATE_CONDITION`; commit opens it. */
  closeGate(): Promise<OpenTransaction>;
  /** Returns as soon as so many statements wait. */
  waiting(count: number): Promise<void>;
  /** Returns as soon as a look gives the value. */
  until<T>(look: () => T | Promise<T>, value: T): Promise<void>;
  /** Locks rows of jobs in a transaction of its own. */
  lockJobs(...ids: string[]): Promise<OpenTransaction>;
  rows<Row>(query: string, params?: unknown[]): Promise<Row[]>;
  job(id: string): Promise<JobRow>;
  attempts(id: string): Promise<AttemptRow[]>;
  count(from: string, params?: unknown[]): Promise<number>;
  /** How many statements wait for a lock at this moment. */
  waiters(): Promise<number>;
}

/** Makes the database before the tests of a file, and empties it before each of them. */
export function setUpRace(options: TestDatabaseOptions = {}): Race {
  let database: TestDatabase;
  let store: Store;
  let direct: Store;
  let unmount = () => {};
  const cleanUp: (() => Promise<void>)[] = [];

  beforeAll(async () => {
    database = await takeTestDatabase(options);
    unmount = mountInProcess(database.neon.endpoint, database.neon.service);
    store = storeOver(database);
    direct = storeOn(database.pg);
  });
  beforeEach(() => empty(database));
  afterEach(async () => {
    database.neon.setFault(null);
    for (const each of cleanUp.splice(0)) await each();
  });
  afterAll(async () => {
    unmount();
    await database.release();
  });

  const begin = async (edits: Edit[] = []) => {
    const transaction = await openTransaction(database.pg, edits);
    cleanUp.push(transaction.rollback);
    return transaction;
  };
  return {
    get database() {
      return database;
    },
    get store() {
      return store;
    },
    get direct() {
      return direct;
    },
    begin,
    async edited(edits) {
      const client = await database.pg.connect();
      cleanUp.push(async () => client.release());
      return storeOn(client, edits);
    },
    async closeGate() {
      const gate = await begin();
      await gate.client.query("select pg_advisory_xact_lock($1)", [GATE]);
      return gate;
    },
    waiting: (count) => database.lockWaiters(count),
    until: (look, value) => expect.poll(look).toBe(value),
    async lockJobs(...ids) {
      const holder = await begin();
      await holder.client.query("select id from jobs where id = any($1) for update", [ids]);
      return holder;
    },
    ...reading(() => database),
  };
}

type Looks = Pick<Race, "rows" | "job" | "attempts" | "count" | "waiters">;

function reading(database: () => TestDatabase): Looks {
  const rows = async <Row>(query: string, params: unknown[] = []): Promise<Row[]> =>
    (await database().pg.query(query, params)).rows as Row[];
  const count = async (from: string, params?: unknown[]) => {
    const [row] = await rows<{ count: number }>(`select count(*)::int from ${from}`, params);
    return row?.count ?? 0;
  };
  return {
    rows,
    async job(id) {
      const [row] = await rows<JobRow>("select * from jobs where id = $1", [id]);
      if (!row) throw new Error(`there is no job ${id}`);
      return row;
    },
    attempts: (id) =>
      rows<AttemptRow>("select * from job_attempts where job_id = $1 order by number", [id]),
    count,
    waiters: () =>
      count("pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'"),
  };
}

async function empty(database: TestDatabase): Promise<void> {
  await emptyTables(database.pg);
  await database.pg.query("update clock.offset_by set value = '0'");
}
