import { ApiError } from "./api-error.js";

/** Header name and value pairs, names in Go's canonical casing, as the API shows them. */
export type HeaderList = readonly (readonly [name: string, value: string])[];

/** Writes a header name as Go does: every part between hyphens starts with a capital. */
export function canonicalHeaderName(name: string): string {
  return name
    .toLowerCase()
    .split("-")
    .map((part) => part.charAt(0).toUpperCase() + part.slice(1))
    .join("-");
}

/** Collects headers into the API's `{Name: [value]}` shape. */
export function headerRecord(headers: HeaderList | Headers): Record<string, string[]> {
  const record: Record<string, string[]> = {};
  for (const [name, value] of headers) {
    const canonical = canonicalHeaderName(name);
    const values = record[canonical];
    if (values) values.push(value);
    else record[canonical] = [value];
  }
  return record;
}

/** Makes headers of names and values; throws an ApiError (400) for one that can be no header. */
export function toHeaders(
  entries: Iterable<readonly [string, string | readonly string[]]>,
): Headers {
  const headers = new Headers();
  for (const [name, values] of entries) {
    try {
      for (const value of [values].flat()) headers.append(name, value);
    } catch {
      throw new ApiError(400, `invalid header: ${name}`);
    }
  }
  return headers;
}
