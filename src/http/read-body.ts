/** Bodies: bytes counted as they are read, their media type, and JSON that fits its schema. */

import { JSON_DEPTH_MAX, parseExactJson } from "../core/exact-json.js";
import type { Json } from "../core/job.js";
import { safeParse } from "../core/parse.js";
import { Problem } from "./problem.js";
import type { BodyRule } from "./route.js";
import { placesOf } from "./validation.js";

/**
 * Reads a body and stops as soon as it is longer than allowed, whatever its Content-Length says.
 *
 * Errors: `payload_too_large`; `malformed_json` when the client breaks off.
 */
export async function readBytes(request: Request, bytesMax: number): Promise<Uint8Array> {
  const tooLarge = new Problem("payload_too_large", `At most ${bytesMax} bytes are accepted.`);
  if (Number(request.headers.get("Content-Length")) > bytesMax) throw tooLarge;
  const reader = request.body?.getReader();
  const chunks: Uint8Array[] = [];
  let length = 0;
  for (;;) {
    const chunk = await reader?.read().catch(() => {
      throw new Problem("malformed_json", "The body ended before it was complete.");
    });
    if (!chunk?.value) break;
    length += chunk.value.length;
    if (length > bytesMax) {
      // Not awaited: a client that never ends its body must not hold up the answer.
      reader?.cancel().catch(() => {});
      throw tooLarge;
    }
    chunks.push(chunk.value);
  }
  const bytes = new Uint8Array(length);
  let at = 0;
  for (const chunk of chunks) {
    bytes.set(chunk, at);
    at += chunk.length;
  }
  return bytes;
}

const JSON_MEDIA_TYPE = /^application\/(?:[\w!#$&^.+-]+\+)?json$/i;

/** Refuses bodies that do not say they are JSON in UTF-8, or are compressed. */
export function checkMediaType(headers: Headers): void {
  const [mediaType = "", ...parameters] = (headers.get("Content-Type") ?? "").split(";");
  const charsets = parameters.filter((parameter) => /^\s*charset\s*=/i.test(parameter));
  const accepted =
    JSON_MEDIA_TYPE.test(mediaType.trim()) &&
    charsets.every((charset) => /=\s*"?utf-?8"?\s*$/i.test(charset)) &&
    /^identity$/i.test(headers.get("Content-Encoding") ?? "identity");
  if (accepted) return;
  const detail = "Send Content-Type: application/json, in UTF-8 and without Content-Encoding.";
  throw new Problem("unsupported_media_type", detail);
}

/** Decodes bytes as they were sent, byte order mark included; undefined when they are not UTF-8. */
export function decodeText(bytes: Uint8Array): string | undefined {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return undefined;
  }
}

/**
 * Parses a body and checks it against its rule.
 *
 * Shape:  `json` is the value as it was sent, for the fingerprint; `value` is what the schema made.
 * Errors: `malformed_json` for what is not JSON, `validation_failed` for everything else.
 */
export function parseBody(bytes: Uint8Array, rule: BodyRule): { json: Json; value: unknown } {
  const text = decodeText(bytes);
  if (text === undefined) throw new Problem("malformed_json", "The body is not UTF-8.");
  const json = text.trim() === "" && rule.optional ? {} : parseJson(text, rule.levelsAround);
  const parsed = safeParse(rule.schema, json);
  if (!parsed.success) {
    const detail = "The body does not fit its schema.";
    throw new Problem("validation_failed", detail, { errors: placesOf(parsed.error.issues) });
  }
  return { json, value: parsed.data };
}

function parseJson(text: string, levelsAround: number): Json {
  if (text.trim() === "") throw new Problem("malformed_json", "The body is empty.");
  const parsed = parseExactJson(text, JSON_DEPTH_MAX + levelsAround);
  if (!parsed.ok) throw new Problem("malformed_json", parsed.detail);
  if (parsed.faults.length > 0) {
    const detail = "The body holds values that could not be kept as they are.";
    throw new Problem("validation_failed", detail, { errors: parsed.faults });
  }
  return parsed.value;
}
