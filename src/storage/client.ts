/** The database client; the only file that knows the driver. */

import { neon, neonConfig } from "@neondatabase/serverless";
import type { SQL } from "drizzle-orm";
import { drizzle } from "drizzle-orm/neon-http";
import { StoreUnavailableError } from "../core/ports.js";
import { isOutage, isRepeatable, pgRefusalOf, StatementRefusedError } from "./pg-error.js";

export interface DatabaseOptions {
  databaseUrl: string;
  /** Overrides the endpoint that the driver derives from the host name. */
  databaseHttpUrl: string | undefined;
  /** Bound on one call; Neon's HTTP endpoint itself has none that we may rely on. */
  timeoutSeconds: number;
  sleep: (milliseconds: number) => Promise<void>;
}

/** Runs statements; every one may be repeated, so each must be safe to run twice (I5). */
export interface Database {
  run<Row>(statement: SQL): Promise<Row[]>;
  /** One transaction in one request; gives the rows of each statement. */
  batch<Rows extends unknown[][]>(statements: SQL[]): Promise<Rows>;
}

/** "Nothing changed, repeat": three times is enough for any deadlock that our lock order allows. */
const REPEATS_MAX = 3;
/** An unreachable database gets one more try: it may be waking up (scale to zero). */
const OUTAGE_RETRIES_MAX = 1;
const OUTAGE_RETRY_DELAY_MS = 250;

/** Endpoints by `host:port`: the driver asks one global function, and tests run several databases. */
const endpoints = new Map<string, string>();
const driversEndpoint = neonConfig.fetchEndpoint;
neonConfig.fetchEndpoint = (host, port, options) =>
  endpoints.get(`${host}:${port}`) ??
  (typeof driversEndpoint === "function" ? driversEndpoint(host, port, options) : driversEndpoint);

/**
 * Makes the client for one request; Workers keep no client between requests.
 *
 * Errors: `StoreUnavailableError` when Postgres did not answer, `StatementRefusedError` otherwise.
 * Source: https://github.com/neondatabase/serverless/blob/main/CONFIG.md
 */
export function createDatabase(options: DatabaseOptions): Database {
  configureEndpoint(options.databaseUrl, options.databaseHttpUrl);
  const fetchOptions = {
    // A getter, because the driver spreads these options for every call: each needs its own signal.
    get signal() {
      return AbortSignal.timeout(options.timeoutSeconds * 1000);
    },
  };
  const db = drizzle({ client: neon(options.databaseUrl, { fetchOptions }) });

  return {
    run: (statement) =>
      repeated(options, async () => decodeRows(await db.execute(statement))) as never,
    batch: (statements) =>
      repeated(options, async () => {
        const [first, ...rest] = statements.map((statement) => db.execute(statement));
        if (!first) return [];
        return (await db.batch([first, ...rest])).map(decodeRows);
      }) as never,
  };
}

/** Sends the calls for a database to another endpoint than the one that its host name gives. */
export function configureEndpoint(databaseUrl: string, databaseHttpUrl: string | undefined): void {
  const { hostname, port } = new URL(databaseUrl);
  if (databaseHttpUrl) endpoints.set(`${hostname}:${port}`, databaseHttpUrl);
}

async function repeated<T>(options: DatabaseOptions, call: () => Promise<T>): Promise<T> {
  let repeats = 0;
  let outages = 0;
  for (;;) {
    try {
      return await call();
    } catch (error) {
      const refusal = pgRefusalOf(error);
      if (refusal && isRepeatable(refusal)) {
        repeats += 1;
        if (repeats <= REPEATS_MAX) continue;
        throw new StoreUnavailableError("rivals kept this statement from its rows", {
          cause: error,
        });
      }
      if (refusal && !isOutage(refusal)) throw new StatementRefusedError(refusal, { cause: error });
      if (outages >= OUTAGE_RETRIES_MAX) {
        throw new StoreUnavailableError("the database did not answer", { cause: error });
      }
      outages += 1;
      await options.sleep(OUTAGE_RETRY_DELAY_MS);
    }
  }
}

/** Rows by column name: inside a batch the driver gives arrays, alone it gives objects. */
function decodeRows(result: { rows: unknown[]; fields: { name: string }[] }): unknown[] {
  return result.rows.map((row) =>
    Array.isArray(row)
      ? Object.fromEntries(result.fields.map(({ name }, at) => [name, row[at]]))
      : row,
  );
}
