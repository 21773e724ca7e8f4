import { drop } from "../delivery/loop.js";
import type { PublishFault, RandomFaults } from "../state/faults.js";
import type { Message } from "../state/message.js";
import { type Counts, defaultTenant, type State } from "../state/state.js";
import { rotate } from "../state/users.js";

/** Everything that can be made to go wrong, by hand or by chance. */
export interface FaultControls {
  /** Puts more deliveries of a message into the mailbox, also of one that was delivered already. */
  duplicate(messageId: string, options?: { copies?: number; afterMs?: number }): void;
  /** Loses a waiting message: it vanishes as if it had been delivered. */
  drop(messageId: string): void;
  /** The next delivery (of this message) completes, but its answer is lost, so it is retried. */
  loseAnswer(which: "next" | (string & {})): void;
  /**
   * Delivers waiting messages in this order (default: the reverse of the present one). None becomes early:
   * those that are overtaken wait for the ones before them.
   */
  reorder(messageIds?: readonly string[]): void;
  /** Disturbs publishes until lifted with null, or so many times; "cut" accepts and loses the answer. */
  refusePublishes(
    fault: { status: number; times?: number } | "hang" | "cut" | null,
    options?: { times?: number },
  ): void;
  /** Makes `next` the current key and a new one the next; returns the keys. */
  rotateKeys(): { current: string; next: string };
  /** Chooses the signing key by name, or any other key by its text. */
  signWith(key: "current" | "next" | "previous" | (string & {})): void;
  /** Shifts iat, exp and nbf of signatures; nothing else. */
  clockOffset(seconds: number): void;
  /** Sets faults by chance. */
  setFaults(faults: Partial<RandomFaults>): void;
  /** What came in and went out so far. */
  counts(): Readonly<Counts>;
}

/** Makes the fault controls of a state. */
export function createFaultControls(state: State): FaultControls {
  const { faults, mailbox } = state;
  return {
    duplicate: (messageId, options) => duplicate(state, messageId, options),
    drop: (messageId) => {
      const message = waiting(state, messageId);
      mailbox.remove(message);
      drop(state, message);
      state.onChange();
    },
    loseAnswer: (which) => {
      if (which === "next") faults.answersToLose += 1;
      else known(state, which).loseNextAnswer = true;
    },
    reorder: (messageIds) => reorder(state, messageIds),
    refusePublishes: (fault, options) => {
      faults.publish = fault === null ? undefined : toPublishFault(fault, options);
    },
    rotateKeys: () => {
      const { keys } = defaultTenant(state);
      rotate(keys);
      return { current: keys.current, next: keys.next };
    },
    signWith: (key) => {
      if (key === "previous" && !defaultTenant(state).keys.previous) {
        throw new Error("There is no previous signing key: the keys were never rotated.");
      }
      faults.signWith = isKeyName(key) ? key : { key };
    },
    clockOffset: (seconds) => {
      faults.clockOffsetSeconds = seconds;
    },
    setFaults: (changed) => {
      Object.assign(faults, changed);
      state.onChange();
    },
    counts: () => ({ ...state.counts }),
  };
}

function duplicate(
  state: State,
  messageId: string,
  { copies = 1, afterMs = 0 }: { copies?: number; afterMs?: number } = {},
): void {
  const original = known(state, messageId);
  const firstAt = original.phase === "waiting" ? original.dueAt : state.clock.now();
  for (let made = 0; made < copies; made += 1) {
    state.mailbox.add({ ...original, isCopy: true, finishedAt: undefined }, firstAt + afterMs);
  }
  state.onChange();
}

function reorder(state: State, messageIds?: readonly string[]): void {
  const { mailbox } = state;
  const ordered = messageIds
    ? messageIds.map((messageId) => waiting(state, messageId))
    : mailbox.all().reverse();
  let dueAt = 0;
  for (const message of ordered) {
    mailbox.remove(message);
    dueAt = Math.max(dueAt, message.dueAt);
    mailbox.add(message, dueAt);
  }
  state.onChange();
}

function toPublishFault(
  fault: { status: number; times?: number } | "hang" | "cut",
  options: { times?: number } = {},
): { fault: PublishFault; timesLeft: number } {
  const times = options.times ?? (typeof fault === "object" ? fault.times : undefined);
  return { fault, timesLeft: times ?? Number.POSITIVE_INFINITY };
}

function isKeyName(key: string): key is "current" | "next" | "previous" {
  return key === "current" || key === "next" || key === "previous";
}

function waiting(state: State, messageId: string): Message {
  const message = state.mailbox.find(messageId);
  if (!message) throw new Error(`Message ${messageId} is not waiting.`);
  return message;
}

function known(state: State, messageId: string): Message {
  for (const tenant of state.tenants) {
    const message = tenant.findMessage(messageId);
    if (message) return message;
  }
  throw new Error(`Message ${messageId} is not known.`);
}
