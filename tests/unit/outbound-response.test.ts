import { describe, expect, test } from "vitest";
import { fitJsonText, readCapped } from "../../src/jobs/outbound/response.js";

const never = new AbortController().signal;
const bytes = (text: string) => new TextEncoder().encode(text);

function bodyOf(...chunks: Uint8Array[]): ReadableStream<Uint8Array> {
  return new ReadableStream({
    start(controller) {
      for (const chunk of chunks) controller.enqueue(chunk);
      controller.close();
    },
  });
}

describe("Q11: a body is read to the cap and not further", () => {
  test("an endless body ends at the cap, was hardly read beyond it, and is cancelled", async () => {
    let pulledBytes = 0;
    let cancelled = false;
    const endless = new ReadableStream<Uint8Array>({
      pull(controller) {
        pulledBytes += 1_024;
        controller.enqueue(new Uint8Array(1_024).fill(97));
      },
      cancel() {
        cancelled = true;
      },
    });
    const { text, truncated } = await readCapped(endless, 10_000, never);
    expect(text).toBe("a".repeat(10_000));
    expect(truncated).toBe(true);
    expect(pulledBytes).toBeLessThanOrEqual(10_000 + 3 * 1_024);
    expect(cancelled).toBe(true);
  });

  test("a silent sender is left when the signal aborts, though its stream knows no signal", async () => {
    const stop = new AbortController();
    let cancelReason: unknown;
    const silent = new ReadableStream<Uint8Array>({
      cancel(reason) {
        cancelReason = reason;
      },
    });
    const reading = readCapped(silent, 10, stop.signal);
    const reason = new Error("time is up");
    stop.abort(reason);
    await expect(reading).rejects.toBe(reason);
    expect(cancelReason).toBe(reason);
  });

  test("an aborted signal wins over bytes that are there already", async () => {
    await expect(readCapped(bodyOf(bytes("abc")), 10, AbortSignal.abort("stop"))).rejects.toBe(
      "stop",
    );
  });

  test("a body of exactly the cap is whole", async () => {
    expect(await readCapped(bodyOf(bytes("abc"), bytes("de")), 5, never)).toEqual({
      text: "abcde",
      truncated: false,
    });
    expect((await readCapped(bodyOf(bytes("abc"), bytes("de")), 4, never)).truncated).toBe(true);
    expect(await readCapped(bodyOf(), 0, never)).toEqual({ text: "", truncated: false });
    expect(await readCapped(null, 5, never)).toEqual({ text: "", truncated: false });
  });

  test("a character is never cut in two", async () => {
    const euros = bytes("€€€");
    expect(await readCapped(bodyOf(euros), 7, never)).toEqual({ text: "€€", truncated: true });
    const split = await readCapped(bodyOf(euros.subarray(0, 2), euros.subarray(2)), 9, never);
    expect(split).toEqual({ text: "€€€", truncated: false });
  });
});

describe("text of an answer can always be stored", () => {
  const jsonBytes = (text: string) => bytes(JSON.stringify(text)).length;

  test("within the bytes that its JSON may have, whatever escapes it needs", () => {
    for (const character of ["a", "\u0001", "€", "😀", '"', "\ufffd"]) {
      const fitted = fitJsonText({ text: character.repeat(5_000), truncated: false }, 1_000);
      expect(fitted.truncated).toBe(true);
      expect(jsonBytes(fitted.text)).toBeLessThanOrEqual(1_000);
      expect(jsonBytes(fitted.text)).toBeGreaterThan(900);
    }
    const uneven = fitJsonText(
      { text: `${"a".repeat(4_000)}${"\u0001".repeat(4_000)}`, truncated: false },
      2_000,
    );
    expect(jsonBytes(uneven.text)).toBeLessThanOrEqual(2_000);
  });

  test("without the character that Postgres cannot keep, and well-formed", () => {
    expect(fitJsonText({ text: "a\u0000b", truncated: false }, 100)).toEqual({
      text: "a\ufffdb",
      truncated: false,
    });
    expect(fitJsonText({ text: "😀".repeat(50), truncated: false }, 51).text.isWellFormed()).toBe(
      true,
    );
  });
});
