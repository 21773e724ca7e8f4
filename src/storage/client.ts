/**
 * The database client; the only file that knows the driver.
 *
 * Not through drizzle's session for it, which would be 7 KB more of the Worker's bundle, and would
 * put every parameter, payloads included, into the text of its errors.
 */

import { NeonDbError, neon, neonConfig, types } from "@neondatabase/serverless";
import type { SQL } from "drizzle-orm";
import { parseJson } from "../core/parse-json.js";
import { StoreRequestTooLargeError, StoreUnavailableError } from "../core/ports.js";
import { isOutage, isRepeatable, pgRefusalOf, StatementRefusedError } from "./pg-error.js";
import { toQuery } from "./to-query.js";

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
const TOO_LARGE = "Server error (HTTP status 413)";

/** Endpoints by `host:port`: the driver asks one global function, and tests run several databases. */
const endpoints = new Map<string, string>();
/** Whatever the driver, or the application around us, has set for every other database. */
let otherEndpoint = neonConfig.fetchEndpoint;

const chooseEndpoint: typeof otherEndpoint = (host, port, options) =>
  endpoints.get(`${host}:${port}`) ??
  (typeof otherEndpoint === "function" ? otherEndpoint(host, port, options) : otherEndpoint);

/**
 * Makes the client for one request; Workers keep no client between requests.
 *
 * Errors: `StoreUnavailableError` when Postgres did not answer, `StoreRequestTooLargeError` when
 *         Neon did not let the request through to it, `StatementRefusedError` otherwise.
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
  const driver = neon(options.databaseUrl, { fetchOptions });
  const query = (statement: SQL) => {
    const { sql, params } = toQuery(statement);
    // With each query: the driver takes the option for all of them too, and goes by its own types.
    return driver.query(sql, params, { types: { getTypeParser } });
  };
  // Casts: a statement's file knows the rows that it asks for.
  return {
    run: <Row>(statement: SQL) => repeated(options, async () => (await query(statement)) as Row[]),
    batch: <Rows extends unknown[][]>(statements: SQL[]) =>
      repeated(options, async () => (await driver.transaction([...statements.map(query)])) as Rows),
  };
}

/** timestamp, timestamptz, date: as text, since a `Date` would lose the microseconds. */
const TEXT_TYPES = [1114, 1184, 1082];

const JSONB_TYPE = 3802;

const getTypeParser = ((oid: number, format?: "text") => {
  if (TEXT_TYPES.includes(oid)) return (text: string) => text;
  return oid === JSONB_TYPE ? parseJson : types.getTypeParser(oid, format);
}) as typeof types.getTypeParser;

/** Sends the calls for a database to another endpoint than the one that its host name gives. */
export function configureEndpoint(databaseUrl: string, databaseHttpUrl: string | undefined): void {
  if (!databaseHttpUrl) return;
  const { hostname, port } = new URL(databaseUrl);
  endpoints.set(`${hostname}:${port}`, databaseHttpUrl);
  // Each time, since the application may have made the setting its own meanwhile.
  if (neonConfig.fetchEndpoint === chooseEndpoint) return;
  otherEndpoint = neonConfig.fetchEndpoint;
  neonConfig.fetchEndpoint = chooseEndpoint;
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
      if (isTooLarge(error)) throw new StoreRequestTooLargeError({ cause: error });
      if (outages >= OUTAGE_RETRIES_MAX) {
        throw new StoreUnavailableError("the database did not answer", { cause: error });
      }
      outages += 1;
      await options.sleep(OUTAGE_RETRY_DELAY_MS);
    }
  }
}

/** The driver gives the status of an answer that is no result in its message only. */
function isTooLarge(error: unknown): boolean {
  return error instanceof NeonDbError && error.message.startsWith(TOO_LARGE);
}
