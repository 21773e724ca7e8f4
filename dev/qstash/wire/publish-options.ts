import { ApiError } from "./api-error.js";
import { isHttpUrl } from "./destination.js";
import { parseDurationMs } from "./duration.js";
import { type FlowControlSetting, parseFlowControl } from "./flow-control-header.js";
import { canonicalHeaderName, type HeaderList } from "./headers.js";
import { parseRedaction, type Redaction } from "./redaction.js";
import { compileRetryDelay } from "./retry-delay.js";

/** How one delivery is made and repeated. */
export interface DeliveryOptions {
  readonly method: string;
  /** What the destination gets: Content-Type and the forwarded headers. */
  readonly headers: HeaderList;
  readonly maxRetries: number;
  readonly retryDelayExpression?: string;
  readonly timeoutMs?: number;
}

/** A callback is a message of its own, to this URL. */
export interface CallbackOptions extends DeliveryOptions {
  readonly url: string;
}

/** Everything the `Upstash-*` headers of a publish say. */
export interface PublishOptions extends DeliveryOptions {
  readonly delayMs: number;
  /** Absolute due time in epoch milliseconds; wins over `delayMs`. */
  readonly notBeforeAt?: number;
  readonly deduplicationId?: string;
  readonly contentBasedDeduplication: boolean;
  readonly callback?: CallbackOptions;
  readonly failureCallback?: CallbackOptions;
  readonly labels: readonly string[];
  readonly flowControl?: FlowControlSetting;
  readonly redaction: Redaction;
}

const methods = ["GET", "POST", "PUT", "PATCH", "DELETE"];

/** Connection-level headers: forwarding them would break the delivery itself. */
const neverForwarded = new Set([
  "connection",
  "content-length",
  "expect",
  "host",
  "keep-alive",
  "proxy-connection",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
]);

/** Reads a publish request's headers; throws an ApiError (400) that names the faulty one. */
export function parsePublishOptions(headers: Headers): PublishOptions {
  const delivery = parseDelivery(headers, "upstash-", { maxRetries: 3 });
  const deduplicationId = headers.get("upstash-deduplication-id") || undefined;
  if (deduplicationId?.includes(":")) {
    throw new ApiError(400, "DeduplicationId cannot contain ':'");
  }
  const notBefore = headers.get("upstash-not-before");
  return {
    ...delivery,
    headers: deliveredHeaders(headers),
    delayMs: durationHeader(headers, "upstash-delay") ?? 0,
    notBeforeAt: notBefore ? wholeNumber(notBefore, "Upstash-Not-Before") * 1000 : undefined,
    deduplicationId,
    contentBasedDeduplication: headers.get("upstash-content-based-deduplication") === "true",
    callback: parseCallback(headers, "upstash-callback", delivery),
    failureCallback: parseCallback(headers, "upstash-failure-callback", delivery),
    labels: commaList(headers.get("upstash-label")),
    flowControl: parseFlowControl(headers),
    redaction: parseRedaction(headers.get("upstash-redact-fields")),
  };
}

/** Says whether a header carries QStash configuration and is not meant for the destination. */
export function isConfigHeader(name: string): boolean {
  return name.toLowerCase().startsWith("upstash-");
}

function parseDelivery(
  headers: Headers,
  prefix: string,
  defaults: { maxRetries: number },
): Omit<DeliveryOptions, "headers"> {
  const method = (headers.get(`${prefix}method`) || "POST").toUpperCase();
  if (!methods.includes(method)) throw new ApiError(400, `invalid method: ${method}`);
  const retries = headers.get(`${prefix}retries`);
  const retryDelayExpression = headers.get(`${prefix}retry-delay`) || undefined;
  if (retryDelayExpression) checkRetryDelay(retryDelayExpression);
  return {
    method,
    maxRetries: retries
      ? wholeNumber(retries, canonicalHeaderName(`${prefix}retries`))
      : defaults.maxRetries,
    retryDelayExpression,
    timeoutMs: durationHeader(headers, `${prefix}timeout`),
  };
}

function parseCallback(
  headers: Headers,
  name: "upstash-callback" | "upstash-failure-callback",
  source: { maxRetries: number },
): CallbackOptions | undefined {
  const url = headers.get(name);
  if (!url) return undefined;
  if (!isHttpUrl(url)) {
    throw new ApiError(
      400,
      `invalid ${name}: endpoint has invalid scheme, add http:// or https://`,
    );
  }
  if (headers.has(`${name}-delay`)) throw new ApiError(400, "callbacks cannot be delayed");
  return {
    url,
    ...parseDelivery(headers, `${name}-`, source),
    headers: [
      ["Content-Type", "application/json"],
      ...prefixedHeaders(headers, `${name}-forward-`),
    ],
  };
}

function deliveredHeaders(headers: Headers): HeaderList {
  const contentType = headers.get("content-type");
  const delivered = new Map<string, string>();
  if (contentType) delivered.set("Content-Type", contentType);
  if (headers.get("upstash-header-forward") === "true") {
    for (const [name, value] of headers) {
      if (!isConfigHeader(name) && name !== "authorization" && !neverForwarded.has(name)) {
        delivered.set(canonicalHeaderName(name), value);
      }
    }
  }
  for (const [name, value] of prefixedHeaders(headers, "upstash-forward-")) {
    delivered.set(name, value);
  }
  return [...delivered];
}

function prefixedHeaders(headers: Headers, prefix: string): HeaderList {
  return [...headers]
    .filter(([name]) => name.startsWith(prefix) && name.length > prefix.length)
    .map(([name, value]) => [name.slice(prefix.length), value] as const)
    .filter(([name]) => !neverForwarded.has(name))
    .map(([name, value]) => [canonicalHeaderName(name), value] as const);
}

function durationHeader(headers: Headers, name: string): number | undefined {
  const text = headers.get(name);
  if (!text) return undefined;
  const durationMs = parseDurationMs(text);
  if (durationMs === undefined) {
    throw new ApiError(400, `invalid ${canonicalHeaderName(name)}: ${text}`);
  }
  return durationMs;
}

function wholeNumber(text: string, name: string): number {
  if (!/^\d{1,15}$/.test(text)) throw new ApiError(400, `invalid ${name}: ${text}`);
  return Number(text);
}

function checkRetryDelay(expression: string): void {
  try {
    compileRetryDelay(expression);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new ApiError(400, `invalid Upstash-Retry-Delay: ${reason}`);
  }
}

function commaList(text: string | null): string[] {
  return (text ?? "")
    .split(",")
    .map((item) => item.trim())
    .filter((item) => item !== "");
}
