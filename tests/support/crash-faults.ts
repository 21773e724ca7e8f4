/** Faults at the n-th calls of a run, counted over all of its instances. */

import { AsyncLocalStorage } from "node:async_hooks";
import type { Call, CallFault } from "./faulty.js";
import type { World } from "./world.js";

/**
 * Besides the faults of the ports: the answer is lost once, and the client itself repeats the call;
 * or the instance stands still before the call, until everybody has given it up and gone on.
 */
export type PointFault = CallFault | "repeat" | "late";
export const POINT_FAULTS: PointFault[] = [
  ...(["crash_before", "crash_after", "fail", "cut", "repeat", "late"] as const),
];

/** Where a fault strikes. */
export interface Point {
  number: number;
  fault: PointFault;
}

/** The faults of one run. */
export interface RunFaults {
  /** The rule for the ports of every instance of the run. */
  rule(call: Call): CallFault | undefined | Promise<undefined>;
  /** Calls so far, by port and method. */
  calls: string[];
  /** Waits for the work, but not for an instance that stands still: then it gives `"stalled"`. */
  unlessStalled<T>(work: () => Promise<T>): Promise<T | "stalled">;
  /** Lets an instance go on that stood still. */
  wake(): void;
  /** QStash refuses publishes of its own accord, until it is over. */
  outage(on: boolean): void;
}

/** Counts the calls of a run, and strikes those of the points. */
export function injectFaults({ database, qstash }: World, points: readonly Point[]): RunFaults {
  const calls: string[] = [];
  const woken = Promise.withResolvers<undefined>();
  /** Who waits for the work that a call belongs to. */
  const waiter = new AsyncLocalStorage<() => void>();
  let refusing = false;
  const lift = (): void => {
    database.neon.setFault(null);
    qstash.refusePublishes(refusing ? { status: 503 } : null);
  };
  return {
    calls,
    unlessStalled: (work) => {
      const stalled = Promise.withResolvers<"stalled">();
      return Promise.race([waiter.run(() => stalled.resolve("stalled"), work), stalled.promise]);
    },
    wake: () => woken.resolve(undefined),
    outage(on) {
      refusing = on;
      lift();
    },
    rule({ port, method }) {
      lift();
      calls.push(`${port}.${method}`);
      const fault = points.find(({ number }) => number === calls.length)?.fault;
      if (fault === undefined) return undefined;
      if (fault === "crash_before" || fault === "crash_after") return fault;
      if (fault === "late") {
        waiter.getStore()?.();
        return woken.promise;
      }
      if (port === "store") {
        if (fault !== "repeat") return fault;
        database.neon.setFault({ action: "lose-answer", nth: 1 });
        return undefined;
      }
      // At QStash, since the trigger does not throw what it publishes many of; it asks twice.
      if (fault === "fail") qstash.refusePublishes({ status: 503, times: 2 });
      else qstash.refusePublishes("cut", { times: fault === "cut" ? 2 : 1 });
      return undefined;
    },
  };
}
