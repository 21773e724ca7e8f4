/** Reads `Retry-After` in each form that RFC 9110 allows. */

const MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
const TIME = "(?<hour>[01]\\d|2[0-3]):(?<minute>[0-5]\\d):(?<second>[0-5]\\d|60)";
const DATE_PATTERNS = [
  // Sun, 06 Nov 1994 08:49:37 GMT
  `^[A-Z][a-z]{2}, (?<day>\\d\\d) (?<month>[A-Z][a-z]{2}) (?<year>\\d{4}) ${TIME} GMT$`,
  // Sunday, 06-Nov-94 08:49:37 GMT
  `^[A-Z][a-z]{5,8}, (?<day>\\d\\d)-(?<month>[A-Z][a-z]{2})-(?<year>\\d\\d) ${TIME} GMT$`,
  // Sun Nov  6 08:49:37 1994
  `^[A-Z][a-z]{2} (?<month>[A-Z][a-z]{2}) (?<day>[ \\d]\\d) ${TIME} (?<year>\\d{4})$`,
].map((pattern) => new RegExp(pattern));

/**
 * Gives how many seconds an answer asks to wait.
 *
 * A date is measured from the answer's own `Date`, so that neither clock has to be right.
 * No wish, an unreadable one, zero and the past give undefined: the job's own backoff is better.
 */
export function readRetryAfterSeconds(headers: Headers): number | undefined {
  const text = headers.get("retry-after")?.trim() ?? "";
  if (/^\d+$/.test(text)) return positive(Number(text));
  const untilMs = parseHttpDate(text);
  if (untilMs === undefined) return undefined;
  const sentMs = parseHttpDate(headers.get("date")?.trim() ?? "") ?? Date.now();
  return positive((untilMs - sentMs) / 1000);
}

/**
 * Reads an HTTP date as milliseconds since 1970; `Date.parse` would take "3.5" for a date, and the
 * form without a zone as local time.
 */
function parseHttpDate(text: string): number | undefined {
  const fields = DATE_PATTERNS.map((pattern) => pattern.exec(text)?.groups).find(Boolean);
  const month = MONTHS.indexOf(fields?.month ?? "");
  if (fields === undefined || month === -1) return undefined;
  const { year = "", day, hour, minute, second } = fields;
  // RFC 9110: a two-digit year is the one that is not more than 50 years ahead. A wish to wait since
  // the last century cannot be meant at all, so it need not be told apart.
  const fullYear = Number(year) + (year.length === 2 ? 2000 : 0);
  const at = new Date(Date.UTC(fullYear, month, Number(day)));
  if (at.getUTCDate() !== Number(day)) return undefined;
  return at.setUTCHours(Number(hour), Number(minute), Number(second));
}

function positive(seconds: number): number | undefined {
  return seconds > 0 ? seconds : undefined;
}
