/** Answers to create requests: stored bytes, sent as they are. */

import type { SubmitOutcome } from "../engine/submit.js";
import { Problem, type ProblemCode } from "./problem.js";
import { refusedBy } from "./validation.js";

export const CREATE_PROBLEMS = [
  "idempotency_key_reused",
  "dedupe_job_cancelling",
  "unknown_job_type",
] as const satisfies ProblemCode[];

/**
 * Writes the outcome of a create as its response; replays are the stored bytes (I6).
 *
 * @param locate gives the Location of an accepted body
 */
export function acceptedResponse(
  outcome: SubmitOutcome,
  locate: (body: string) => string | undefined = () => undefined,
): Response {
  switch (outcome.kind) {
    case "created":
    case "replayed": {
      const headers = new Headers({ "Content-Type": "application/json" });
      const location = locate(outcome.body);
      if (location !== undefined) headers.set("Location", location);
      if (outcome.kind === "replayed") headers.set("Idempotent-Replayed", "true");
      return new Response(outcome.body, { status: outcome.status, headers });
    }
    case "refused":
      throw refusedBy(outcome.code, outcome.issues);
    case "key_reused":
      throw new Problem(
        "idempotency_key_reused",
        "Another request was accepted under this key. Use a new key, or send the same request.",
      );
    case "dedupe_job_cancelling":
      throw new Problem(
        "dedupe_job_cancelling",
        "Nothing was created. Try again once the job that holds the dedupe key has ended.",
      );
  }
}
