/** Counts jobs and attempts for those who may see them. */

import type { Stats } from "../core/listing.js";
import type { Actor } from "../core/operations.js";
import type { Ports } from "../core/ports.js";

/** How far a count goes before it says "at least": read often, so it must stay cheap. */
const COUNT_MAX = 1000;

/** Reads the numbers of the actor's tenant; an admin's are those of all. */
export async function readStats(ports: Ports, actor: Actor): Promise<Stats> {
  return ports.store.readStats(actor, COUNT_MAX);
}
