import { afterAll, beforeEach, expect, expectTypeOf, test, vi } from "vitest";
import * as z from "zod/mini";
import { defineJob } from "../../src/core/define-job.js";

const settings = z.config();
const { localeError } = settings;

beforeEach(() => {
  // As in a bundle without zod itself, which sets a language for everybody.
  delete settings.localeError;
  vi.resetModules();
});
afterAll(() => {
  settings.localeError = localeError;
});

const messageOf = ({ error }: z.core.util.SafeParseResult<unknown>) => error?.issues[0]?.message;

test("schemas of zod/mini refuse in English, also where zod itself is not there", async () => {
  const control = messageOf(z.safeParse(z.string(), 1));
  const { safeParse, safeParseAsync } = await import("../../src/core/parse.js");
  const english = "Invalid input: expected string, received number";
  expect(messageOf(safeParse(z.string(), 1))).toBe(english);
  expect(messageOf(await safeParseAsync(z.string(), 1))).toBe(english);
  expect(control).toBe("Invalid input");
});

test("a language that a job file has set stays", async () => {
  z.config({ localeError: () => "nicht so" });
  const { safeParse } = await import("../../src/core/parse.js");
  expect(messageOf(safeParse(z.string(), 1))).toBe("nicht so");
});

test("a job type may have a payload of zod/mini, which types its handler", async () => {
  const definition = defineJob({
    type: "t",
    payload: z.strictObject({ count: z._default(z.int().check(z.minimum(1)), 1) }),
    dedupe: { key: ({ count }) => String(count) },
    run({ payload }) {
      expectTypeOf(payload).toEqualTypeOf<{ count: number }>();
    },
  });
  const { safeParseAsync } = await import("../../src/core/parse.js");
  expect(await safeParseAsync(definition.payload, {})).toMatchObject({ data: { count: 1 } });
  expect(messageOf(await safeParseAsync(definition.payload, { count: 0 }))).toBe(
    "Too small: expected number to be >=1",
  );
});
