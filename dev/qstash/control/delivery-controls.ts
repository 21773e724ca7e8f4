import type { DeliveryLoop, DeliveryResult } from "../delivery/loop.js";
import type { Message } from "../state/message.js";
import type { State } from "../state/state.js";
import { parseDurationMs } from "../wire/duration.js";

/** A message that waits in the mailbox. */
export interface PendingMessage {
  readonly messageId: string;
  readonly url: string;
  readonly method: string;
  readonly body: string;
  /** What the destination will get, besides the `Upstash-*` headers. */
  readonly headers: Readonly<Record<string, string>>;
  readonly retried: number;
  /** Epoch milliseconds of the virtual clock. */
  readonly dueAt: number;
  readonly isDue: boolean;
  readonly labels: readonly string[];
  readonly deduplicationId?: string;
  readonly flowControlKey?: string;
  readonly queueName?: string;
  readonly scheduleId?: string;
  /** A repeated delivery made by `duplicate`. */
  readonly isCopy: boolean;
}

/** The outcome of `runUntilIdle`. */
export interface IdleReport {
  readonly deliveries: readonly DeliveryResult[];
  readonly advancedMs: number;
  /** False when messages are left: beyond `maxMs`, or behind a pause. */
  readonly isIdle: boolean;
}

/** Time and deliveries, driven by hand; all of it works in live mode, too. */
export interface DeliveryControls {
  /** The virtual time in epoch milliseconds. */
  now(): number;
  /** Moves the clock (milliseconds or "10m"): schedules fire and overdue deliveries end, nothing else. */
  advance(by: number | string): void;
  /** The waiting messages, in the order of their due times. */
  pending(): PendingMessage[];
  /** Delivers everything due now and whatever becomes due at the same instant. */
  deliverDue(options?: { maxDeliveries?: number }): Promise<DeliveryResult[]>;
  /** Delivers the first message that may start now; undefined when there is none. */
  deliverNext(): Promise<DeliveryResult | undefined>;
  /** Delivers this message, past any queue or flow control; `early` also before its due time. */
  deliver(messageId: string, options?: { early?: boolean }): Promise<DeliveryResult>;
  /** Sends this message twice at once, byte for byte the same; it is settled once. */
  deliverTwice(messageId: string, options?: { early?: boolean }): Promise<DeliveryResult[]>;
  /** Goes from due time to due time until nothing is left or `maxMs` of virtual time have passed. */
  runUntilIdle(options?: {
    maxMs?: number;
    maxDeliveries?: number;
    /** Called after each step of the clock, before the deliveries of that instant. */
    onAdvance?: (ms: number) => void | Promise<void>;
  }): Promise<IdleReport>;
}

const defaultMaxDeliveries = 100_000;
const defaultMaxMs = 30 * 86_400_000;

/** Makes the controls of a state and its loop. */
export function createDeliveryControls(state: State, loop: DeliveryLoop): DeliveryControls {
  const advance = (by: number | string) => {
    state.clock.advance(toMs(by));
    loop.tick();
    state.onChange();
  };
  const deliverDue: DeliveryControls["deliverDue"] = (options) =>
    loop.drain(options?.maxDeliveries ?? defaultMaxDeliveries);
  return {
    now: () => state.clock.now(),
    advance,
    pending: () => state.mailbox.all().map((message) => describe(message, state.clock.now())),
    deliverDue,
    deliverNext: async () => {
      const [message] = loop.takeReady(1);
      return message && (await loop.deliver(message, 1))[0];
    },
    deliver: async (messageId, options) => {
      const [result] = await sendNow(state, loop, messageId, { ...options, copies: 1 });
      if (!result) throw new Error(`Message ${messageId} was not delivered.`);
      return result;
    },
    deliverTwice: (messageId, options) =>
      sendNow(state, loop, messageId, { ...options, copies: 2 }),
    runUntilIdle: (options) => runUntilIdle(state, loop, { advance, deliverDue, ...options }),
  };
}

async function sendNow(
  state: State,
  loop: DeliveryLoop,
  messageId: string,
  { early = false, copies }: { early?: boolean; copies: number },
): Promise<DeliveryResult[]> {
  const message = state.mailbox.find(messageId);
  if (!message) throw new Error(`Message ${messageId} is not waiting.`);
  if (!early && message.dueAt > state.clock.now()) {
    throw new Error(`Message ${messageId} is not due before ${new Date(message.dueAt).toJSON()}.`);
  }
  state.mailbox.remove(message);
  loop.start(message);
  return loop.deliver(message, copies);
}

interface RunOptions {
  advance: DeliveryControls["advance"];
  deliverDue: DeliveryControls["deliverDue"];
  maxMs?: number;
  maxDeliveries?: number;
  onAdvance?: (ms: number) => void | Promise<void>;
}

async function runUntilIdle(
  state: State,
  loop: DeliveryLoop,
  { advance, deliverDue, maxMs = defaultMaxMs, maxDeliveries, onAdvance }: RunOptions,
): Promise<IdleReport> {
  const deliveries: DeliveryResult[] = [];
  const startedAt = state.clock.now();
  for (;;) {
    deliveries.push(...(await deliverDue({ maxDeliveries })));
    // Schedules fire on the way, but for ever, so they alone are no work that is left.
    const nextAt = loop.nextMessageAt() === undefined ? undefined : loop.nextEventAt();
    const advancedMs = state.clock.now() - startedAt;
    if (nextAt === undefined || nextAt - startedAt > maxMs) {
      return { deliveries, advancedMs, isIdle: state.mailbox.size === 0 };
    }
    const stepMs = nextAt - state.clock.now();
    advance(stepMs);
    await onAdvance?.(stepMs);
  }
}

function describe(message: Message, now: number): PendingMessage {
  const { options, route } = message;
  return {
    messageId: message.messageId,
    url: route.url,
    method: options.method,
    body: message.body.toString(),
    headers: Object.fromEntries(options.headers),
    retried: message.retried,
    dueAt: message.dueAt,
    isDue: message.dueAt <= now,
    labels: options.labels,
    deduplicationId: options.deduplicationId,
    flowControlKey: options.flowControl?.key,
    queueName: route.queueName,
    scheduleId: route.scheduleId,
    isCopy: message.isCopy,
  };
}

function toMs(by: number | string): number {
  const ms = typeof by === "number" ? by : parseDurationMs(by);
  if (ms === undefined || !(ms >= 0)) throw new Error(`"${by}" is no duration.`);
  return Math.round(ms);
}
