import { enterFlowControl, type FlowControl, flowControlOpensAt } from "../state/flow-control.js";
import type { Message } from "../state/message.js";
import { queueIsOpen, queueOf, takeQueuePlace, turnIn } from "../state/queues.js";
import type { State } from "../state/state.js";

/**
 * When a due message may start: now, at a later instant (a rate period ends), or Infinity when it waits
 * for something to happen (a slot, a resume).
 */
export function opensAt(state: State, message: Message, now: number): number {
  if (message.tenant.activeCount >= state.plan.maxParallelism) return Number.POSITIVE_INFINITY;
  const queue = queueOf(message);
  if (queue && !queueIsOpen(queue, turnIn(queue, message))) return Number.POSITIVE_INFINITY;
  const control = flowControlOf(message);
  return control ? flowControlOpensAt(control, now) : now;
}

/** Takes the message's slots. */
export function enterGates(message: Message, now: number): void {
  message.tenant.activeCount += 1;
  takeQueuePlace(message);
  const control = flowControlOf(message);
  if (control) enterFlowControl(control, now);
}

/** Gives back the slots that last one attempt; a queue's lasts until the message is finished. */
export function leaveGates(message: Message): void {
  message.tenant.activeCount -= 1;
  const control = flowControlOf(message);
  if (control) control.parallelismCount -= 1;
}

/** Names the gates a message meets: of one lane, either every message may start or none. */
export function laneOf(message: Message): string {
  const queue = queueOf(message);
  const queueGate = queue ? [queue.name, turnIn(queue, message)] : [];
  const flowControlGate = message.options.flowControl?.key ?? null;
  return JSON.stringify([message.tenant.token, flowControlGate, ...queueGate]);
}

function flowControlOf(message: Message): FlowControl | undefined {
  const key = message.options.flowControl?.key;
  return key === undefined ? undefined : message.tenant.flowControls.getOrCreate(key);
}
