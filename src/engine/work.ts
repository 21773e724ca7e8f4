/** Runs jobs in a process of one's own, for types that are not published to QStash. */

import type { Ports } from "../core/ports.js";
import type { SweepType } from "../core/sweep.js";
import { execute } from "./execute.js";
import { sweepTypes } from "./sweep-types.js";

export interface WorkOptions {
  /** Registered types to run, most urgent first. */
  types: string[];
  /** Attempts at the same time. */
  concurrency: number;
  /** How long to wait when nothing is due. */
  pollSeconds: number;
  /** Ends the work: what runs is finished, nothing more is claimed. */
  stop: AbortSignal;
}

/** A database that is down is asked again after 1, 2, 4 … 30 seconds. */
const OUTAGE_WAIT_SECONDS_MAX = 30;

/**
 * Claims and runs due jobs until it is stopped, through the same engine as deliveries.
 *
 * Errors: `TypeError` for a type that is not registered; an unreachable store is waited for. A
 *         process that is killed loses its leases, which a sweep recovers.
 */
export async function work(newPorts: () => Ports, options: WorkOptions): Promise<void> {
  const types = wantedTypes(newPorts(), options.types);
  await Promise.all(
    Array.from({ length: options.concurrency }, () => workAlone(newPorts, types, options)),
  );
}

async function workAlone(
  newPorts: () => Ports,
  types: SweepType[],
  { pollSeconds, stop }: WorkOptions,
): Promise<void> {
  let outages = 0;
  while (!stop.aborted) {
    const ports = newPorts();
    let waitSeconds = 0;
    try {
      const attempt = await ports.store.claimDue(types, ports.entropy.newId());
      outages = 0;
      if (attempt) await execute(ports, attempt, Number.POSITIVE_INFINITY);
      else waitSeconds = pollSeconds;
    } catch (error) {
      waitSeconds = Math.min(OUTAGE_WAIT_SECONDS_MAX, 2 ** outages);
      outages += 1;
      ports.log("worker_failed", { error: String(error), waitSeconds });
    }
    if (waitSeconds > 0) await ports.timers.sleep(waitSeconds * 1000, stop);
  }
}

function wantedTypes(ports: Ports, names: string[]): SweepType[] {
  const known = new Map(sweepTypes(ports).map((each) => [each.type, each]));
  return names.map((name) => {
    const type = known.get(name);
    if (type) return type;
    throw new TypeError(`no job type "${name}" here; known: ${[...known.keys()].join(", ")}`);
  });
}
