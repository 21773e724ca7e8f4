/** The API, and the deliveries of QStash: https://shop.example/antrean/api/… */

import { antrean } from "@/antrean";

/** Seconds that a job may take, and 15 more; the same as MAX_RUN_SECONDS. */
export const maxDuration = 300;

const { fetch } = antrean;

export { fetch as DELETE, fetch as GET, fetch as OPTIONS, fetch as POST, fetch as PUT };
