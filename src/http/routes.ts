/** Every route of the API. */

import type { Route } from "./route.js";
import { cancelJob } from "./routes/cancel-job.js";
import { createBatch } from "./routes/create-batch.js";
import { createJob } from "./routes/create-job.js";
import { getHealth } from "./routes/get-health.js";
import { getJob } from "./routes/get-job.js";
import { getReady } from "./routes/get-ready.js";
import { getStats } from "./routes/get-stats.js";
import { getTimeline } from "./routes/get-timeline.js";
import { listJobTypes } from "./routes/list-job-types.js";
import { listJobs } from "./routes/list-jobs.js";
import { pauseType } from "./routes/pause-type.js";
import { processDelivery } from "./routes/process-delivery.js";
import { replayDeadLetters } from "./routes/replay-dead-letters.js";
import { replayJob } from "./routes/replay-job.js";
import { resumeType } from "./routes/resume-type.js";
import { runJobNow } from "./routes/run-job-now.js";
import { runSweep } from "./routes/run-sweep.js";
import { settleEffect } from "./routes/settle-effect.js";

export const ROUTES: readonly Route[] = [
  createJob,
  createBatch,
  listJobs,
  getJob,
  getTimeline,
  cancelJob,
  replayJob,
  runJobNow,
  settleEffect,
  replayDeadLetters,
  getStats,
  listJobTypes,
  pauseType,
  resumeType,
  processDelivery,
  ...runSweep,
  getHealth,
  getReady,
];
