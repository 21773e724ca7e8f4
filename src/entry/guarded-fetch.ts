/**
 * `fetch` for Node that judges the address a name resolves to, and connects to that very address.
 *
 * A check of the name before the call would be worth nothing: the name can resolve differently the
 * next moment. So the check sits in the connection's own lookup. Built on node:http because Node's
 * global fetch has no place for a lookup without a package of its own.
 */

import { lookup as resolveName } from "node:dns/promises";
import { request as httpRequest, type IncomingMessage } from "node:http";
import { request as httpsRequest } from "node:https";
import type { LookupFunction } from "node:net";
import { type Duplex, pipeline, Readable } from "node:stream";
import { constants, createBrotliDecompress, createGunzip, createInflate } from "node:zlib";
import { FatalError } from "../core/define-job.js";
import { urlRefusal } from "../jobs/outbound/address-policy.js";
import { isAllowedPlace } from "../jobs/outbound/allow-list.js";
import { addressRefusal } from "../jobs/outbound/ip-address.js";

export interface ResolvedAddress {
  address: string;
  family: number;
}

export interface GuardOptions {
  /** OUTBOUND_ALLOW: places that may be called wherever their names lead. */
  allow: string | undefined;
  /** Gives every address of a name; the system's resolver when left out. */
  resolve?: (hostName: string) => Promise<ResolvedAddress[]>;
}

/**
 * Makes a `fetch` that refuses URLs and addresses which the outbound policy refuses.
 *
 * It never follows redirects, keeps no connection for a later call, sends request bodies whole and
 * streams answers, decoded as they are read.
 * Errors: rejects with `FatalError` for what the policy refuses, with the signal's reason on abort.
 */
export function createGuardedFetch({ allow, resolve = resolveAll }: GuardOptions): typeof fetch {
  return async (input, init) => {
    // Before Request sees it: that would quote a URL with credentials in its error.
    const target = input instanceof Request ? input.url : String(input);
    const refusal = urlRefusal(target, allow);
    if (refusal !== null) throw new FatalError(refusal);
    const request = new Request(input, init);
    const url = new URL(request.url);
    const signal = init?.signal ?? (input instanceof Request ? input.signal : undefined);
    const body = request.body === null ? undefined : Buffer.from(await request.arrayBuffer());
    const refuse = isAllowedPlace(url, allow) ? () => null : addressRefusal;
    const lookup = pinned(resolve, refuse);
    return send({ url, request, body, lookup, signal: signal ?? undefined });
  };
}

interface Call {
  url: URL;
  request: Request;
  body: Buffer | undefined;
  lookup: LookupFunction;
  signal: AbortSignal | undefined;
}

function send({ url, request, body, lookup, signal }: Call): Promise<Response> {
  const headers = Object.fromEntries(request.headers);
  // Not deflate, which servers send in two forms.
  headers["accept-encoding"] ??= "gzip, br";
  const start = url.protocol === "https:" ? httpsRequest : httpRequest;
  return new Promise((settle, reject) => {
    const fail = (error: unknown) => reject(signal?.aborted ? signal.reason : error);
    // No shared agent: a connection that somebody else opened was not judged.
    const options = { method: request.method, headers, lookup, signal, agent: false };
    const call = start(url, options, (message) => {
      try {
        settle(toResponse(message, request.method));
      } catch (error) {
        message.destroy();
        fail(error);
      }
    });
    call.on("error", fail);
    // An answer that switches protocols ends the connection without an error.
    call.on("close", () => fail(new Error("the connection ended without an answer")));
    call.end(body);
  });
}

type Resolve = NonNullable<GuardOptions["resolve"]>;
type Refuse = (address: string) => string | null;

/** A lookup whose addresses were judged: the connection goes to one of them and nowhere else. */
function pinned(resolve: Resolve, refuse: Refuse): LookupFunction {
  return (hostName, options, done) => {
    judgedAddresses(hostName, resolve, refuse).then(
      ([first, ...others]) => {
        if (options.all) done(null, [first, ...others]);
        else done(null, first.address, first.family);
      },
      (error) => done(error, ""),
    );
  };
}

async function judgedAddresses(
  hostName: string,
  resolve: Resolve,
  refuse: Refuse,
): Promise<[ResolvedAddress, ...ResolvedAddress[]]> {
  const [first, ...others] = await resolve(hostName);
  if (first === undefined) throw new Error(`${hostName} has no address`);
  for (const { address } of [first, ...others]) {
    const refusal = refuse(address);
    if (refusal !== null) throw new FatalError(`${hostName} leads inside: ${refusal}`);
  }
  return [first, ...others];
}

function resolveAll(hostName: string): Promise<ResolvedAddress[]> {
  return resolveName(hostName, { all: true });
}

/** Statuses whose answers have no body by definition; a Response with one would not be made. */
const BODILESS_STATUSES = new Set([204, 205, 304]);

function toResponse(message: IncomingMessage, method: string): Response {
  const { statusCode = 0, statusMessage, headersDistinct } = message;
  const headers = new Headers();
  for (const [name, values] of Object.entries(headersDistinct)) {
    for (const value of values ?? []) headers.append(name, value);
  }
  const bodiless = method === "HEAD" || BODILESS_STATUSES.has(statusCode);
  // Nothing follows by definition; a server that sends on all the same must not be listened to.
  if (bodiless) message.destroy();
  const body = bodiless ? null : Readable.toWeb(decoded(message));
  return new Response(body as ReadableStream<Uint8Array> | null, {
    status: statusCode,
    statusText: statusMessage,
    headers,
  });
}

/** Decodes piece by piece as the reader asks for more: a bomb unpacks no further than it is read. */
function decoded(message: IncomingMessage): Readable {
  const decoder = decoderFor(message.headers["content-encoding"]?.trim().toLowerCase());
  if (decoder === undefined) return message;
  // Errors of either side reach the reader through the decoder.
  return pipeline(message, decoder, () => undefined);
}

function decoderFor(coding: string | undefined): Duplex | undefined {
  // As fetch does: an end that comes early is the end, so that an empty body may claim a coding.
  const lenient = { finishFlush: constants.Z_SYNC_FLUSH };
  if (coding === "gzip" || coding === "x-gzip") return createGunzip(lenient);
  if (coding === "deflate") return createInflate(lenient);
  if (coding === "br") {
    return createBrotliDecompress({ finishFlush: constants.BROTLI_OPERATION_FLUSH });
  }
  // Unknown or stacked codings were not asked for; the reader gets the bytes as they are.
  return undefined;
}
