import type { Phase } from "../state/message.js";
import type { Schedule } from "../state/schedule.js";
import { headerRecord } from "../wire/headers.js";
import { redactHeaders } from "../wire/redaction.js";
import { bodyView, flowControlView, labelView } from "./message-view.js";

const runStates: Readonly<Record<Phase, "IN_PROGRESS" | "SUCCESS" | "FAIL">> = {
  waiting: "IN_PROGRESS",
  active: "IN_PROGRESS",
  delivered: "SUCCESS",
  failed: "FAIL",
  canceled: "FAIL",
};

/** A schedule as the API shows it. */
export function scheduleView(schedule: Schedule): object {
  const { options, target, body, queueName } = schedule.prepared;
  const { lastMessages } = schedule;
  return {
    scheduleId: schedule.scheduleId,
    cron: schedule.cron,
    destination: "url" in target ? target.url : target.topicName,
    method: options.method,
    header: headerRecord(redactHeaders(options.headers, options.redaction)),
    ...bodyView(body, options),
    retries: options.maxRetries,
    retryDelayExpression: options.retryDelayExpression,
    delay: options.delayMs > 0 ? options.delayMs / 1000 : undefined,
    timeout: options.timeoutMs && options.timeoutMs / 1000,
    callback: options.callback?.url,
    failureCallback: options.failureCallback?.url,
    callerIP: schedule.callerIp,
    isPaused: schedule.isPaused,
    queueName,
    ...flowControlView(options),
    ...labelView(options),
    createdAt: schedule.createdAt,
    lastScheduleTime: schedule.lastAt,
    nextScheduleTime: schedule.nextAt,
    lastScheduleStates:
      lastMessages.length > 0
        ? Object.fromEntries(lastMessages.map((run) => [run.messageId, runStates[run.phase]]))
        : undefined,
    error: schedule.error,
  };
}
