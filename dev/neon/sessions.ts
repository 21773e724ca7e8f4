import { createHash } from "node:crypto";
import pg from "pg";
import { AnswerTooLargeError, ConnectError, type Statement, type Work } from "./protocol.js";

/** Neon's own, for the rows of all statements of a request. */
const ANSWER_BYTES_MAX = 64 * 1024 * 1024;
const CANCEL_REPEAT_MILLISECONDS = 100;
/**
 * For sessions that name their statements: otherwise Postgres plans the first five runs for their
 * values, each anew. Neon names none and plans every run for its values.
 */
export const PLANNED_ONCE = "-c plan_cache_mode=force_generic_plan";
/** The table has changed under a prepared statement, which fails in this session from now on. */
const OUTDATED_PLAN = "0A000";

/** Runs the work of requests, each with a database session that it shares with no other. */
export interface Sessions {
  run(work: Work, signal: AbortSignal): Promise<pg.QueryArrayResult[]>;
  close(): Promise<void>;
}

export interface SessionOptions {
  maxConnections: number;
  /**
   * Sessions keep what they have parsed, planned, set and begun, which saves two thirds of Postgres's
   * work where the same few statements run over and over, as in tests. Neon keeps nothing.
   */
  keepsState: boolean;
}

/** Opens a pool of sessions to one database. */
export function openSessions(databaseUrl: string, options: SessionOptions): Sessions {
  const pool = openPool(databaseUrl, options.maxConnections, options.keepsState);
  // Cancelling has to work just when every session above is stuck behind a lock.
  const cancelPool = openPool(databaseUrl, 1, false);
  const cancel = (processId: number) =>
    cancelPool.query("select pg_cancel_backend($1)", [processId]).then(
      () => {},
      () => {},
    );

  return {
    async run(work, signal) {
      const client = await checkOut(pool);
      const stopCancelling = cancelOnAbort(signal, () => cancel(client.processID));
      let failure: unknown;
      try {
        signal.throwIfAborted();
        const run = withinLimit((each) => runStatement(client, each, options.keepsState));
        return await (work.begin ? runBatch(client, work, run, signal) : runSingle(work, run));
      } catch (error) {
        failure = error;
        throw error;
      } finally {
        await stopCancelling();
        // A late cancellation must not hit the next request, so an aborted session is not used again.
        const clean =
          !signal.aborted && (options.keepsState ? isUnharmed(failure) : await reset(client));
        client.release(!clean);
      }
    },
    async close() {
      await Promise.all([pool.end(), cancelPool.end()]);
    },
  };
}

type Session = pg.PoolClient & { processID: number };

function openPool(databaseUrl: string, max: number, keepsState: boolean): pg.Pool {
  const options = keepsState ? { options: PLANNED_ONCE, idleTimeoutMillis: 0 } : {};
  const pool = new pg.Pool({ connectionString: databaseUrl, max, ...options });
  // The pool drops an idle session whose server went away; unheard, the event would end the process.
  pool.on("error", () => {});
  // A session in use reports its loss by the query that was under way.
  pool.on("connect", (client) => client.on("error", () => {}));
  return pool;
}

async function checkOut(pool: pg.Pool): Promise<Session> {
  try {
    return (await pool.connect()) as Session;
  } catch (error) {
    throw new ConnectError(`could not connect to the database: ${describe(error)}`, {
      cause: error,
    });
  }
}

function describe(error: unknown): string {
  const { message, code } = error as NodeJS.ErrnoException;
  return message || code || String(error);
}

// Until the work ends, because Postgres ignores a cancellation that overtakes its statement.
function cancelOnAbort(signal: AbortSignal, cancel: () => Promise<void>): () => Promise<void> {
  let cancelling = Promise.resolve();
  let timer: NodeJS.Timeout | undefined;
  const start = () => {
    const once = () => {
      cancelling = cancelling.then(cancel);
    };
    once();
    timer = setInterval(once, CANCEL_REPEAT_MILLISECONDS);
  };
  signal.addEventListener("abort", start, { once: true });
  return async () => {
    signal.removeEventListener("abort", start);
    clearInterval(timer);
    await cancelling;
  };
}

type RunStatement = (statement: Statement) => Promise<pg.QueryArrayResult>;

/** Before the end of a batch, which it undoes. */
function withinLimit(run: RunStatement): RunStatement {
  let bytes = 0;
  return async (statement) => {
    const result = await run(statement);
    for (const cell of result.rows.flat()) bytes += Buffer.byteLength(cell ?? "");
    if (bytes <= ANSWER_BYTES_MAX) return result;
    throw new AnswerTooLargeError(`response is too large (max is ${ANSWER_BYTES_MAX} bytes)`);
  };
}

async function runSingle(work: Work, run: RunStatement): Promise<pg.QueryArrayResult[]> {
  const [statement] = work.statements;
  return statement ? [await run(statement)] : [];
}

async function runBatch(
  client: Session,
  work: Work,
  run: RunStatement,
  signal: AbortSignal,
): Promise<pg.QueryArrayResult[]> {
  await client.query(work.begin ?? "BEGIN");
  try {
    const results: pg.QueryArrayResult[] = [];
    for (const statement of work.statements) {
      results.push(await run(statement));
      signal.throwIfAborted();
    }
    await client.query("COMMIT");
    return results;
  } catch (error) {
    // Before the answer, so that the client finds its locks gone. On a lost session it fails too.
    await client.query("ROLLBACK").catch(() => {});
    throw error;
  }
}

function runStatement(
  client: Session,
  statement: Statement,
  keepsState: boolean,
): Promise<pg.QueryArrayResult> {
  const query: pg.QueryArrayConfig & { queryMode: "extended" } = {
    text: statement.query,
    values: statement.params,
    rowMode: "array",
    // Values go out as the text that Postgres sent; the driver parses them by their type.
    types: { getTypeParser: () => (value: string) => value },
    // Otherwise a text without parameters could hold several statements, which Neon refuses.
    queryMode: "extended",
    ...(keepsState && { name: nameOf(statement.query) }),
  };
  return client.query(query);
}

/** Tells whether a session that keeps its state is as good as before: its statement was only refused. */
function isUnharmed(failure: unknown): boolean {
  if (failure === undefined) return true;
  const refused = failure instanceof pg.DatabaseError && failure.severity === "ERROR";
  return refused && failure.code !== OUTDATED_PLAN;
}

/** By text: as few as the application has statements, each run thousands of times. */
const names = new Map<string, string>();

/** Names a statement by its text, in as many characters as Postgres takes. */
export function nameOf(text: string): string {
  const name = names.get(text) ?? createHash("sha1").update(text).digest("hex");
  names.set(text, name);
  return name;
}

// Refused inside a transaction that a statement left open, and then the session is closed.
function reset(client: Session): Promise<boolean> {
  return client.query("DISCARD ALL").then(
    () => true,
    () => false,
  );
}
