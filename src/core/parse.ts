/** Parses values by schemas, whether zod or zod/mini made them. */

import * as locales from "zod/locales";
import * as z from "zod/mini";

// zod/mini brings no messages. Not `z.locales`: through that name every language is bundled. What a
// job file has set stays: it may want another language.
z.config({ ...locales.en(), ...z.config() });

/** Gives a value as the schema makes it, or every place that does not fit. */
export function safeParse<Schema extends z.core.$ZodType>(schema: Schema, value: unknown) {
  return z.safeParse(schema, value);
}

/** Does the same for schemas that may ask something first. */
export function safeParseAsync<Schema extends z.core.$ZodType>(schema: Schema, value: unknown) {
  return z.safeParseAsync(schema, value);
}
