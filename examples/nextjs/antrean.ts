/** The jobs of a shop, run by an Antrean that is mounted in its Next.js application. */

import { createAntrean, defineJob } from "antrean";
import * as z from "zod";

const sendReceipt = defineJob({
  type: "send_receipt",
  payload: z.strictObject({ orderId: z.string() }),
  // However often an order is posted, one receipt is under way for it.
  dedupe: { key: ({ orderId }) => orderId },
  async run({ payload, once }) {
    // Done once, whatever happens to this attempt; a real shop would call its mail provider here.
    const receipt = await once("mail", ({ operationId }) => ({ operationId }));
    return { orderId: payload.orderId, receipt };
  },
});

export const jobs = [sendReceipt];

/** The path of the folder in `app` that holds its route. */
export const antrean = createAntrean({ jobs, basePath: "/antrean" });
