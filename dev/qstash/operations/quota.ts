import type { State } from "../state/state.js";
import type { Tenant } from "../state/tenant.js";
import { ApiError } from "../wire/api-error.js";
import type { PublishOptions } from "../wire/publish-options.js";

/** Refuses what the plan does not allow, with the texts that the service was seen to answer. */
export function assertWithinPlan(
  state: State,
  { options, body }: { options: PublishOptions; body: Buffer },
): void {
  const { plan } = state;
  for (const delivery of [options, options.callback, options.failureCallback]) {
    if (delivery && delivery.maxRetries > plan.maxRetries) {
      throw new ApiError(400, "quota maxRetries exceeded");
    }
  }
  const notBeforeMs = options.notBeforeAt && options.notBeforeAt - state.clock.now();
  if ((notBeforeMs ?? options.delayMs) > plan.maxDelaySeconds * 1000) {
    throw new ApiError(400, `quota maxDelay exceeded, current limit: ${plan.maxDelaySeconds}`);
  }
  // Reported with this status, odd as it is for a fault of the client.
  if (body.length > plan.maxMessageBytes) throw new ApiError(500, "quota maxMessageSize exceeded");
}

/** Refuses messages beyond the plan's daily number; the client reads the headers. */
export function assertDailyQuota(state: State, tenant: Tenant, count: number): void {
  const { maxMessagesPerDay } = state.plan;
  const now = state.clock.now();
  const publishedToday = tenant.countPublished(now, 0);
  if (publishedToday + count <= maxMessagesPerDay) return;
  const resetAtSeconds = (Math.floor(now / 86_400_000) + 1) * 86_400;
  throw new ApiError(429, "quota maxMessagesPerDay exceeded", {
    "RateLimit-Limit": String(maxMessagesPerDay),
    "RateLimit-Remaining": String(Math.max(0, maxMessagesPerDay - publishedToday)),
    "RateLimit-Reset": String(resetAtSeconds),
  });
}
