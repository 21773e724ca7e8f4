/** Requests to every operation of the API, valid and hostile in every mixture. */

import fc from "fast-check";
import { signDelivery } from "../../dev/qstash/wire/signature.js";
import { DOCUMENT, type Operation } from "./documented.js";
import {
  bodyOf,
  INSTANTS,
  JOB_PLACEHOLDER,
  messageArb,
  type Schema,
  TYPES,
  valueFor,
} from "./fuzz-values.js";
import { CRON_SECRET, KEYS, PUBLIC_URL } from "./world.js";

/** A request as it was drawn, which a failure prints. */
export interface Draft {
  method: string;
  /** With `$job:<n>` and `$cursor:<n>` for what is known when it is sent. */
  path: string;
  headers: Record<string, string>;
  /** Undefined for none. */
  body: string | Uint8Array | undefined;
  signed: boolean;
}

/** What earlier answers gave. */
export interface Known {
  jobIds: string[];
  cursors: string[];
  signingKey: string;
}

const METHODS = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "PROPFIND", "post"];

const OPERATIONS = Object.entries(DOCUMENT.paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, operation]) => ({
    path,
    method: method.toUpperCase(),
    operation,
  })),
);

const mostly = <Value>(usual: fc.Arbitrary<Value>, weight: number, ...others: Value[]) =>
  fc.oneof({ arbitrary: usual, weight }, { arbitrary: fc.constantFrom(...others), weight: 1 });

/** Segments of a path that are no id, no name and no type. */
const SEGMENTS = [
  ...["abc", "1", "00000000-0000-0000-0000-000000000000", "%00", "a%00b", "%ff", "%E0%A4%A", "%"],
  ...["..%2f..%2fjobs", "%2e%2e", "x".repeat(10_000), "💥", ":id", "*", "a b", "'--", "a;b=c", "_"],
  ...["{id}", "%25", "%2F", "FFFFFFFF-FFFF-7FFF-8FFF-FFFFFFFFFFFF", "undefined", "__proto__"],
];
const SUFFIXES = ["/", "//", "/x", ";x", "%20", "%00", "/..;/", "\\", ".json", "/%2e"];

function pathFor(template: string): fc.Arbitrary<string> {
  const parts = template.split("/").map((part) => {
    if (!part.startsWith("{")) return fc.constant(part);
    const usual = {
      "{id}": fc.nat(999).map((at) => `$job:${at}`),
      "{type}": fc.constantFrom(...TYPES),
      "{name}": fc.constantFrom("s1", "s2", "s3", "charge"),
    }[part];
    return mostly(usual ?? fc.constant(part), 6, ...SEGMENTS);
  });
  const path = fc.tuple(...parts).map((all) => all.join("/"));
  return fc
    .tuple(path, mostly(fc.constant(""), 25, ...SUFFIXES))
    .map(([whole, suffix]) => whole + suffix);
}

const ODD_VALUES = [
  "",
  " ",
  "\0",
  "x'; select 1 --",
  "-1",
  "1e3",
  "9".repeat(400),
  "é",
  "a,b",
  "%",
];
const QUERY_WORDS: Record<string, string[]> = {
  status: ["queued", "completed", "dead_letter", "failed"],
  type: TYPES,
  dedupeKey: ["k1", "k2"],
  createdAfter: INSTANTS,
  createdBefore: INSTANTS,
  limit: ["1", "2", "50", "200", "201", "0"],
  wait: ["0", "1", "26"],
  cursor: Array.from({ length: 8 }, (_, at) => `$cursor:${at}`),
  tenant: ["acme", "globex", "nobody"],
};

function queryFor({ parameters = [] }: Operation): fc.Arbitrary<string> {
  const pairs = parameters
    .filter(({ in: place }) => place === "query")
    .map(({ name }) =>
      fc.option(
        mostly(fc.constantFrom(...(QUERY_WORDS[name] ?? ["a"])), 6, ...ODD_VALUES).map(
          (value) => `${name}=${value.startsWith("$") ? value : encodeURIComponent(value)}`,
        ),
        { nil: "" },
      ),
    );
  const unknown = mostly(fc.constant(""), 25, "sort=created_at", "x", "%00=%ff", "limit=1", "&&");
  return fc
    .tuple(unknown, ...pairs)
    .map((all) => all.filter(Boolean).join("&"))
    .map((query) => query && `?${query}`);
}

/** The reader's is refused wherever something is done. */
const SECRETS = [KEYS.admin, KEYS.admin, KEYS.acme, KEYS.acme, KEYS.globex, KEYS.acmeReader];
const authorizationFor = (path: string) =>
  mostly(
    fc
      .constantFrom(...(path === "/api/sweep" ? [CRON_SECRET] : SECRETS))
      .map((secret) => `Bearer ${secret}`),
    12,
    ...["", "Bearer", "Bearer undefined", "Bearer null", "Basic YTpi", "Bearer a b"],
    `Bearer ${KEYS.acme}0`,
  );
