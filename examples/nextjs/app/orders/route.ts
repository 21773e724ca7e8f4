/** Takes an order; its receipt is sent after the response. */

import { antrean } from "@/antrean";

export async function POST(request: Request): Promise<Response> {
  const { orderId } = (await request.json()) as { orderId: string };
  const { jobId } = await antrean
    .jobsOf("shop")
    .enqueue({ type: "send_receipt", payload: { orderId } });
  return Response.json({ orderId, jobId }, { status: 202 });
}
