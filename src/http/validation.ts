/** Refused places of a body: schema issues as JSON Pointers. */

import { pointerToken } from "../core/exact-json.js";
import { ERRORS_MAX, Problem, type ProblemCode, type ProblemPlace } from "./problem.js";

/** An issue of a zod schema or of a job type's own check. */
interface Issue {
  path: readonly PropertyKey[];
  message: string;
  code?: string;
  /** The members that a strict object does not know. */
  keys?: readonly string[];
}

/** Translates the first issues; an unknown member is pointed at itself, not at its object. */
export function placesOf(issues: readonly Issue[]): ProblemPlace[] {
  return issues.slice(0, ERRORS_MAX).flatMap(({ path, message, keys }) =>
    keys
      ? keys.map((key) => ({
          pointer: pointerTo([...path, key]),
          detail: "is not a known member",
        }))
      : [{ pointer: pointerTo(path), detail: message }],
  );
}

/** Makes the answer to issues that the engine found. */
export function refusedBy(
  code: Extract<ProblemCode, "validation_failed" | "unknown_job_type">,
  issues: readonly Issue[],
): Problem {
  const detail =
    code === "unknown_job_type"
      ? "A job's type is not registered in this deployment."
      : "The body holds values that are not accepted.";
  return new Problem(code, detail, { errors: placesOf(issues) });
}

function pointerTo(path: readonly PropertyKey[]): string {
  const tokens = path.map((step) => pointerToken(typeof step === "number" ? step : String(step)));
  return ["#", ...tokens].join("/");
}
