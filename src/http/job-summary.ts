/** A job in a list, as clients see it. */

import * as z from "zod/mini";
import type { JobSummary } from "../core/listing.js";
import { jobViewSchema } from "./job-view.js";

/** The job object without its large members. */
export const jobSummarySchema = z.omit(jobViewSchema, {
  payload: true,
  result: true,
  progress: true,
});

/** Gives the members that clients see; whose job it is, they know. */
export function jobSummaryView({
  tenant: _,
  ...shown
}: JobSummary): z.input<typeof jobSummarySchema> {
  return shown;
}
