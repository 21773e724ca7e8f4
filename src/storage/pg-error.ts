/** The one place that looks at SQLSTATEs. */

/** Postgres refused a statement; nothing was changed. */
export interface PgRefusal {
  code: string;
  constraint: string | undefined;
}

const SQLSTATE = /^[0-9A-Z]{5}$/;

/** Reads the SQLSTATE of the driver's error, or gives undefined when Postgres did not answer. */
export function pgRefusalOf(error: unknown): PgRefusal | undefined {
  if (typeof error !== "object" || error === null) return undefined;
  const { code, constraint } = error as { code?: unknown; constraint?: unknown };
  if (typeof code !== "string" || !SQLSTATE.test(code)) return undefined;
  return { code, constraint: typeof constraint === "string" ? constraint : undefined };
}

const DEADLOCK = "40P01";
const SERIALIZATION = "40001";
const UNIQUE_VIOLATION = "23505";
const REPEATABLE_INDEXES = [
  "jobs_lock_token",
  "jobs_dedupe_slot",
  "job_events_job_id_action_id_pk",
];

/** Tells whether a refusal means "nothing changed, repeat": see I5. */
export function isRepeatable({ code, constraint }: PgRefusal): boolean {
  if (code === DEADLOCK || code === SERIALIZATION) return true;
  // The token: the first try of this very claim is still in flight; a repeat finds it.
  // The slot: a rival took it after this replay had looked; a repeat sees the rival's job.
  // The event: this operator's action was carried out meanwhile; a repeat sees that.
  return code === UNIQUE_VIOLATION && REPEATABLE_INDEXES.includes(constraint ?? "");
}

/** Tells whether a refusal came from Postgres being down, starting or out of connections. */
export function isOutage({ code }: PgRefusal): boolean {
  // 08: connection, 53: resources, 57: shutdown, start-up and cancelled statements (57014: the
  // statement time limit), 58: system. None of them says that the statement itself was wrong.
  return ["08", "53", "57", "58"].includes(code.slice(0, 2));
}

/**
 * A statement that Postgres refused and that no repeat helps.
 *
 * Shape: the message holds the SQLSTATE only, since the driver's own holds every parameter, payloads
 *        included, and may reach a log.
 */
export class StatementRefusedError extends Error {
  readonly refusal: PgRefusal;
  constructor(refusal: PgRefusal, options: { cause: unknown }) {
    const where = refusal.constraint ? ` on ${refusal.constraint}` : "";
    super(`Postgres refused a statement: SQLSTATE ${refusal.code}${where}`, options);
    this.name = "StatementRefusedError";
    this.refusal = refusal;
  }
}

/** Tells whether a statement failed on the given constraint or unique index. */
export function violates(error: unknown, constraint: string): boolean {
  return error instanceof StatementRefusedError && error.refusal.constraint === constraint;
}
