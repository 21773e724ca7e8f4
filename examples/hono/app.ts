/** A shop whose receipts are sent after the response, by jobs of a mounted Antrean. */

import { createAntrean, defineJob } from "antrean";
import { Hono } from "hono";
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

const antrean = createAntrean({ jobs: [sendReceipt], basePath: "/antrean" });

const app = new Hono();

// The API, and the deliveries of QStash: https://shop.example/antrean/api/…
app.route("/antrean", antrean.app);

app.post("/orders", async (context) => {
  const { orderId } = await context.req.json<{ orderId: string }>();
  const { jobId } = await antrean
    .jobsOf("shop")
    .enqueue({ type: "send_receipt", payload: { orderId } });
  return context.json({ orderId, jobId }, 202);
});

export default app;
