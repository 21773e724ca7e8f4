import type { Message } from "./message.js";

/** A FIFO queue: `holders` are its messages that were started and are not finished. */
export interface Queue {
  readonly name: string;
  readonly createdAt: number;
  updatedAt: number;
  parallelism: number;
  isPaused: boolean;
  /** Message id → how many of its parts (itself, callbacks) the queue still waits for. */
  readonly holders: Map<string, number>;
}

/** The queues of one tenant. */
export class Queues {
  private readonly byName = new Map<string, Queue>();

  get size(): number {
    return this.byName.size;
  }

  get(name: string): Queue | undefined {
    return this.byName.get(name);
  }

  list(): Queue[] {
    return [...this.byName.values()];
  }

  create(name: string, now: number): Queue {
    const queue: Queue = {
      name,
      createdAt: now,
      updatedAt: now,
      parallelism: 1,
      isPaused: false,
      holders: new Map(),
    };
    this.byName.set(name, queue);
    return queue;
  }

  delete(name: string): boolean {
    return this.byName.delete(name);
  }
}

/** The queue a message holds or waits for; a callback belongs to that of its source. */
export function queueOf(message: Message): Queue | undefined {
  const owner = message.reportsOn ?? message;
  return owner.route.queueName ? owner.tenant.queues.get(owner.route.queueName) : undefined;
}

/** How a message stands to its queue: it waits for its turn, was started before, or needs no turn. */
export type Turn = "waiting" | "begun" | "free";

/** A callback belongs to a message that has its turn, and a copy is a fault that knows no order. */
export function turnIn(queue: Queue, message: Message): Turn {
  if (message.reportsOn || message.isCopy) return "free";
  return queue.holders.has(message.messageId) ? "begun" : "waiting";
}

/** Says whether the queue lets a message of that turn start. */
export function queueIsOpen(queue: Queue, turn: Turn): boolean {
  if (turn === "free") return true;
  if (queue.isPaused) return false;
  return turn === "begun" || queue.holders.size < queue.parallelism;
}

/** Takes the message's place in its queue; a retry has it already. */
export function takeQueuePlace(message: Message): void {
  const queue = queueOf(message);
  if (!queue || message.isCopy || message.reportsOn) return;
  if (!queue.holders.has(message.messageId)) queue.holders.set(message.messageId, 1);
}

/** Makes the queue wait for a new callback, too. */
export function keepQueuePlace(callback: Message): void {
  const queue = queueOf(callback);
  const parts = queue?.holders.get(holderId(callback));
  if (queue && parts !== undefined) queue.holders.set(holderId(callback), parts + 1);
}

/** Gives the place back when the message and all its callbacks are finished. */
export function releaseQueuePlace(message: Message): void {
  const queue = queueOf(message);
  const parts = queue?.holders.get(holderId(message));
  if (!queue || parts === undefined || message.isCopy) return;
  if (parts > 1) queue.holders.set(holderId(message), parts - 1);
  else queue.holders.delete(holderId(message));
}

function holderId(message: Message): string {
  return (message.reportsOn ?? message).messageId;
}
