/** The closed list of log events, and how one is written. */

/** The closed list of log events. */
export const LOG_EVENTS = [
  "misconfigured",
  "request_handled",
  "request_failed",
  "job_created",
  "job_cancelled",
  "job_replayed",
  "effect_settled",
  "effect_end_refused",
  "type_paused",
  "type_resumed",
  "publish_failed",
  "delivery_rejected",
  "delivery_refused",
  "attempt_claimed",
  "attempt_finished",
  "attempt_lease_lost",
  "heartbeat_failed",
  "result_omitted",
  "handler_log",
  "worker_failed",
  "sweep_finished",
  "sweep_step_failed",
  "reconciled",
] as const;

export type LogEvent = (typeof LOG_EVENTS)[number];

/** Writes one structured line; fields never hold payloads, secrets, signatures or queries. */
export type Log = (
  event: LogEvent,
  fields: Record<string, string | number | boolean | null | undefined>,
) => void;
