/** What every route of the API answers: for the API's description, so nothing that runs imports it. */

import type { Answers } from "./answer.js";
import { cancelJob } from "./answers/cancel-job.js";
import { createBatch } from "./answers/create-batch.js";
import { createJob } from "./answers/create-job.js";
import { createSchedule } from "./answers/create-schedule.js";
import { deleteSchedule } from "./answers/delete-schedule.js";
import { editSchedule } from "./answers/edit-schedule.js";
import { getDocs, getDocsStyle } from "./answers/get-docs.js";
import { getHealth } from "./answers/get-health.js";
import { getJob } from "./answers/get-job.js";
import { getMetrics } from "./answers/get-metrics.js";
import { getOpenapi } from "./answers/get-openapi.js";
import { getReady } from "./answers/get-ready.js";
import { getSchedule } from "./answers/get-schedule.js";
import { getStats } from "./answers/get-stats.js";
import { getTimeline } from "./answers/get-timeline.js";
import { listJobTypes } from "./answers/list-job-types.js";
import { listJobs } from "./answers/list-jobs.js";
import { listSchedules } from "./answers/list-schedules.js";
import { pauseType } from "./answers/pause-type.js";
import { processDelivery } from "./answers/process-delivery.js";
import { replayDeadLetters } from "./answers/replay-dead-letters.js";
import { replayJob } from "./answers/replay-job.js";
import { resumeType } from "./answers/resume-type.js";
import { runJobNow } from "./answers/run-job-now.js";
import { runSchedule } from "./answers/run-schedule.js";
import { runSweep } from "./answers/run-sweep.js";
import { settleEffect } from "./answers/settle-effect.js";
import { pauseSchedule, resumeSchedule } from "./answers/switch-schedule.js";

/** By method and path. */
export const ANSWERS: Readonly<Record<string, Answers>> = {
  "POST /api/jobs": createJob,
  "POST /api/jobs/batch": createBatch,
  "GET /api/jobs": listJobs,
  "GET /api/jobs/:id": getJob,
  "GET /api/jobs/:id/timeline": getTimeline,
  "POST /api/jobs/:id/cancel": cancelJob,
  "POST /api/jobs/:id/replay": replayJob,
  "POST /api/jobs/:id/run-now": runJobNow,
  "POST /api/jobs/:id/effects/:name/settle": settleEffect,
  "POST /api/dead-letters/replay": replayDeadLetters,
  "GET /api/stats": getStats,
  "GET /api/metrics": getMetrics,
  "GET /api/types": listJobTypes,
  "POST /api/types/:type/pause": pauseType,
  "POST /api/types/:type/resume": resumeType,
  "GET /api/schedules": listSchedules,
  "POST /api/schedules": createSchedule,
  "GET /api/schedules/:name": getSchedule,
  "PUT /api/schedules/:name": editSchedule,
  "DELETE /api/schedules/:name": deleteSchedule,
  "POST /api/schedules/:name/pause": pauseSchedule,
  "POST /api/schedules/:name/resume": resumeSchedule,
  "POST /api/schedules/:name/run": runSchedule,
  "POST /api/process": processDelivery,
  "POST /api/sweep": runSweep,
  "GET /api/sweep": runSweep,
  "GET /api/health": getHealth,
  "GET /api/ready": getReady,
  "GET /api/openapi.json": getOpenapi,
  "GET /api/docs": getDocs,
  "GET /api/docs.css": getDocsStyle,
};
