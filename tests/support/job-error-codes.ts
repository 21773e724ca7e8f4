/** What an attempt can fail with, besides `http_<status>` and a job's own codes. */
export const JOB_ERROR_CODES = [
  "handler_error",
  "timeout",
  "lease_expired",
  "payload_invalid",
  "unknown_job_type",
  "effect_unknown",
  "snooze_limit",
  "fatal",
];
