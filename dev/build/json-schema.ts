/** JSON Schemas as the API's description has them. */

import * as z from "zod";

/** Describes what a schema takes (`input`) or gives (`output`). */
export function jsonSchema(
  schema: z.core.$ZodType,
  io: "input" | "output",
): Record<string, unknown> {
  const { $schema: _, ...rest } = z.toJSONSchema(schema, {
    io,
    unrepresentable: "any",
    // A format says it better than its pattern, and every integer here is a safe one.
    override: ({ jsonSchema: made }) => {
      if (made.format !== undefined) delete made.pattern;
      if (made.minimum === Number.MIN_SAFE_INTEGER) delete made.minimum;
      if (made.maximum === Number.MAX_SAFE_INTEGER) delete made.maximum;
    },
  });
  return rest;
}
