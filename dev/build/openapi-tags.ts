/** What the API's description says of its parts. */

/** The parts of the API, by the word after `/api/`. */
export const TAGS: Record<string, string> = {
  jobs: "Create, read, cancel and repair jobs.",
  "dead-letters": "Repair many failed jobs at once.",
  stats: "Numbers of the present.",
  types: "The registered job types, and holding one back.",
  schedules: "Recurring jobs.",
  process: "What QStash calls.",
  sweep: "The safety net, called by QStash or a cron.",
  health: "Whether an instance answers.",
  ready: "Whether the deployment works.",
  metrics: "Numbers for Prometheus.",
  "openapi.json": "This document.",
  docs: "This document for human eyes.",
  "docs.css": "What the documentation looks like.",
};
