/** Faults at the n-th calls of a run, counted over all of its instances. */

import { AsyncLocalStorage } from "node:async_hooks";
import type { Call, CallFault } from "./faulty.js";
import type { Instance, World } from "./world.js";

/**
 * Besides the faults of the ports: the answer is lost once, and the client itself repeats the call;
 * or the instance freezes before the call, is given up by everybody, and thaws late.
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

/** Frozen in these, an instance thaws when another attempt is about to end; else after the end. */
const OVERTAKEN = ["claim", "claimDue", "heartbeat", "beginEffect", "endEffect", "finish"];

/** What somebody waits for; it may go on after that. */
interface Work {
  giveUp: () => void;
  ended: Promise<unknown>;
}

/** The faults of one run. */
export interface RunFaults {
  /** The rule for the ports of an instance of the run. */
  rule(call: Call, instance: Instance): CallFault | undefined | Promise<undefined>;
  /** Calls so far, by port and method. */
  calls: string[];
  /** Waits for an instance's work, but not when it freezes: then it gives `"frozen"`. */
  unlessFrozen<T>(instance: Instance, work: () => Promise<T>): Promise<T | "frozen">;
  /** Tells that the work at hand is this, although whoever waits for it may give it up earlier. */
  follow<T>(ended: Promise<T>): Promise<T>;
  isFrozen(instance: Instance): boolean;
  /** Lets a frozen instance go on, to the end of its work. */
  thaw(): Promise<void>;
  /** QStash refuses publishes of its own accord, until it is over. */
  outage(on: boolean): void;
}

/** Counts the calls of a run, and strikes those of the points. */
export function injectFaults(world: World, points: readonly Point[]): RunFaults {
  const calls: string[] = [];
  const network = disturb(world);
  const ice = createIce();
  return {
    ...ice,
    calls,
    outage: network.outage,
    rule({ port, method }, instance) {
      network.lift();
      calls.push(`${port}.${method}`);
      const fault = points.find(({ number }) => number === calls.length)?.fault;
      if (fault === "late") ice.freeze(instance, OVERTAKEN.includes(method));
      if (ice.isFrozen(instance)) return ice.thawed;
      if (method === "finish" && ice.isOvertaken()) return ice.thaw().then(() => undefined);
      if (fault === "crash_before" || fault === "crash_after") return fault;
      if (fault === undefined || fault === "late") return undefined;
      if (port === "store" && fault !== "repeat") return fault;
      network.strike(port, fault);
      return undefined;
    },
  };
}

/** What freezes and thaws: one instance a run, with all that it was asked to do. */
function createIce() {
  const thawed = Promise.withResolvers<undefined>();
  const atHand = new AsyncLocalStorage<Work>();
  const works = new Map<Instance, Set<Work>>();
  const abandoned: Work[] = [];
  let frozen: Instance | undefined;
  let waitsForRival = false;
  return {
    thawed: thawed.promise,
    freeze(instance: Instance, untilOvertaken: boolean): void {
      frozen = instance;
      waitsForRival = untilOvertaken;
      abandoned.push(...(works.get(instance) ?? []));
      for (const { giveUp } of abandoned) giveUp();
    },
    isFrozen: (instance: Instance): boolean => instance === frozen,
    isOvertaken: (): boolean => waitsForRival,
    async thaw(): Promise<void> {
      frozen = undefined;
      waitsForRival = false;
      thawed.resolve(undefined);
      await Promise.allSettled(abandoned.map(({ ended }) => ended));
    },
    async unlessFrozen<T>(instance: Instance, work: () => Promise<T>): Promise<T | "frozen"> {
      const given = Promise.withResolvers<"frozen">();
      const own: Work = { giveUp: () => given.resolve("frozen"), ended: given.promise };
      const known = works.get(instance) ?? new Set();
      works.set(instance, known.add(own));
      const done = atHand.run(own, work);
      own.ended = own.ended === given.promise ? done : own.ended;
      return Promise.race([done, given.promise]).finally(() => known.delete(own));
    },
    follow<T>(ended: Promise<T>): Promise<T> {
      const own = atHand.getStore();
      if (own) own.ended = ended;
      return ended;
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
      else if (refusing) return;
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
