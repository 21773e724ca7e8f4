/**
 * Sends one message through QStash to our own processor, to see its signature accepted there.
 *
 * The body is none of our messages. So the deployment verifies the signature with the keys that it
 * really has, refuses the body before it asks the database anything, and nothing has changed.
 */

import type { Config } from "../../config.js";
import { createQstash, type DeadLetter, type Qstash } from "../qstash.js";
import type { Session } from "../session.js";
import type { Finding } from "./finding.js";

const POLL = { milliseconds: 1000, times: 20 } as const;
/** What the processor answers to a signed body that it cannot read. */
const REFUSED_AFTER_SIGNATURE = 489;

/** Checks the way from QStash into the deployment, and the keys there. */
export async function checkDelivery(session: Session, config: Config): Promise<Finding> {
  const check = "delivery";
  const qstash = createQstash(config, session.io);
  try {
    const messageId = await qstash.publishProbe({ probe: "antrean doctor" });
    const failed = await waitForFailure(session, qstash, messageId);
    if (!failed) {
      const detail = `QStash has not told within ${POLL.times} s how its delivery ended`;
      const advice = `Look for message ${messageId} in QStash's logs.`;
      return { check, state: "warning", detail, advice };
    }
    // It was bound to fail, and would look like a fault to whoever reads the list.
    await qstash.deleteDeadLetter(failed.dlqId);
    return { check, ...judge(failed) };
  } catch (error) {
    const detail = `the probe could not be sent: ${error instanceof Error ? error.message : error}`;
    return { check, state: "fault", detail };
  }
}

async function waitForFailure(
  { io }: Session,
  qstash: Qstash,
  messageId: string,
): Promise<DeadLetter | undefined> {
  for (let times = 0; times < POLL.times; times += 1) {
    await io.sleep(POLL.milliseconds, io.stop);
    const failed = await qstash.deadLetter(messageId);
    if (failed) return failed;
  }
  return undefined;
}

function judge({ responseStatus: status }: DeadLetter): Omit<Finding, "check"> {
  if (status === REFUSED_AFTER_SIGNATURE) {
    return { state: "ok", detail: "QStash reaches the deployment, which accepts its signature" };
  }
  if (status === 401) {
    const detail = "the deployment refuses QStash's signature";
    const advice = "Set both signing keys of this account, and PUBLIC_URL, and deploy again.";
    return { state: "fault", detail, advice };
  }
  const answer = status ? `was answered ${status}` : "got no answer";
  const advice = "Check PUBLIC_URL, and what stands before the deployment.";
  return { state: "fault", detail: `a delivery of QStash ${answer}`, advice };
}
