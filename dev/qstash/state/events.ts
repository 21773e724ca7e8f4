import type { Answer, Message } from "./message.js";

export type EventState =
  | "CREATED"
  | "ACTIVE"
  | "DELIVERED"
  | "ERROR"
  | "RETRY"
  | "FAILED"
  | "CANCEL_REQUESTED"
  | "CANCELED";

/** One entry of the log: what happened to which message. */
export interface LogEvent {
  readonly number: number;
  readonly at: number;
  readonly state: EventState;
  readonly message: Message;
  readonly nextDeliveryAt?: number;
  readonly answer?: Answer;
}

/** A long soak must not fill the memory with its log. */
const maxEvents = 50_000;

/** A tenant's log, oldest first. */
export class EventLog {
  private events: LogEvent[] = [];
  private lastNumber = 0;

  record(
    message: Message,
    state: EventState,
    at: number,
    details: Pick<LogEvent, "nextDeliveryAt" | "answer"> = {},
  ): void {
    if (message.isCopy) return;
    this.lastNumber += 1;
    this.events.push({ number: this.lastNumber, at, state, message, ...details });
    // Cut in large steps: dropping one event at a time would move the whole array each time.
    if (this.events.length > 2 * maxEvents) this.events = this.events.slice(-maxEvents);
  }

  /** The events since an instant, newest first. */
  newestFirst(since: number): LogEvent[] {
    return this.events.filter((event) => event.at >= since).reverse();
  }
}
