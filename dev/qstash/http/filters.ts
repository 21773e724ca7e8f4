import type { Message } from "../state/message.js";
import { ApiError } from "../wire/api-error.js";

/** Something that a listing shows and a filter decides about. */
export interface Listed {
  readonly message: Message;
  readonly at: number;
  readonly state?: string;
  readonly dlqId?: string;
  readonly responseStatus?: number;
}

type Values = readonly string[];

/** A set of filters: an item must satisfy every key. */
export type Filter = (item: Listed) => boolean;

/** What each filter key compares with; several values of one key mean "any of them". */
const filters: Readonly<Record<string, (values: Values) => Filter>> = {
  callerIp: anyOf(({ message }) => message.callerIp),
  dlqIds: anyOf(({ dlqId }) => dlqId),
  flowControlKey: anyOf(({ message }) => message.options.flowControl?.key),
  fromDate: ([text = ""]) => {
    const from = wholeNumber(text, "fromDate");
    return ({ at }) => at >= from;
  },
  host: anyOf(({ message }) => new URL(message.route.url).host),
  label: (values) => (item) => item.message.options.labels.some((each) => values.includes(each)),
  messageId: anyOf(({ message }) => message.messageId),
  messageIds: anyOf(({ message }) => message.messageId),
  path: anyOf(({ message }) => new URL(message.route.url).pathname),
  queueName: anyOf(({ message }) => message.route.queueName),
  responseStatus: anyOf(({ responseStatus }) => responseStatus?.toString()),
  scheduleId: anyOf(({ message }) => message.route.scheduleId),
  state: (values) => anyOf(({ state }) => state)(values.flatMap(expandState)),
  toDate: ([text = ""]) => {
    const to = wholeNumber(text, "toDate");
    return ({ at }) => at <= to;
  },
  topicName: anyOf(({ message }) => message.route.topicName),
  url: anyOf(({ message }) => message.route.url),
};

const pagingKeys = ["count", "cursor", "qstash_token"];

/**
 * Reads the filters of a query. A key that is not among `keys` is refused: a misspelt filter that was
 * ignored would make a bulk action hit everything.
 */
export function readFilter(query: URLSearchParams, keys: readonly string[]): Filter {
  const wanted: Filter[] = [];
  for (const key of new Set(query.keys())) {
    if (pagingKeys.includes(key)) continue;
    const filter = keys.includes(key) ? filters[key] : undefined;
    if (!filter) throw new ApiError(400, `unknown filter: ${key}`);
    wanted.push(filter(valuesOf(query, key)));
  }
  return (item) => wanted.every((filter) => filter(item));
}

/** All values of a key, given repeatedly or as a comma list. */
export function valuesOf(query: URLSearchParams, key: string): string[] {
  const given = query.getAll(key);
  // URLs and paths may hold commas of their own.
  return key === "url" || key === "path" ? given : given.flatMap((value) => value.split(","));
}

/** Cuts one page out of a listing, newest first; the cursor is absent on the last page. */
export function readPage<T extends { readonly number: number }>(
  items: readonly T[],
  query: URLSearchParams,
  limits: { readonly defaultCount: number; readonly maxCount: number },
): { page: T[]; cursor: string | undefined } {
  const cursor = query.get("cursor");
  const before = cursor ? wholeNumber(cursor, "cursor") : Number.POSITIVE_INFINITY;
  const asked = query.get("count");
  const count = asked ? wholeNumber(asked, "count") : limits.defaultCount;
  if (count < 1) throw new ApiError(400, `invalid count: ${asked}`);
  const rest = items.filter(({ number }) => number < before);
  const page = rest.slice(0, Math.min(count, limits.maxCount));
  const last = page.at(-1);
  return { page, cursor: last && rest.length > page.length ? String(last.number) : undefined };
}

function anyOf(read: (item: Listed) => string | undefined): (values: Values) => Filter {
  return (values) => (item) => {
    const value = read(item);
    return value !== undefined && values.includes(value);
  };
}

function expandState(wanted: string): Values {
  if (wanted === "IN_PROGRESS") return ["ACTIVE", "RETRY", "ERROR"];
  return [wanted === "CANCELLED" ? "CANCELED" : wanted];
}

function wholeNumber(text: string, name: string): number {
  if (!/^\d{1,16}$/.test(text)) throw new ApiError(400, `invalid ${name}: ${text}`);
  return Number(text);
}