const idempotencyKeyArb = fc.oneof(
  { arbitrary: fc.uuid(), weight: 8 },
  { arbitrary: fc.constantFrom("k1", '"k1"', "k2"), weight: 3 },
  {
    arbitrary: fc.constantFrom("", " ", '"a', '"a\\b"', "é", "a, b", "x".repeat(256)),
    weight: 1,
  },
);
const contentTypeArb = mostly(
  fc.constant("application/json"),
  20,
  ...["text/plain", "application/json; charset=utf-16", "multipart/form-data", "json", ""],
  ...["application/vnd.x+json", "application/json; charset=utf-8; charset=latin1"],
);
/** Headers that anybody may add. */
const MORE_HEADERS: [string, string][] = [
  ["X-Request-Id", "mine-1"],
  ["X-Request-Id", "a b\tc"],
  ["X-Request-Id", "x".repeat(5000)],
  ["traceparent", "00-00000000000000000000000000000000-0000000000000000-00"],
  ["traceparent", `00-${"ab".repeat(16)}-${"cd".repeat(8)}-01`],
  ["Content-Length", "99999999999"],
  ["Content-Length", "-1"],
  ["Content-Encoding", "gzip"],
  ["Origin", "null"],
  ["X-HTTP-Method-Override", "DELETE"],
  ["X-Forwarded-Host", "evil.example"],
  ["Upstash-Signature", "x.y.z"],
  ["Upstash-Retried", "NaN"],
  ["Upstash-Retried", "1"],
  ["Upstash-Message-Id", "msg_\u00ff"],
  ["Upstash-Message-Id", "m".repeat(4000)],
  ["Upstash-Message-Id", "msg_1"],
];
const moreHeadersArb = fc.oneof(
  { arbitrary: fc.constant<[string, string][]>([]), weight: 3 },
  { arbitrary: fc.subarray(MORE_HEADERS, { maxLength: 3 }), weight: 1 },
);

/** The doors that everybody uses, and sweeps, each of which asks the database a dozen things. */
const WEIGHTS: Record<string, number> = {
  ...{ "/api/jobs": 8, "/api/jobs/batch": 8, "/api/process": 12 },
  "/api/sweep": 1,
};

/** Draws requests to any operation. */
export const draftArb: fc.Arbitrary<Draft> = fc.oneof(
  ...OPERATIONS.map((operation) => ({
    arbitrary: draftFor(operation),
    weight: WEIGHTS[operation.path] ?? 4,
  })),
);

function draftFor({ path, method, operation }: (typeof OPERATIONS)[number]): fc.Arbitrary<Draft> {
  const content = operation.requestBody?.content["application/json"];
  const bodyArb = bodyOf(content ? valueFor((content as { schema: Schema }).schema) : messageArb);
  const usualHeaders = fc.record({
    authorization: authorizationFor(path),
    "idempotency-key": idempotencyKeyArb,
    "content-type": contentTypeArb,
  });
  return fc.record({
    method: mostly(fc.constant(method), 25, ...METHODS),
    path: fc.tuple(pathFor(path), queryFor(operation)).map((both) => both.join("")),
    headers: fc
      .tuple(usualHeaders, moreHeadersArb)
      .map(([headers, more]) => ({ ...headers, ...Object.fromEntries(more) })),
    body: fc.option(bodyArb, { nil: undefined, freq: 12 }),
    signed: path === "/api/process" ? fc.constantFrom(true, true, true, false) : fc.boolean(),
  });
}

/** Makes the request of a draft; undefined where no client can send it. */
export function requestOf(draft: Draft, known: Known): Request | undefined {
  const place = (text: string): string =>
    text
      .replace(JOB_PLACEHOLDER, (_, at) => pick(known.jobIds, Number(at)))
      .replace(/\$cursor:(\d+)/g, (_, at) => encodeURIComponent(pick(known.cursors, Number(at))));
  const method = draft.method;
  const body =
    draft.body === undefined || method === "GET" || method === "HEAD"
      ? undefined
      : typeof draft.body === "string"
        ? new TextEncoder().encode(place(draft.body))
        : draft.body;
  try {
    const request = new Request(`${PUBLIC_URL}${place(draft.path)}`, {
      method,
      headers: draft.headers,
      body: body as BodyInit | undefined,
    });
    if (draft.signed) {
      const url = `${PUBLIC_URL}${new URL(request.url).pathname}`;
      const claims = { url, body: body ?? new Uint8Array(), nbf: "zero" as const };
      const issuedAtSeconds = Math.floor(Date.now() / 1000);
      const signature = signDelivery({ ...claims, issuedAtSeconds }, known.signingKey);
      request.headers.set("Upstash-Signature", signature);
    }
    return request;
  } catch {
    // Header values, methods and addresses that the platform itself refuses.
    return undefined;
  }
}

function pick(values: string[], at: number): string {
  return values[at % Math.max(1, values.length)] ?? "none";
}
