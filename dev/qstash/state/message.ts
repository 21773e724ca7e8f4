import type { PublishOptions } from "../wire/publish-options.js";
import type { Tenant } from "./tenant.js";

export type Phase = "waiting" | "active" | "delivered" | "failed" | "canceled";

/** What a destination answered; status 0 and `error` when no answer was seen. */
export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly body: Buffer;
  readonly error?: string;
  /** The destination answered, but the answer was lost on the way (a fault). */
  readonly lost?: boolean;
}

/** Where a message came from and where it goes. */
export interface Route {
  readonly url: string;
  readonly topicName?: string;
  readonly endpointName?: string;
  readonly queueName?: string;
  readonly scheduleId?: string;
}

/** One message, from its publish until it is delivered, failed or cancelled. */
export interface Message {
  readonly messageId: string;
  readonly tenant: Tenant;
  readonly route: Route;
  readonly options: PublishOptions;
  /** The publish headers as they came: a dead letter's retry may override some of them. */
  readonly publishHeaders: Headers;
  readonly body: Buffer;
  readonly callerIp: string;
  readonly createdAt: number;
  readonly notBefore: number;
  /** A callback names the message it reports on: a queue waits for both. */
  readonly reportsOn?: Message;
  /** A repeated delivery (a fault): sent like the original, but its outcome changes nothing. */
  readonly isCopy: boolean;
  phase: Phase;
  retried: number;
  dueAt: number;
  /** Breaks ties between equal due times: the order of arrival. */
  sequence: number;
  /** Where it stands in the mailbox. */
  laneKey: string;
  finishedAt?: number;
  cancelRequested: boolean;
  loseNextAnswer: boolean;
}
