import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  DEFAULT_BACKOFF,
  delaySeconds,
  delayTable,
  delayWithoutJitterSeconds,
} from "../../src/core/backoff.js";

describe("backoff", () => {
  test("twelve failures in a row wait from the base up to the cap, and never beyond (K01)", () => {
    expect(delayTable(DEFAULT_BACKOFF, 12)).toEqual([
      30, 60, 120, 240, 480, 960, 1920, 3600, 3600, 3600, 3600, 3600,
    ]);
  });

  test("no input gives a delay below 1 s or above the cap plus jitter", () => {
    const seconds = fc.oneof(
      fc.double(),
      fc.integer(),
      fc.constantFrom(0, -1, Number.NaN, Infinity),
    );
    const bounded = fc.double({ min: 1, max: 86_400, noNaN: true });
    fc.assert(
      fc.property(
        bounded,
        bounded,
        bounded,
        seconds,
        fc.double({ min: 0, max: 0.999, noNaN: true }),
        (baseSeconds, maxSeconds, jitterSeconds, used, random) => {
          const delay = delaySeconds({ baseSeconds, maxSeconds, jitterSeconds }, used, random);
          expect(delay).toBeGreaterThanOrEqual(1);
          expect(delay).toBeLessThanOrEqual(maxSeconds + jitterSeconds);
        },
      ),
    );
  });

  test("a base above the cap is cut to the cap", () => {
    expect(
      delayWithoutJitterSeconds({ baseSeconds: 100, maxSeconds: 10, jitterSeconds: 0 }, 1),
    ).toBe(10);
  });

  test("jobs that fail in the same second return spread over the jitter window (K03)", () => {
    const perSecond = new Map<number, number>();
    for (let job = 0; job < 100; job += 1) {
      const second = Math.floor(delaySeconds(DEFAULT_BACKOFF, 1, job / 100));
      perSecond.set(second, (perSecond.get(second) ?? 0) + 1);
    }
    expect(Math.max(...perSecond.values())).toBeLessThanOrEqual(20);
  });
});
