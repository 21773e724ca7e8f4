/** Tells the operator once of each incident's beginning, and once of its end. */

import type { Environment } from "../core/define-job.js";
import type { AlertMessage, AlertNotice, AlertThresholds } from "../core/monitoring.js";
import type { Ports } from "../core/ports.js";

export interface AlertsSent {
  sent: number;
  failed: number;
  /** Database and webhook calls. */
  calls: number;
}

/** Each costs two calls; an outage may open many incidents at once, and jobs come first. */
const NOTICES_PER_SWEEP = 3;

/**
 * Judges what is seen now and sends what nobody was told yet.
 *
 * Shape: the first message that is not taken ends the step, since a dead webhook costs its whole time
 *        limit; the next sweep sends it again under the same id.
 */
export async function sendAlerts(ports: Ports): Promise<AlertsSent> {
  const { store, sendAlert } = ports;
  const limit = sendAlert ? NOTICES_PER_SWEEP : 0;
  const notices = await store.takeAlerts(thresholdsOf(ports.env), limit);
  const done: AlertsSent = { sent: 0, failed: 0, calls: 1 };
  if (!sendAlert) return done;
  for (const notice of notices) {
    done.calls += 1;
    try {
      await sendAlert(messageOf(notice));
    } catch {
      done.failed += 1;
      return done;
    }
    done.calls += 1;
    done.sent += 1;
    await store.markAlertTold(notice.id, notice.phase);
  }
  return done;
}

/** Reads the thresholds; what is not set, or is no whole number, has its default. */
function thresholdsOf(env: Environment): AlertThresholds {
  const read = (name: string, fallback: number): number => {
    const text = env[name] ?? "";
    return /^\d{1,9}$/.test(text) ? Number(text) : fallback;
  };
  return {
    // Twice the default interval of sweeps: a message that vanished is found again within one.
    backlogAgeSeconds: read("ALERT_BACKLOG_AGE_SECONDS", 1800),
    deadLetters: read("ALERT_DEAD_LETTERS", 10),
    expiredLeases: read("ALERT_EXPIRED_LEASES", 10),
    publishFailures: read("ALERT_PUBLISH_FAILURES", 20),
  };
}

/** Words a notice as Standard Webhooks recommends: a type, a time, and what it is about. */
function messageOf(notice: AlertNotice): AlertMessage {
  const { id, phase, kind, type, value, threshold, openedAt, closedAt } = notice;
  const body = JSON.stringify({
    type: `alert.${phase}`,
    timestamp: closedAt ?? openedAt,
    data: { incidentId: id, kind, type, value, threshold, openedAt, closedAt },
  });
  return { id: `${id}.${phase}`, sentAt: new Date(notice.takenAtEpochSeconds * 1000), body };
}
