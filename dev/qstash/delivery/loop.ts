import { fireDueSchedules, nextScheduleAt } from "../operations/schedules.js";
import { comesBefore, countDue } from "../state/mailbox.js";
import type { Answer, Message } from "../state/message.js";
import type { State } from "../state/state.js";
import { attempt, buildOutgoing, failure } from "./attempt.js";
import { enterGates, leaveGates, opensAt } from "./gates.js";
import type { Deliver } from "./send-over-http.js";
import { finish, isSuccess, type Outcome, settle } from "./settle.js";

/** What became of one delivery. */
export interface DeliveryResult {
  readonly messageId: string;
  readonly url: string;
  /** How often the message had been retried before this delivery: its `Upstash-Retried`. */
  readonly retried: number;
  /** The destination's answer, even when it was lost; 0 when there was none. */
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  readonly error?: string;
  readonly answerLost: boolean;
  readonly outcome: Outcome | "dropped";
  /** When the next attempt is due, after outcome "retry". */
  readonly nextDeliveryAt?: number;
}

/** Moves messages from the mailbox to their destinations; live and manual mode drive this same loop. */
export class DeliveryLoop {
  private readonly active = new Map<Message, { abort: AbortController; deadlineAt: number }>();

  constructor(
    private readonly state: State,
    private readonly send: Deliver,
  ) {}

  /** Does what the passing of time alone does: fires schedules and ends overdue deliveries. */
  tick(): void {
    fireDueSchedules(this.state);
    for (const { abort, deadlineAt } of this.active.values()) {
      if (deadlineAt <= this.state.clock.workNow()) abort.abort(new Error("delivery timed out"));
    }
  }

  /** Delivers everything that is due and whatever becomes due meanwhile, until nothing is left. */
  drain(maxDeliveries: number): Promise<DeliveryResult[]> {
    return new Promise((resolve, reject) => {
      const results: DeliveryResult[] = [];
      let running = 0;
      let isQueued = false;
      const pump = () => {
        isQueued = false;
        for (const message of this.takeReady()) {
          running += 1;
          this.deliver(message, 1).then(collect, reject);
        }
        if (running === 0) resolve(results);
      };
      const collect = (delivered: DeliveryResult[]) => {
        results.push(...delivered);
        running -= 1;
        if (results.length >= maxDeliveries) {
          reject(new Error(`Still busy after ${maxDeliveries} deliveries.`));
        } else if (!isQueued) {
          // Deliveries that end together cost one look at the mailbox.
          isQueued = true;
          queueMicrotask(pump);
        }
      };
      pump();
    });
  }

  /** Takes the messages that may start now out of the mailbox, and their slots. */
  takeReady(limit = Number.POSITIVE_INFINITY): Message[] {
    const ready: Message[] = [];
    while (ready.length < limit) {
      const message = this.pickOpen();
      if (!message) break;
      this.state.mailbox.remove(message);
      this.start(message);
      ready.push(message);
    }
    return ready;
  }

  /** Marks a message that left the mailbox as under way; `deliver` must follow. */
  start(message: Message): void {
    const now = this.state.clock.now();
    message.phase = "active";
    enterGates(message, now);
    message.tenant.events.record(message, "ACTIVE", now);
  }

  /** Makes one delivery, or several identical ones at once, and settles the message once. */
  async deliver(message: Message, copies: number): Promise<DeliveryResult[]> {
    const { faults, counts } = this.state;
    const { messageId, route, retried } = message;
    const base = { messageId, url: route.url, retried };
    if (this.happens(faults.dropRate)) {
      leaveGates(message);
      drop(this.state, message);
      this.state.onChange();
      return [{ ...base, ...describe(failure("dropped")), outcome: "dropped" }];
    }
    const count = copies + (this.happens(faults.duplicateRate) ? 1 : 0);
    counts.deliveries += count;
    const answers = await this.attemptAll(message, count);
    const answer = answers.find(isSuccess) ?? answers[0] ?? failure("not delivered");
    leaveGates(message);
    const seen = this.losesAnswer(message)
      ? { ...failure("connection closed before the answer arrived"), lost: true }
      : answer;
    const outcome = settle(this.state, message, seen);
    this.state.onChange();
    return answers.map((each) => ({
      ...base,
      ...describe(each),
      answerLost: seen.lost === true,
      outcome,
      nextDeliveryAt: outcome === "retry" ? message.dueAt : undefined,
    }));
  }

