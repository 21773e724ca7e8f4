/** Every route of the API. */

import type { Route } from "./route.js";
import { cancelJob } from "./routes/cancel-job.js";
import { createBatch } from "./routes/create-batch.js";
import { createJob } from "./routes/create-job.js";
import { createSchedule } from "./routes/create-schedule.js";
import { deleteSchedule } from "./routes/delete-schedule.js";
import { editSchedule } from "./routes/edit-schedule.js";
import { getDocs } from "./routes/get-docs.js";
import { getHealth } from "./routes/get-health.js";
import { getJob } from "./routes/get-job.js";
import { getMetrics } from "./routes/get-metrics.js";
import { getOpenapi } from "./routes/get-openapi.js";
import { getReady } from "./routes/get-ready.js";
import { getSchedule } from "./routes/get-schedule.js";
import { getStats } from "./routes/get-stats.js";
import { getTimeline } from "./routes/get-timeline.js";
import { listJobTypes } from "./routes/list-job-types.js";
import { listJobs } from "./routes/list-jobs.js";
import { listSchedules } from "./routes/list-schedules.js";
import { pauseType } from "./routes/pause-type.js";
import { processDelivery } from "./routes/process-delivery.js";
import { replayDeadLetters } from "./routes/replay-dead-letters.js";
import { replayJob } from "./routes/replay-job.js";
import { resumeType } from "./routes/resume-type.js";
import { runJobNow } from "./routes/run-job-now.js";
import { runSchedule } from "./routes/run-schedule.js";
import { runSweep } from "./routes/run-sweep.js";
import { settleEffect } from "./routes/settle-effect.js";
import { switchSchedule } from "./routes/switch-schedule.js";

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
  getMetrics,
  listJobTypes,
  pauseType,
  resumeType,
  listSchedules,
  createSchedule,
  getSchedule,
  editSchedule,
  deleteSchedule,
  ...switchSchedule,
  runSchedule,
  processDelivery,
  ...runSweep,
  getHealth,
  getReady,
  getOpenapi,
  ...getDocs,
];
