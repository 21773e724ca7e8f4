/** Fault injection at the ports: fail, delay or cut the answer of the n-th call. */

import {
  PublishFailedError,
  type Store,
  StoreUnavailableError,
  type Trigger,
} from "../../src/core/ports.js";

/** What happens to one call. */
export type CallFault =
  /** It never reaches the other side. */
  | "fail"
  /** It is carried out, and the answer is lost. */
  | "cut"
  /** The instance dies before the call: this call and every later one never come back. */
  | "crash_before"
  /** The instance dies after the call was carried out. */
  | "crash_after";

/** One call through a wrapped port. */
export interface Call {
  /** From 1, over store and trigger together. */
  number: number;
  port: "store" | "trigger";
  method: string;
  args: readonly unknown[];
}

/** Decides about a call; may also wait, which delays it. */
export type FaultRule = (call: Call) => CallFault | undefined | Promise<CallFault | undefined>;

/** Thrown out of a dead instance, where nothing can catch it but the harness. */
export class InstanceDiedError extends Error {
  constructor() {
    super("the instance died");
    this.name = "InstanceDiedError";
  }
}

/** Wraps the ports of one instance. */
export interface FaultyPorts {
  store(store: Store): Store;
  trigger(trigger: Trigger): Trigger;
  rule: FaultRule | undefined;
  calls: Call[];
  /** Set once the instance died; resolves `died`. */
  readonly died: Promise<never>;
  readonly isDead: boolean;
  kill(): void;
}

/** Makes the wrappers of one instance; without a rule they only record calls. */
export function faultyPorts(): FaultyPorts {
  const calls: Call[] = [];
  let dead = false;
  let reportDeath: (error: InstanceDiedError) => void = () => {};
  const died = new Promise<never>((_, reject) => {
    reportDeath = reject;
  });
  died.catch(() => {});
  const kill = (): void => {
    dead = true;
    reportDeath(new InstanceDiedError());
  };
  /** What a dead instance waits for. */
  const forEver = new Promise<never>(() => {});

  const wrap = <Port extends object>(port: Port, name: Call["port"]): Port =>
    new Proxy(port, {
      get(target, method: string) {
        const original = Reflect.get(target, method) as unknown;
        // It sends nothing: it only gives the statement that somebody else will send.
        if (typeof original !== "function" || method === "enqueueStatement") return original;
        return async (...args: unknown[]) => {
          if (dead) return forEver;
          const call = { number: calls.length + 1, port: name, method, args };
          calls.push(call);
          const fault = await ports.rule?.(call);
          if (dead) return forEver;
          if (fault === "crash_before") {
            kill();
            return forEver;
          }
          if (fault === "fail") throw failureOf(name);
          const answer = await original.apply(target, args);
          if (fault === "crash_after") kill();
          if (dead) return forEver;
          if (fault === "cut") throw failureOf(name);
          return answer;
        };
      },
    });
  const ports: FaultyPorts = {
    store: (store) => wrap(store, "store"),
    trigger: (trigger) => wrap(trigger, "trigger"),
    rule: undefined,
    calls,
    died,
    get isDead() {
      return dead;
    },
    kill,
  };
  return ports;
}

function failureOf(port: Call["port"]): Error {
  return port === "store"
    ? new StoreUnavailableError("injected: no answer from the store")
    : new PublishFailedError("injected: no answer from the trigger");
}
