import { createHash } from "node:crypto";
import type { Message, Route } from "../state/message.js";
import type { State } from "../state/state.js";
import type { Tenant } from "../state/tenant.js";
import { ApiError } from "../wire/api-error.js";
import {
  assertHttpDestination,
  assertReachableHost,
  type RawDestination,
} from "../wire/destination.js";
import { toHeaders } from "../wire/headers.js";
import { assertName } from "../wire/names.js";
import { type PublishOptions, parsePublishOptions } from "../wire/publish-options.js";
import { ensureQueue } from "./ensure-queue.js";
import { postMessage } from "./post-message.js";
import { assertDailyQuota, assertWithinPlan } from "./quota.js";

/** A publish as it came in. */
export interface PublishRequest {
  readonly destination: RawDestination;
  readonly headers: Headers;
  readonly body: Buffer;
  readonly queueName?: string;
}

/** A publish that was checked as a whole and cannot be refused any more. */
export interface PreparedMessage {
  readonly target: { readonly url: string } | { readonly topicName: string };
  readonly options: PublishOptions;
  readonly headers: Headers;
  readonly body: Buffer;
  readonly queueName?: string;
}

/** Who published, when, and on whose behalf. */
export interface Origin {
  readonly callerIp: string;
  readonly at: number;
  readonly scheduleId?: string;
}

/** What the API answers for one message. */
export interface Published {
  readonly messageId: string;
  readonly url?: string;
  readonly deduplicated?: true;
}

/** Checks a publish against grammar, plan and groups; throws an ApiError, changes nothing. */
export async function prepareMessage(
  state: State,
  tenant: Tenant,
  request: PublishRequest,
): Promise<PreparedMessage> {
  const { text, config } = request.destination;
  if (request.queueName !== undefined) assertName(request.queueName, "queue name");
  const group = /^https?:/i.test(text) ? undefined : tenant.urlGroups.get(text);
  if (!group) {
    assertHttpDestination(text);
    await assertReachableHost(text, state.settings.strict);
  }
  const headers = new Headers(group?.defaultHeaders);
  for (const [name, value] of toHeaders(config)) headers.set(name, value);
  for (const [name, value] of request.headers) headers.set(name, value);
  const prepared = {
    target: group ? { topicName: group.name } : { url: text },
    options: parsePublishOptions(headers),
    headers,
    body: request.body,
    queueName: request.queueName,
  };
  assertWithinPlan(state, prepared);
  return prepared;
}

/** Accepts a prepared publish: one result for a URL, one for each endpoint of a group. */
export function acceptMessage(
  state: State,
  tenant: Tenant,
  prepared: PreparedMessage,
  origin: Origin,
): Published | Published[] {
  if (prepared.queueName) ensureQueue(state, tenant, prepared.queueName);
  const { target } = prepared;
  if ("url" in target) {
    return accept(state, tenant, prepared, origin, { url: target.url });
  }
  const group = tenant.urlGroups.get(target.topicName);
  if (!group) throw new ApiError(404, `url group ${target.topicName} not found`);
  return group.endpoints.map(({ url, name }) => {
    const route = { url, topicName: group.name, endpointName: name };
    return { ...accept(state, tenant, prepared, origin, route), url };
  });
}

/** Checks the day's quota and accepts several publishes, all of them or none. */
export function acceptAll(
  state: State,
  tenant: Tenant,
  prepared: readonly PreparedMessage[],
  callerIp: string,
): (Published | Published[])[] {
  const count = prepared.reduce((sum, message) => sum + messageCount(tenant, message), 0);
  assertDailyQuota(state, tenant, count);
  for (const { queueName } of prepared) {
    if (queueName) ensureQueue(state, tenant, queueName);
  }
  const origin = { callerIp, at: state.clock.now() };
  return prepared.map((message) => acceptMessage(state, tenant, message, origin));
}

function messageCount(tenant: Tenant, { target }: PreparedMessage): number {
  return "url" in target ? 1 : (tenant.urlGroups.get(target.topicName)?.endpoints.length ?? 0);
}

function accept(
  state: State,
  tenant: Tenant,
  prepared: PreparedMessage,
  origin: Origin,
  route: Route,
): Published {
  // A schedule's id was checked when it was made; each of its runs is a new message.
  const key = origin.scheduleId ? undefined : deduplicationKey(prepared, route);
  const originalId = key && tenant.deduplication.find(key, origin.at);
  if (originalId) {
    state.counts.deduplicated += 1;
    return { messageId: originalId, deduplicated: true };
  }
  const message = post(state, tenant, prepared, origin, route);
  if (key) tenant.deduplication.remember(key, message.messageId, origin.at);
  state.counts.messages += 1;
  return { messageId: message.messageId };
}

function post(
  state: State,
  tenant: Tenant,
  prepared: PreparedMessage,
  origin: Origin,
  route: Route,
): Message {
  const { options, queueName } = prepared;
  const wantedAt = options.notBeforeAt ?? origin.at + options.delayMs;
  return postMessage(state, tenant, {
    route: { ...route, queueName, scheduleId: origin.scheduleId },
    options,
    publishHeaders: prepared.headers,
    body: prepared.body,
    callerIp: origin.callerIp,
    createdAt: origin.at,
    // A queue knows no delay: order of arrival is what it promises.
    dueAt: queueName ? origin.at : Math.max(origin.at, wantedAt),
  });
}

/** The key under which a repeat of this publish is recognised; undefined when none was asked for. */
export function deduplicationKey(prepared: PreparedMessage, route: Route): string | undefined {
  const { options } = prepared;
  const endpoint = route.topicName ? ` ${route.url}` : "";
  if (options.deduplicationId) return `id ${options.deduplicationId}${endpoint}`;
  if (!options.contentBasedDeduplication) return undefined;
  const hash = createHash("sha256")
    .update(JSON.stringify([route.url, route.topicName, options.headers]))
    .update(prepared.body);
  return `content ${hash.digest("hex")}`;
}
