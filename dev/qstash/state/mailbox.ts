import type { Message } from "./message.js";

/** The messages that wait to be delivered, in the order of their due time and arrival. */
export class Mailbox {
  private readonly waiting: Message[] = [];
  private lastSequence = 0;

  get size(): number {
    return this.waiting.length;
  }

  /** Puts a message in its place; it arrives last among those due at the same instant. */
  add(message: Message, dueAt: number): void {
    message.dueAt = dueAt;
    this.lastSequence += 1;
    message.sequence = this.lastSequence;
    message.phase = "waiting";
    this.waiting.splice(this.placeOf(message), 0, message);
  }

  /** Takes a message out; false when it was not waiting. */
  remove(message: Message): boolean {
    const place = this.placeOf(message);
    if (this.waiting[place] !== message) return false;
    this.waiting.splice(place, 1);
    return true;
  }

  /** The messages due at that instant or before, in order. */
  dueBy(at: number): Message[] {
    return this.waiting.slice(0, this.firstDueAfter(at));
  }

  /** When the first message after that instant becomes due. */
  nextDueAfter(at: number): number | undefined {
    return this.waiting[this.firstDueAfter(at)]?.dueAt;
  }

  /** Finds a waiting message; the original before its copies. */
  find(messageId: string): Message | undefined {
    const found = this.waiting.filter((message) => message.messageId === messageId);
    return found.find((message) => !message.isCopy) ?? found[0];
  }

  all(): readonly Message[] {
    return this.waiting;
  }

  private firstDueAfter(at: number): number {
    return this.search((message) => message.dueAt <= at);
  }

  private placeOf(target: Message): number {
    return this.search(
      ({ dueAt, sequence }) =>
        dueAt < target.dueAt || (dueAt === target.dueAt && sequence < target.sequence),
    );
  }

  /** Binary search: tens of thousands of messages may wait, and every delivery asks. */
  private search(isBefore: (message: Message) => boolean): number {
    let low = 0;
    let high = this.waiting.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      const message = this.waiting[middle];
      if (message && isBefore(message)) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}
