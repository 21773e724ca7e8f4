/** The checks of a request in the contract's order; the first that fails decides the answer. */

import type { Config } from "../config.js";
import type { Role } from "../core/access.js";
import { fingerprint } from "../core/fingerprint.js";
import { safeParse } from "../core/parse.js";
import { type Callers, unauthorized } from "./callers.js";
import { readIdempotencyKey } from "./idempotency-key.js";
import { notFound, Problem } from "./problem.js";
import { checkMediaType, decodeText, parseBody, readBytes } from "./read-body.js";
import type { Exchange, Route } from "./route.js";

/** QStash's own calls: our messages have some 150 bytes. */
const SIGNED_BODY_BYTES_MAX = 16_384;

/**
 * Checks a request against its route and runs the handler.
 *
 * Order: caller (401, 403), size (413), media type (415), query and key (400), JSON (400), schema
 *        (422), path values (404, like an id that does not exist). A signature covers the body, so
 *        there the size comes first.
 */
export async function runRoute(
  route: Route,
  exchange: Exchange,
  pathValues: Record<string, string>,
  callers: Callers,
): Promise<Response> {
  const { request, app } = exchange;
  const actor = isKeyed(route.role) ? await callers.admit(request.headers, route.role) : undefined;
  const bytesMax = bodyBytesMax(route, app.config);
  const bytes = bytesMax > 0 ? await readBytes(request, bytesMax) : new Uint8Array();
  const rawBody = await checkCall(route, exchange, bytes, callers);
  if (route.body && !(route.body.optional && bytes.length === 0)) checkMediaType(request.headers);
  const query = readQuery(route, new URL(request.url).searchParams);
  const idempotencyKey = route.operation ? readIdempotencyKey(request.headers) : undefined;
  const body = route.body && parseBody(bytes, route.body);
  const params = readParams(route, pathValues);
  const idempotency =
    actor && body && route.operation && idempotencyKey !== undefined
      ? {
          // A key's name is its tenant, also where an admin creates jobs.
          tenant: actor.keyName,
          operation: route.operation,
          idempotencyKey,
          requestHash: await fingerprint(route.method, route.path, body.json),
        }
      : undefined;
  return route.handle({
    ...exchange,
    actor,
    idempotency,
    params,
    query,
    body: body?.value,
    rawBody,
  });
}

function isKeyed(role: Route["role"]): role is Role {
  return role === "read" || role === "write" || role === "admin";
}

function bodyBytesMax({ role, body }: Route, config: Config): number {
  if (role === "signed" || role === "cron") return SIGNED_BODY_BYTES_MAX;
  if (!body) return 0;
  return body.limit === "batch" ? config.maxBatchBodyBytes : config.maxBodyBytes;
}

/** Lets in QStash and the cron, before anything touches the store (I8); gives the signed text. */
async function checkCall(
  { role, path }: Route,
  { request, ports }: Exchange,
  bytes: Uint8Array,
  callers: Callers,
): Promise<string | undefined> {
  if (role !== "signed" && role !== "cron") return undefined;
  const rawBody = decodeText(bytes);
  const { headers } = request;
  if (await callers.isSigned({ headers, rawBody, path })) return rawBody;
  if (role === "cron" && (await callers.isCron(headers))) return rawBody;
  ports.log("delivery_rejected", { route: path, reason: "not_verified" });
  throw unauthorized(
    role === "cron"
      ? "Neither QStash's signature nor the cron secret vouches for this call."
      : "QStash's signature is missing or does not fit this body and address.",
  );
}

/** Reads the query; a repeated parameter is a list, which schemas of single values refuse. */
function readQuery(route: Route, given: URLSearchParams): unknown {
  const values = Object.fromEntries(
    [...new Set(given.keys())].map((name) => {
      const all = given.getAll(name);
      return [name, all.length === 1 ? all[0] : all];
    }),
  );
  const names = Object.keys(route.query?.shape ?? {});
  const unknown = Object.keys(values).find((name) => !names.includes(name));
  if (unknown !== undefined) {
    const known = names.length > 0 ? `known: ${names.join(", ")}` : "this path takes none";
    throw new Problem("invalid_query", `Unknown parameter ${JSON.stringify(unknown)}; ${known}.`);
  }
  const parsed = route.query && safeParse(route.query, values);
  if (!parsed || parsed.success) return parsed?.data;
  const [issue] = parsed.error.issues;
  throw new Problem("invalid_query", `${issue?.path.join(".")}: ${issue?.message}`);
}

function readParams(route: Route, pathValues: Record<string, string>): unknown {
  const parsed = route.params && safeParse(route.params, pathValues);
  if (parsed && !parsed.success) throw notFound();
  return parsed?.data;
}
