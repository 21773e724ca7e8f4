import { DeadLetters } from "./dead-letters.js";
import { Deduplication } from "./deduplication.js";
import { EventLog } from "./events.js";
import { FlowControls } from "./flow-control.js";
import type { Message } from "./message.js";
import { Queues } from "./queues.js";
import type { Schedule } from "./schedule.js";
import type { UrlGroup } from "./url-group.js";
import type { KeyRing } from "./users.js";

/** Everything of one user; users see nothing of each other. */
export class Tenant {
  readonly keys: KeyRing;
  readonly events = new EventLog();
  readonly queues = new Queues();
  readonly flowControls = new FlowControls();
  readonly deadLetters = new DeadLetters();
  readonly deduplication = new Deduplication();
  readonly schedules = new Map<string, Schedule>();
  readonly urlGroups = new Map<string, UrlGroup>();
  /** Deliveries under way, for the global parallelism. */
  activeCount = 0;
  private readonly messages = new Map<string, Message>();
  private finished: Message[] = [];
  private today = { day: 0, published: 0 };

  constructor(
    readonly token: string,
    keys: KeyRing,
  ) {
    this.keys = { ...keys };
  }

  addMessage(message: Message): void {
    this.messages.set(message.messageId, message);
  }

  findMessage(messageId: string): Message | undefined {
    return this.messages.get(messageId);
  }

  /** The messages that wait or are under way, oldest first. */
  unfinished(): Message[] {
    return [...this.messages.values()].filter(({ finishedAt }) => finishedAt === undefined);
  }

  /** Remembers a finished message for a while: its state is asked for, and it may be sent again. */
  noteFinished(message: Message, now: number): void {
    message.finishedAt = now;
    this.finished.push(message);
    if (this.finished.length > 2 * maxFinished) this.forgetOldest();
  }

  /** Counts messages published on the virtual clock's UTC day; returns the day's count so far. */
  countPublished(now: number, count: number): number {
    const day = Math.floor(now / 86_400_000);
    if (this.today.day !== day) this.today = { day, published: 0 };
    this.today.published += count;
    return this.today.published;
  }

  private forgetOldest(): void {
    for (const message of this.finished.slice(0, -maxFinished)) {
      this.messages.delete(message.messageId);
    }
    this.finished = this.finished.slice(-maxFinished);
  }
}

const maxFinished = 10_000;
