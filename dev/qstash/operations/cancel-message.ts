import { finish } from "../delivery/settle.js";
import type { Message } from "../state/message.js";
import type { State } from "../state/state.js";

/**
 * Cancels a message: a waiting one at once, one under way after its attempt unless that succeeds. False
 * when there is nothing to cancel.
 */
export function cancelMessage(state: State, message: Message): boolean {
  const now = state.clock.now();
  const { events } = message.tenant;
  if (message.phase === "waiting") {
    state.mailbox.remove(message);
    events.record(message, "CANCEL_REQUESTED", now);
    events.record(message, "CANCELED", now);
    finish(state, message, "canceled");
    state.onChange();
    return true;
  }
  if (message.phase !== "active" || message.cancelRequested) return false;
  message.cancelRequested = true;
  events.record(message, "CANCEL_REQUESTED", now);
  return true;
}
