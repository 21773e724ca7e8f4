/** Faults at the n-th calls of a run, counted over all of its instances. */

import { AsyncLocalStorage } from "node:async_hooks";
import type { Call, CallFault } from "./faulty.js";
import type { World } from "./world.js";

/**
 * Besides the faults of the ports: the answer is lost once, and the client itself repeats the call;
 * or the instance stands still before the call and goes on late, when everybody has given it up.
 */
export type PointFault = CallFault | "repeat" | "late";
export const POINT_FAULTS: PointFault[] = [
  "crash_before",
  "crash_after",
  "fail",
  "cut",
  "repeat",
  "late",
];

/** Where a fault strikes. */
export interface Point {
  number: number;
  fault: PointFault;
}

/** Calls of an attempt go on just before another attempt of the job ends, all others after the end. */
const OVERTAKEN = ["claim", "claimDue", "heartbeat", "beginEffect", "endEffect", "finish"];

/** Work that one request began; it may go on after its caller has given it up. */
interface Work {
  giveUp: () => void;
  ended: Promise<unknown>;
}

/** The faults of one run. */
export interface RunFaults {
  /** The rule for the ports of every instance of the run. */
  rule(call: Call): CallFault | undefined | Promise<undefined>;
  /** Calls so far, by port and method. */
  calls: string[];
  /** Waits for the work, but not for an instance that stands still: then it gives `"stalled"`. */
  unlessStalled<T>(work: () => Promise<T>): Promise<T | "stalled">;
  /** Tells that the work at hand is this, although its caller may give it up earlier. */
  follow<T>(ended: Promise<T>): Promise<T>;
  /** Lets an instance go on that stood still, to the end of its work. */
  wake(): Promise<void>;
  /** QStash refuses publishes of its own accord, until it is over. */
  outage(on: boolean): void;
}

/** Counts the calls of a run, and strikes those of the points. */
export function injectFaults(world: World, points: readonly Point[]): RunFaults {
  const calls: string[] = [];
  const woken = Promise.withResolvers<undefined>();
  const atHand = new AsyncLocalStorage<Work>();
  const network = disturb(world);
  const standing: Work[] = [];
  let isOvertaken = false;
  const wake = async (): Promise<void> => {
    woken.resolve(undefined);
    await Promise.allSettled(standing.map(({ ended }) => ended));
  };
  return {
    calls,
    wake,
    outage: network.outage,
    async unlessStalled(work) {
      const stalled = Promise.withResolvers<"stalled">();
      const own: Work = { giveUp: () => stalled.resolve("stalled"), ended: stalled.promise };
      own.ended = atHand.run(own, work);
      return Promise.race([own.ended as ReturnType<typeof work>, stalled.promise]);
    },
    follow(ended) {
      const own = atHand.getStore();
      if (own) own.ended = ended;
      return ended;
    },
    rule({ port, method }) {
      network.lift();
      calls.push(`${port}.${method}`);
      const fault = points.find(({ number }) => number === calls.length)?.fault;
      if (fault === "late") {
        const own = atHand.getStore();
        if (own) standing.push(own);
        isOvertaken = OVERTAKEN.includes(method);
        own?.giveUp();
        return woken.promise;
      }
      if (isOvertaken && method === "finish") {
        isOvertaken = false;
        return wake().then(() => undefined);
      }
      if (fault === "crash_before" || fault === "crash_after") return fault;
      if (port === "store" && fault !== "repeat") return fault;
      if (fault !== undefined) network.strike(port, fault);
      return undefined;
    },
  };
}

/** Faults on the way to Neon and QStash; the trigger does not throw what it publishes many of. */
function disturb({ database, qstash }: World) {
  let refusing = false;
  const lift = (): void => {
    database.neon.setFault(null);
    qstash.refusePublishes(refusing ? { status: 503 } : null);
  };
  return {
    lift,
    strike(port: Call["port"], fault: "fail" | "cut" | "repeat"): void {
      if (port === "store") database.neon.setFault({ action: "lose-answer", nth: 1 });
      // It asks twice.
      else if (fault === "fail") qstash.refusePublishes({ status: 503, times: 2 });
      else qstash.refusePublishes("cut", { times: fault === "cut" ? 2 : 1 });
    },
    outage(on: boolean): void {
      refusing = on;
      lift();
    },
  };
}
