import type { Answer, Message } from "./message.js";

/** A message that failed for good, with the last answer it got. */
export interface DeadLetter {
  /** Counts up; the second half of the id and the place in a listing. */
  readonly number: number;
  readonly dlqId: string;
  readonly at: number;
  readonly message: Message;
  readonly answer: Answer;
}

/** The dead letters of one tenant, oldest first. */
export class DeadLetters {
  private readonly byId = new Map<string, DeadLetter>();
  private counter = 0;

  add(message: Message, answer: Answer, at: number): DeadLetter {
    const number = this.counter;
    const letter = { number, dlqId: `${at}-${number}`, at, message, answer };
    this.counter += 1;
    this.byId.set(letter.dlqId, letter);
    return letter;
  }

  get(dlqId: string): DeadLetter | undefined {
    return this.byId.get(dlqId);
  }

  delete(dlqId: string): boolean {
    return this.byId.delete(dlqId);
  }

  /** The dead letters since an instant, newest first; older ones are past retention and go. */
  newestFirst(since: number): DeadLetter[] {
    for (const [dlqId, letter] of this.byId) {
      if (letter.at < since) this.byId.delete(dlqId);
    }
    return [...this.byId.values()].reverse();
  }
}
