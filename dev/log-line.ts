/** Log lines for human eyes; a deployment writes them as JSON. */

/** Events that a developer wants to see go by; quiet sweeps and requests are not among them. */
const SHOWN = new Set([
  "job_created",
  "attempt_claimed",
  "attempt_finished",
  "attempt_lease_lost",
  "publish_failed",
  "delivery_rejected",
  "handler_log",
  "request_failed",
  "sweep_step_failed",
]);

/** Gives a JSON log line as one short line of text, or nothing for an event that is only noise. */
export function formatLogLine(line: string): string | undefined {
  const {
    event,
    at,
    requestId: _,
    traceparent: __,
    ...fields
  } = JSON.parse(line) as Record<string, unknown>;
  if (!SHOWN.has(String(event))) return undefined;
  const shown = Object.entries(fields)
    .filter(([, value]) => value !== null && value !== undefined)
    .map(([name, value]) => `${name}=${typeof value === "object" ? JSON.stringify(value) : value}`);
  return `${String(at).slice(11, 19)} ${String(event).padEnd(18)} ${shown.join(" ")}`;
}
