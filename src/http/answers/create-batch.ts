/** What `POST /api/jobs/batch` answers. */

import * as z from "zod/mini";
import type { Answers } from "../answer.js";
import { ACCEPTED_HEADERS, acceptedJobSchema } from "./accepted.js";

export const createBatch: Answers = {
  202: {
    description: "All jobs are stored; the answers are in the order of the request.",
    schema: z.object({ jobs: z.array(acceptedJobSchema) }),
    optionalHeaders: ACCEPTED_HEADERS,
  },
};
