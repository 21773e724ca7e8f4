/** Holds a job type back, or lets it go on. */

import type { Actor, TypeState } from "../core/operations.js";
import type { Ports } from "../core/ports.js";

/** Pauses or resumes a type; what waits meanwhile is published by the sweeps after the resume. */
export async function setPaused(
  ports: Ports,
  actor: Actor,
  type: string,
  paused: boolean,
  reason: string | null,
): Promise<TypeState> {
  const action = { actionId: ports.entropy.newId(), actor, reason };
  const state = await ports.store.setTypePaused(type, paused, action);
  ports.log(paused ? "type_paused" : "type_resumed", { type, by: actor.keyName });
  return state;
}
