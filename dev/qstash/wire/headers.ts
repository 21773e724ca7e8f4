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
