import type { Message, Route } from "../state/message.js";
import { keepQueuePlace } from "../state/queues.js";
import type { State } from "../state/state.js";
import type { Tenant } from "../state/tenant.js";
import { newId } from "../wire/ids.js";
import type { PublishOptions } from "../wire/publish-options.js";

/** What a new message is made of. */
export interface Draft {
  readonly route: Route;
  readonly options: PublishOptions;
  readonly publishHeaders: Headers;
  readonly body: Buffer;
  readonly callerIp: string;
  readonly createdAt: number;
  readonly dueAt: number;
  readonly reportsOn?: Message;
}

/** Puts a new message into the mailbox: published, fired by a schedule, retried or a callback. */
export function postMessage(state: State, tenant: Tenant, draft: Draft): Message {
  const { dueAt, reportsOn, ...given } = draft;
  const message: Message = {
    ...given,
    reportsOn,
    messageId: newId("msg"),
    tenant,
    notBefore: dueAt,
    isCopy: false,
    phase: "waiting",
    retried: 0,
    dueAt,
    sequence: 0,
    laneKey: "",
    cancelRequested: false,
    loseNextAnswer: false,
  };
  tenant.addMessage(message);
  tenant.countPublished(draft.createdAt, 1);
  if (draft.options.flowControl) tenant.flowControls.applySetting(draft.options.flowControl);
  if (reportsOn) keepQueuePlace(message);
  tenant.events.record(message, "CREATED", draft.createdAt);
  state.mailbox.add(message, dueAt);
  state.onChange();
  return message;
}
