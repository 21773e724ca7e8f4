import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { compileRetryDelay } from "../../dev/qstash/wire/retry-delay.js";

describe("retry-delay expressions", () => {
  test.each([
    ["1000", 0, 1000],
    ["1000 * (1 + retried)", 2, 3000],
    ["pow(2, retried) * 100", 5, 3200],
    ["max(10, pow(2, retried))", 1, 10],
    ["min(5000, exp(retried) * 1000)", 3, 5000],
    ["10 - 4 - 3", 0, 3],
    ["100 / 10 / 2", 0, 5],
    ["2 + 3 * 4", 0, 14],
    ["-(retried - 10) * 2", 4, 12],
    ["--5", 0, 5],
    ["floor(2.9) + ceil(2.1) + round(2.5) + abs(-1) + sqrt(16)", 0, 13],
    ["retried", 7, 7],
    ["0.5 * 3", 0, 2],
    ["-5", 0, 0],
    ["1 / 0", 0, 86_400_000],
    ["0 / 0", 0, 0],
    ["pow(10, 100)", 0, 86_400_000],
  ])("%s with retried = %i is %i ms", (expression, retried, delayMs) => {
    expect(compileRetryDelay(expression)(retried)).toBe(delayMs);
  });

  test.each([
    "",
    " ",
    "1 +",
    "(1",
    "1)",
    "1 2",
    "foo(1)",
    "Retried",
    "pow(1)",
    "exp(1, 2)",
    "pow",
    "constructor(1)",
    "1; 2",
    "1e3",
    "2 ** 3",
    "process.exit(1)",
    `${"(".repeat(5000)}1${")".repeat(5000)}`,
  ])("%j is refused", (expression) => {
    expect(() => compileRetryDelay(expression)).toThrow(SyntaxError);
  });

  test("any text is compiled or refused with a SyntaxError, and never gives less than 0 or more than a day", () => {
    const alphabet = fc.constantFrom(
      ..."0123456789.+-*/(), ",
      "retried",
      "pow(",
      "exp(",
      "min(",
      "sqrt(",
    );
    const expressions = fc.array(alphabet, { maxLength: 30 }).map((parts) => parts.join(""));
    fc.assert(
      fc.property(expressions, fc.nat(20), (expression, retried) => {
        try {
          const delayMs = compileRetryDelay(expression)(retried);
          expect(delayMs).toBeGreaterThanOrEqual(0);
          expect(delayMs).toBeLessThanOrEqual(86_400_000);
        } catch (error) {
          expect(error).toBeInstanceOf(SyntaxError);
        }
      }),
      { numRuns: 2000 },
    );
  });
});
