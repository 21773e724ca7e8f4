/** Lets a human say how an effect ended that nobody reported on. */

import type { Actor, Settlement, SettleOutcome } from "../core/operations.js";
import type { Ports } from "../core/ports.js";

/** Settles one unknown effect; a known or running one stays as it is. */
export async function settle(
  ports: Ports,
  actor: Actor,
  effect: { jobId: string; name: string },
  settlement: Settlement,
  reason: string,
  actionId = ports.entropy.newId(),
): Promise<SettleOutcome> {
  const action = { actionId, actor, reason };
  const outcome = await ports.store.settleEffect(effect.jobId, effect.name, settlement, action);
  if (outcome.kind === "settled") {
    ports.log("effect_settled", {
      jobId: effect.jobId,
      effect: effect.name,
      outcome: settlement.outcome,
      by: actor.keyName,
    });
  }
  return outcome;
}
