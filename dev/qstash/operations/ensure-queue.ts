import type { Queue } from "../state/queues.js";
import type { State } from "../state/state.js";
import type { Tenant } from "../state/tenant.js";
import { ApiError } from "../wire/api-error.js";
import { assertName } from "../wire/names.js";

/** Finds a queue or makes it, as long as the plan allows one more. */
export function ensureQueue(state: State, tenant: Tenant, name: string): Queue {
  assertName(name, "queue name");
  const known = tenant.queues.get(name);
  if (known) return known;
  if (tenant.queues.size >= state.plan.maxQueues) {
    throw new ApiError(412, `quota maxQueues exceeded, current limit: ${state.plan.maxQueues}`);
  }
  return tenant.queues.create(name, state.clock.now());
}
