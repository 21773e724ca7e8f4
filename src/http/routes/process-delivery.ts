/** `POST /api/process`: QStash's wake-up call. Size, signature and address are checked by now (I8). */

import { type Message, messageSchema } from "../../core/message.js";
import { type DeliveryAnswer, deliver } from "../../engine/deliver.js";
import { Problem, type ProblemOptions } from "../problem.js";
import { defineRoute } from "../route.js";

const MESSAGE_ID_LENGTH_MAX = 255;
/** QStash gives up on such a delivery at once. Source: https://upstash.com/docs/qstash/features/retry */
const NEVER_AGAIN: ProblemOptions = {
  status: 489,
  headers: { "Upstash-NonRetryable-Error": "true" },
};

export const processDelivery = defineRoute(
  {
    method: "POST",
    path: "/api/process",
    role: "signed",
    summary: "Serve a delivery of QStash",
    problems: [
      "job_running",
      "job_locked",
      "publish_failed",
      "store_unavailable",
      "job_unknown",
      "delivery_malformed",
    ],
  },
  async ({ ports, request: { headers }, rawBody }) => {
    const message = readMessage(rawBody);
    if (!message) {
      ports.log("delivery_rejected", { reason: "malformed" });
      throw new Problem("delivery_malformed", "The body is not one of our messages.", NEVER_AGAIN);
    }
    const { jobId, type, seq } = message;
    const messageId = headers.get("Upstash-Message-Id")?.slice(0, MESSAGE_ID_LENGTH_MAX) || null;
    const retried = retriedOf(headers);
    return answerResponse(await deliver(ports, { jobId, type, seq, messageId, retried }));
  },
);

function readMessage(rawBody: string): Message | undefined {
  try {
    return messageSchema.safeParse(JSON.parse(rawBody)).data;
  } catch {
    // Not JSON.
    return undefined;
  }
}

/** Unsigned, so it only chooses among answers that are safe anyway; unreadable counts as the first. */
function retriedOf(headers: Headers): number {
  const retried = headers.get("Upstash-Retried") ?? "";
  return /^\d{1,4}$/.test(retried) ? Number(retried) : 0;
}

function answerResponse(answer: DeliveryAnswer): Response {
  switch (answer.kind) {
    case "ran": {
      const { outcome, jobId, ranJobId } = answer;
      return Response.json({ outcome, jobId, ranJobId });
    }
    case "hopped":
      return Response.json({ outcome: "hopped" });
    case "noop":
      return Response.json({ outcome: "noop", reason: answer.reason });
    case "retry":
      throw new Problem(answer.code, "Deliver this message again after the time in Retry-After.", {
        retryAfterSeconds: answer.retryAfterSeconds,
      });
    case "rejected":
      throw new Problem(answer.code, "The job does not exist, nor does its type.", NEVER_AGAIN);
  }
}
