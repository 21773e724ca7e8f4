/** Groups dead letters for those who may see them. */

import type { DeadLetterGroups } from "../core/activity.js";
import type { Actor } from "../core/operations.js";
import type { Ports } from "../core/ports.js";

/** Whoever has more of them looks for a cause, not for the oldest one. */
const LETTERS_MAX = 2000;

/** Reads the groups of the newest dead letters, those that happened last first. */
export async function groupDeadLetters(ports: Ports, { tenant }: Actor): Promise<DeadLetterGroups> {
  return ports.store.groupDeadLetters(tenant, LETTERS_MAX);
}