  /** When something will happen by itself: a due time, the end of a rate period, a schedule. */
  nextEventAt(): number | undefined {
    return earliest(this.nextMessageAt(), nextScheduleAt(this.state));
  }

  /** When the next message becomes deliverable by time alone. */
  nextMessageAt(): number | undefined {
    const { mailbox, clock, faults } = this.state;
    let firstAt: number | undefined;
    for (const lane of mailbox.lanes()) {
      const dueCount = countDue(lane, this.horizon());
      const [head] = lane;
      const opens = dueCount > 0 && head ? opensAt(this.state, head, clock.now()) : undefined;
      if (opens !== undefined && Number.isFinite(opens)) firstAt = earliest(firstAt, opens);
      const next = lane[dueCount];
      if (next) firstAt = earliest(firstAt, next.dueAt - faults.earlySeconds * 1000);
    }
    return firstAt;
  }

  /** How long until the first running delivery times out, on the clock that timeouts go by. */
  msToNextDeadline(): number | undefined {
    let firstAt: number | undefined;
    for (const { deadlineAt } of this.active.values()) firstAt = earliest(firstAt, deadlineAt);
    return firstAt === undefined ? undefined : firstAt - this.state.clock.workNow();
  }

  /** Ends all running deliveries. */
  abortAll(): void {
    for (const { abort } of this.active.values()) abort.abort(new Error("the stand-in is closing"));
  }

  /** The first message that may start now; any of them when the order is to be random. */
  private pickOpen(): Message | undefined {
    const { mailbox, clock, faults } = this.state;
    const now = clock.now();
    const open: Message[] = [];
    for (const lane of mailbox.lanes()) {
      const dueCount = countDue(lane, this.horizon());
      const message = lane[faults.shuffle ? Math.floor(faults.random() * dueCount) : 0];
      if (message && dueCount > 0 && opensAt(this.state, message, now) <= now) open.push(message);
    }
    if (faults.shuffle) return open[Math.floor(faults.random() * open.length)];
    return open.reduce<Message | undefined>(
      (first, each) => (first && comesBefore(first, each) ? first : each),
      undefined,
    );
  }

  private async attemptAll(message: Message, count: number): Promise<Answer[]> {
    const { plan, clock } = this.state;
    const abort = new AbortController();
    const maxMs = plan.maxTimeoutSeconds * 1000;
    const timeoutMs = Math.min(message.options.timeoutMs || maxMs, maxMs);
    this.active.set(message, { abort, deadlineAt: clock.workNow() + timeoutMs });
    // A running loop must learn of the new deadline.
    this.state.onChange();
    const outgoing = buildOutgoing(this.state, message);
    const attempts = Array.from({ length: count }, () =>
      attempt(outgoing, this.send, abort.signal, plan.maxMessageBytes),
    );
    const answers = await Promise.all(attempts);
    this.active.delete(message);
    return answers;
  }

  private losesAnswer(message: Message): boolean {
    const { faults } = this.state;
    if (message.loseNextAnswer) {
      message.loseNextAnswer = false;
      return true;
    }
    if (faults.answersToLose > 0) {
      faults.answersToLose -= 1;
      return true;
    }
    return this.happens(faults.loseAnswerRate);
  }

  private happens(rate: number): boolean {
    return rate > 0 && this.state.faults.random() < rate;
  }

  private horizon(): number {
    return this.state.clock.now() + this.state.faults.earlySeconds * 1000;
  }
}

/** Loses a message: the service believes that it was delivered. */
export function drop(state: State, message: Message): void {
  message.tenant.events.record(message, "DELIVERED", state.clock.now());
  finish(state, message, "delivered");
}

function describe({ status, headers, body, error }: Answer) {
  return {
    status,
    headers: Object.fromEntries(headers),
    body: body.toString(),
    error,
    answerLost: false,
  };
}

function earliest(a: number | undefined, b: number | undefined): number | undefined {
  return a === undefined || b === undefined ? (a ?? b) : Math.min(a, b);
}
