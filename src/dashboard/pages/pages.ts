/** Every page. */

import type { Page } from "../visit.js";
import { deadLetters } from "./dead-letters.js";
import { job } from "./job.js";
import { jobTypes } from "./job-types.js";
import { jobs } from "./jobs.js";
import { overview } from "./overview.js";
import { replayPreview } from "./replay-preview.js";
import { replayProgress } from "./replay-progress.js";
import { schedules } from "./schedules.js";

export const PAGES: readonly Page[] = [
  overview,
  jobs,
  job,
  deadLetters,
  replayPreview,
  replayProgress,
  schedules,
  jobTypes,
];
