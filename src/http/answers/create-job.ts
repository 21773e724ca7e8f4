/** What `POST /api/jobs` answers. */

import type { Answers } from "../answer.js";
import { ACCEPTED_HEADERS, acceptedJobSchema } from "./accepted.js";

export const createJob: Answers = {
  202: {
    description: "The job is stored and will run.",
    schema: acceptedJobSchema,
    headers: { Location: "Where the job can be read: statusUrl." },
    optionalHeaders: ACCEPTED_HEADERS,
  },
};
