/** What the API's description says of problems: which an operation can answer, and how they look. */

import * as z from "zod";
import { PROBLEMS, type ProblemCode } from "../../src/http/problem.js";
import type { RouteDeclaration } from "../../src/http/route.js";
import { jsonSchema } from "./json-schema.js";

/** Codes whose answers name a wait of the moment, except where the delivery must never come again. */
const NAME_A_WAIT: readonly string[] = [
  "job_running",
  "job_locked",
  "publish_failed",
  "job_unknown",
] satisfies ProblemCode[];
const NEVER_AGAIN_STATUS = 489;
/** One code has a second status: for a delivery that came before, of a type that nobody knows. */
const MORE_STATUSES: Partial<Record<ProblemCode, number[]>> = { job_unknown: [NEVER_AGAIN_STATUS] };

const text = { type: "string" };

/** Headers that several answers have. */
export const SHARED_HEADERS = {
  RequestId: { description: "Finds the request in the logs.", required: true, schema: text },
  RetryAfter: { description: "Seconds to wait.", required: true, schema: { type: "integer" } },
  RetryAfterOrNone: { description: "Seconds to wait.", schema: { type: "integer" } },
  Authenticate: { required: true, schema: text },
  NonRetryable: { required: true, schema: { const: "true" } },
};

/** Refers to one of them. */
export function sharedHeader(name: keyof typeof SHARED_HEADERS): { $ref: string } {
  return { $ref: `#/components/headers/${name}` };
}

/** Problems that a declaration implies, besides those that its handler names. */
function impliedProblems(route: RouteDeclaration): ProblemCode[] {
  // Every path refuses query parameters that it does not know.
  const codes: ProblemCode[] = ["internal", "invalid_query"];
  if (route.role !== "none") codes.push("unauthorized", "store_unavailable");
  if (["read", "write", "admin"].includes(route.role)) codes.push("forbidden");
  if (route.role === "signed" || route.role === "cron") codes.push("payload_too_large");
  if (route.params) codes.push("not_found");
  if (route.body) {
    codes.push(
      "malformed_json",
      "payload_too_large",
      "unsupported_media_type",
      "validation_failed",
    );
  }
  if (route.operation) codes.push("idempotency_key_missing", "idempotency_key_invalid");
  return codes;
}

/** Gives one response a status; its description lists the codes that it can carry. */
export function problems(route: RouteDeclaration): Record<string, unknown> {
  const byStatus = new Map<number, ProblemCode[]>();
  for (const code of new Set([...impliedProblems(route), ...(route.problems ?? [])])) {
    for (const status of [PROBLEMS[code].status, ...(MORE_STATUSES[code] ?? [])]) {
      byStatus.set(status, [...(byStatus.get(status) ?? []), code]);
    }
  }
  return Object.fromEntries(
    [...byStatus].map(([status, codes]) => [
      String(status),
      {
        description: codes.map((code) => `\`${code}\`: ${PROBLEMS[code].title}.`).join(" "),
        headers: problemHeaders(status, codes),
        content: {
          "application/problem+json": { schema: { $ref: "#/components/schemas/Problem" } },
        },
      },
    ]),
  );
}

function problemHeaders(status: number, codes: ProblemCode[]): Record<string, unknown> {
  const waits = codes.filter(
    (code) => "retryAfterSeconds" in PROBLEMS[code] || NAME_A_WAIT.includes(code),
  );
  const retryAfter = waits.length < codes.length ? "RetryAfterOrNone" : "RetryAfter";
  const isFinal = status === NEVER_AGAIN_STATUS;
  return {
    "X-Request-Id": sharedHeader("RequestId"),
    ...(waits.length > 0 && !isFinal && { "Retry-After": sharedHeader(retryAfter) }),
    ...(status === PROBLEMS.unauthorized.status && {
      "WWW-Authenticate": sharedHeader("Authenticate"),
    }),
    ...(isFinal && { "Upstash-NonRetryable-Error": sharedHeader("NonRetryable") }),
  };
}

/** Describes every problem document, extension members included. */
export function problemSchema(): unknown {
  return jsonSchema(
    z.object({
      type: z.url().describe("Where this code is described."),
      title: z.string(),
      status: z.int(),
      detail: z.string(),
      code: z.enum(Object.keys(PROBLEMS) as [ProblemCode, ...ProblemCode[]]),
      requestId: z.string(),
      errors: z
        .array(
          z.object({
            pointer: z.string().describe("JSON Pointer as a URI fragment: #/payload/to"),
            detail: z.string(),
          }),
        )
        .optional(),
      activeJobId: z
        .uuid()
        .optional()
        .describe("With dedupe_conflict: the job that holds the dedupe key."),
      ready: z.literal(false).optional().describe("With not_ready, as checks."),
      checks: z.record(z.string(), z.object({ ok: z.boolean(), detail: z.string() })).optional(),
    }),
    "output",
  );
}
