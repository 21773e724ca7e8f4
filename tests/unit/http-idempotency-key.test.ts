import { describe, expect, test } from "vitest";
import { readIdempotencyKey } from "../../src/http/idempotency-key.js";

const read = (header?: string) =>
  readIdempotencyKey(new Headers(header === undefined ? {} : { "Idempotency-Key": header }));

describe("the Idempotency-Key header", () => {
  test.each([undefined, "", "   ", '""', '"  "'])("A01, A10: %j is a missing key", (header) => {
    expect(() => read(header)).toThrow(
      expect.objectContaining({ code: "idempotency_key_missing" }),
    );
  });

  test.each([
    ["x".repeat(255), "x".repeat(255)],
    [`"${"x".repeat(255)}"`, "x".repeat(255)],
    ["a,b", "a,b"],
    ['"k-1"', "k-1"],
    ['"a b"', "a b"],
    ['"a\\"b\\\\"', 'a"b\\'],
    ['a"b', 'a"b'],
    ["!~", "!~"],
  ])("%j is the key %j", (header, key) => {
    expect(read(header)).toBe(key);
  });

  test.each(["x".repeat(256), "x".repeat(20_000), `"${"x".repeat(256)}"`])(
    "A08: a key over 255 characters is refused",
    (header) => {
      expect(() => read(header)).toThrow(
        expect.objectContaining({ code: "idempotency_key_invalid" }),
      );
    },
  );

  test.each(["a b", "a\tb", "a\u00a0", "\u00e9", '"a', '"a"b', '"a\\b"', '"a";v=1', '"\u00e9"'])(
    "%j cannot be used",
    (header) => {
      expect(() => read(header)).toThrow(
        expect.objectContaining({ code: "idempotency_key_invalid" }),
      );
    },
  );

  test.each([
    ["a", "b"],
    ["a", "a"],
    ['"a"', '"a"'],
  ])("sent twice, as %s and %s, it cannot be used", (one, other) => {
    const headers = new Headers({ "Idempotency-Key": one });
    headers.append("Idempotency-Key", other);
    expect(() => readIdempotencyKey(headers)).toThrow(
      expect.objectContaining({ code: "idempotency_key_invalid" }),
    );
  });
});
