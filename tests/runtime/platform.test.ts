/** The timers that every entry gives to the engine. */

import { getEventListeners } from "node:events";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { webPlatform } from "../../src/entry/platform.js";

const { sleep } = webPlatform.timers;

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

test("a sleep ends with its time and leaves no listener on a signal that lives on", async () => {
  const { signal } = new AbortController();
  const done = sleep(1_000, signal);
  expect(getEventListeners(signal, "abort")).toHaveLength(1);
  await vi.advanceTimersByTimeAsync(1_000);
  await done;
  expect(getEventListeners(signal, "abort")).toHaveLength(0);
});

test("an abort ends a sleep at once and leaves no timer behind", async () => {
  const controller = new AbortController();
  const done = sleep(60_000, controller.signal);
  expect(vi.getTimerCount()).toBe(1);
  controller.abort();
  await done;
  expect(vi.getTimerCount()).toBe(0);
  expect(getEventListeners(controller.signal, "abort")).toHaveLength(0);
});

test("a sleep under an aborted signal starts no timer", async () => {
  await sleep(60_000, AbortSignal.abort());
  expect(vi.getTimerCount()).toBe(0);
});
