import type { State } from "../state/state.js";
import { ApiError } from "../wire/api-error.js";

/** What happens to a publish besides an error answer. */
export type PublishDisturbance = "hang" | "cut" | undefined;

/** Counts a publish request and applies the fault that is set: throws the refusal or names the rest. */
export function takePublishFault(state: State): PublishDisturbance {
  const { faults, counts } = state;
  counts.publishRequests += 1;
  const set = faults.publish;
  if (!set) return undefined;
  set.timesLeft -= 1;
  if (set.timesLeft <= 0) faults.publish = undefined;
  if (set.fault === "cut") return "cut";
  counts.refusedPublishes += 1;
  if (set.fault === "hang") return "hang";
  throw new ApiError(
    set.fault.status,
    refusalText(set.fault.status),
    refusalHeaders(state, set.fault),
  );
}

function refusalText(status: number): string {
  if (status === 429) return "rate limit exceeded";
  return status === 503 ? "service unavailable" : "internal server error";
}

/** The client reads a 429 as a burst limit by these headers. */
function refusalHeaders(state: State, { status }: { status: number }): Record<string, string> {
  if (status !== 429) return {};
  return {
    "Burst-RateLimit-Limit": "100",
    "Burst-RateLimit-Remaining": "0",
    "Burst-RateLimit-Reset": String(Math.ceil(state.clock.now() / 1000) + 1),
  };
}
