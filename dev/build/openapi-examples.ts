/** Request bodies shown in the API's description; a test sends each of them. */

const message = { to: "someone@example.com", subject: "Hello", text: "From a durable job." };

const schedule = {
  cron: "30 2 * * *",
  timeZone: "Europe/Berlin",
  type: "send_email",
  payload: message,
  missedRunPolicy: "run_once",
};

/** By method and path as declared. */
export const EXAMPLES: Readonly<Record<string, unknown>> = {
  "POST /api/jobs": { type: "send_email", payload: message, delaySeconds: 60 },
  "POST /api/jobs/batch": {
    jobs: [
      { type: "send_email", payload: message },
      { type: "send_email", payload: { ...message, to: "another@example.com" }, priority: 5 },
    ],
  },
  "POST /api/jobs/:id/cancel": { reason: "ordered twice" },
  "POST /api/jobs/:id/replay": { reason: "the address was corrected", payload: message },
  "POST /api/jobs/:id/run-now": { reason: "the customer waits" },
  "POST /api/jobs/:id/effects/:name/settle": {
    outcome: "done",
    result: { chargeId: "ch_1" },
    reason: "seen in the provider's dashboard",
  },
  "POST /api/dead-letters/replay": { type: "send_email", errorCode: "http_503", dryRun: true },
  "POST /api/schedules": { name: "nightly-report", ...schedule },
  "PUT /api/schedules/:name": schedule,
  "POST /api/types/:type/pause": { reason: "the provider is down" },
  "POST /api/types/:type/resume": { reason: "the provider is back" },
};
