import pg from "pg";
import * as z from "zod";

const Statement = z.object({ query: z.string(), params: z.array(z.unknown()).default([]) });
const Batch = z.object({ queries: z.array(Statement) });

/** One SQL statement with its parameters, as text or null. */
export type Statement = z.infer<typeof Statement>;

/** What a request asks for: one statement by itself, or several in the transaction of `begin`. */
export interface Work {
  statements: Statement[];
  begin?: string;
}

/** An answer in the shape that the driver expects. */
export interface Answer {
  status: number;
  body: Record<string, unknown>;
}

/** The request is not one of this protocol. */
export class ProtocolError extends Error {}

/** The rows of an answer are more than Neon sends, which says so with the same status and text. */
export class AnswerTooLargeError extends Error {}

/** The database could not be reached, so no statement was run. */
export class ConnectError extends Error {}

const ISOLATION_LEVELS: Record<string, string> = {
  ReadUncommitted: "READ UNCOMMITTED",
  ReadCommitted: "READ COMMITTED",
  RepeatableRead: "REPEATABLE READ",
  Serializable: "SERIALIZABLE",
};

const ERROR_FIELDS = [
  "severity",
  "code",
  "detail",
  "hint",
  "position",
  "internalPosition",
  "internalQuery",
  "where",
  "schema",
  "table",
  "column",
  "dataType",
  "constraint",
  "file",
  "line",
  "routine",
] as const;

/** Reads a request of the driver. */
export function parseWork(headers: Headers, body: string): Work {
  const json = parseJson(body);
  const batch = Batch.safeParse(json);
  if (batch.success) return { statements: batch.data.queries, begin: readBegin(headers) };
  const single = Statement.safeParse(json);
  if (single.success) return { statements: [single.data] };
  throw new ProtocolError(
    "could not parse the HTTP request body: neither a query nor a list of queries",
  );
}

function parseJson(body: string): unknown {
  try {
    return JSON.parse(body);
  } catch (error) {
    throw new ProtocolError(`could not parse the HTTP request body: ${(error as Error).message}`);
  }
}

function readBegin(headers: Headers): string {
  const modes: string[] = [];
  const level = headers.get("neon-batch-isolation-level");
  if (level !== null) {
    const isolation = Object.hasOwn(ISOLATION_LEVELS, level) && ISOLATION_LEVELS[level];
    if (!isolation) throw new ProtocolError("invalid isolation level");
    modes.push(`ISOLATION LEVEL ${isolation}`);
  }
  if (headers.get("neon-batch-read-only") === "true") modes.push("READ ONLY");
  if (headers.get("neon-batch-deferrable") === "true") modes.push("DEFERRABLE");
  return `BEGIN ${modes.join(", ")}`;
}

/** Gives the answer for statements that succeeded. */
export function encodeResults(work: Work, results: pg.QueryArrayResult[]): Answer {
  const encoded = results.map((result) => ({
    command: result.command ?? "",
    rowCount: result.rowCount,
    rowAsArray: true,
    fields: result.fields,
    rows: result.rows,
  }));
  return { status: 200, body: work.begin ? { results: encoded } : { ...encoded[0] } };
}

/** Gives the answer for a request that failed; only with status 400 does the driver read the code. */
export function encodeError(error: unknown): Answer {
  const message = error instanceof Error ? error.message : String(error);
  if (error instanceof ProtocolError) return { status: 400, body: { message } };
  if (error instanceof AnswerTooLargeError) return { status: 507, body: { message } };
  const cause = error instanceof ConnectError ? error.cause : error;
  const fields = cause instanceof pg.DatabaseError ? cause : undefined;
  return {
    status: error instanceof ConnectError ? 500 : 400,
    body: {
      message,
      ...Object.fromEntries(ERROR_FIELDS.map((name) => [name, fields?.[name] ?? null])),
    },
  };
}
