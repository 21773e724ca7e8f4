/** A job in a list, as clients see it. */

import type * as z from "zod/mini";
import type { JobSummary } from "../core/listing.js";
import type { jobSummarySchema } from "./answers/job-summary.js";

/** Gives the members that clients see; whose job it is, they know. */
export function jobSummaryView({
  tenant: _,
  ...shown
}: JobSummary): z.input<typeof jobSummarySchema> {
  return shown;
}
