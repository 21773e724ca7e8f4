import type { Message } from "./message.js";

/** Waiting messages that meet the same gates, in the order of their due time and arrival. */
export type Lane = readonly Message[];

/**
 * The messages that wait to be delivered. They stand in lanes, because thousands may be due behind one
 * closed gate and every delivery that ends makes the loop look again: it looks at the heads only.
 */
export class Mailbox {
  private readonly byKey = new Map<string, Message[]>();
  private lastSequence = 0;

  constructor(private readonly laneOf: (message: Message) => string) {}

  get size(): number {
    return this.lanes().reduce((sum, lane) => sum + lane.length, 0);
  }

  lanes(): Lane[] {
    return [...this.byKey.values()];
  }

  /** Puts a message in its place; it arrives last among those due at the same instant. */
  add(message: Message, dueAt: number): void {
    this.lastSequence += 1;
    message.sequence = this.lastSequence;
    message.dueAt = dueAt;
    message.phase = "waiting";
    message.laneKey = this.laneOf(message);
    const lane = this.byKey.get(message.laneKey);
    if (lane) lane.splice(placeIn(lane, message), 0, message);
    else this.byKey.set(message.laneKey, [message]);
  }

  /** Takes a message out; false when it was not waiting. */
  remove(message: Message): boolean {
    const lane = this.byKey.get(message.laneKey);
    if (!lane) return false;
    const place = placeIn(lane, message);
    if (lane[place] !== message) return false;
    lane.splice(place, 1);
    if (lane.length === 0) this.byKey.delete(message.laneKey);
    return true;
  }

  /** Finds a waiting message; the original before its copies. */
  find(messageId: string): Message | undefined {
    const found = this.lanes().flatMap((lane) =>
      lane.filter((each) => each.messageId === messageId),
    );
    return found.find((message) => !message.isCopy) ?? found[0];
  }

  /** All waiting messages, in order. */
  all(): Message[] {
    return this.lanes()
      .flat()
      .sort((a, b) => (comesBefore(a, b) ? -1 : 1));
  }
}

/** Says which of two messages is delivered first when both may be. */
export function comesBefore(a: Message, b: Message): boolean {
  return a.dueAt < b.dueAt || (a.dueAt === b.dueAt && a.sequence < b.sequence);
}

/** How many messages of a lane are due at that instant; the next one is the first that is not. */
export function countDue(lane: Lane, at: number): number {
  return search(lane, (message) => message.dueAt <= at);
}

function placeIn(lane: Lane, target: Message): number {
  return search(lane, (message) => comesBefore(message, target));
}

/** Binary search for the first message for which `isBefore` no longer holds. */
function search(lane: Lane, isBefore: (message: Message) => boolean): number {
  let low = 0;
  let high = lane.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    const message = lane[middle];
    if (message && isBefore(message)) low = middle + 1;
    else high = middle;
  }
  return low;
}
