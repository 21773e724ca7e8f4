/** What `GET /api/docs` and its style answer. */

import type { Answers } from "../answer.js";

export const getDocs: Answers = {
  200: {
    description: "A page that describes every route and every error code.",
    mediaType: "text/html",
  },
};

export const getDocsStyle: Answers = { 200: { description: "CSS.", mediaType: "text/css" } };
