/** Knows when no call of an instance is under way, so that a test goes on without sleeping. */

/** Wraps ports and waits for their calls. */
export interface CallTracker {
  wrap<Port extends object>(port: Port): Port;
  /** Returns once no wrapped call is under way and none follows from those that were. */
  settled(): Promise<void>;
}

/** Turns of the event loop without a call after which nothing more follows by itself. */
const QUIET_TURNS = 2;

/** Makes a tracker; calls that a fault rule holds back are not under way. */
export function trackCalls(): CallTracker {
  const underWay = new Set<Promise<unknown>>();
  return {
    wrap: (port) =>
      new Proxy(port, {
        get(target, method: string) {
          const original = Reflect.get(target, method) as unknown;
          if (typeof original !== "function") return original;
          return (...args: unknown[]) => {
            const call = Promise.resolve(original.apply(target, args) as unknown);
            const ended = call.then(
              () => {},
              () => {},
            );
            underWay.add(ended);
            void ended.then(() => underWay.delete(ended));
            return call;
          };
        },
      }),
    async settled() {
      for (let quiet = 0; quiet < QUIET_TURNS; ) {
        await new Promise((resolve) => setImmediate(resolve));
        if (underWay.size === 0) quiet += 1;
        else {
          quiet = 0;
          await Promise.all(underWay);
        }
      }
    },
  };
}
