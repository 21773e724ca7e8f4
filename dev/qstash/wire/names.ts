import { ApiError } from "./api-error.js";

/** Refuses a name that is not made of letters, digits, dots, hyphens and underscores. */
export function assertName(name: string, what: string): void {
  if (!/^[A-Za-z0-9._-]+$/.test(name)) throw new ApiError(400, `invalid ${what}: ${name}`);
}
