/** The schema of a job in a list, as clients see it. */

import * as z from "zod/mini";
import { jobViewSchema } from "./job-view.js";

/** The job object without its large members. */
export const jobSummarySchema = z.omit(jobViewSchema, {
  payload: true,
  result: true,
  progress: true,
});
