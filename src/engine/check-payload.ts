/** Checks a payload against its type: by the schema, and by what depends on the environment. */

import type { JobDefinition, PayloadIssue } from "../core/define-job.js";
import type { Json } from "../core/job.js";
import { safeParseAsync } from "../core/parse.js";
import type { Ports } from "../core/ports.js";

/**
 * Gives the payload as the handler will see it, or every refused place.
 *
 * Shape: paths lead from the request's root, so they begin with `payload`.
 */
export async function checkPayload(
  ports: Pick<Ports, "env">,
  definition: JobDefinition,
  payload: Json,
): Promise<{ data: unknown } | { refused: PayloadIssue[] }> {
  const parsed = await safeParseAsync(definition.payload, payload);
  const issues: PayloadIssue[] = parsed.success
    ? definition.refuse(parsed.data, ports.env)
    : parsed.error.issues.map(({ path, message }) => ({
        path: path.map((step) => (typeof step === "number" ? step : String(step))),
        message,
      }));
  if (issues.length === 0) return { data: parsed.data };
  return { refused: issues.map((issue) => ({ ...issue, path: ["payload", ...issue.path] })) };
}
