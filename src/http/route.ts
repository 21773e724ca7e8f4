/**
 * What a route declares: the pipeline, the `Allow` header and the API's description read it.
 *
 * What it answers is declared under `answers/`, since only the description reads that.
 */

import type * as z from "zod/mini";
import type { Config } from "../config.js";
import type { Role } from "../core/access.js";
import type { Registry } from "../core/define-job.js";
import type { Actor } from "../core/operations.js";
import type { IdempotentRequest, Ports, RequestPlatform } from "../core/ports.js";
import type { Verify } from "../trigger/verify.js";
import type { ProblemCode } from "./problem.js";

/** What the application is built from, once for an instance. */
export interface AppOptions {
  config: Config;
  registry: Registry;
  verify: Verify;
  portsFor: (request: RequestPlatform) => Ports;
  /** Name of the newest migration that this build knows; readiness compares it with the database. */
  latestMigration?: string;
  /** Gives a request's path from our own root, where that is not the host's. */
  pathOf?: (request: Request) => string;
  /** Pages for people, below a path of their own. */
  pages?: Pages;
}

/** What serves pages instead of the API; ids, logs and bounds of bodies are the application's. */
export interface Pages {
  /** Without a trailing slash. */
  path: string;
  /** `path` is what follows the pages' own, empty at their root. */
  handle(request: {
    request: Request;
    path: string;
    ports: Ports;
    body: string;
  }): Promise<Response>;
  /** Shows a problem to a person. */
  failure(problem: { status: number; title: string; detail: string; requestId: string }): Response;
}

export type Method = "GET" | "POST" | "PUT" | "DELETE";

/**
 * Who may call: anybody (`none`), a key of at least this role, QStash by its signature (`signed`),
 * or that signature or the cron secret (`cron`).
 */
export type RouteRole = Role | "none" | "signed" | "cron";

export interface BodyRule {
  schema: z.core.$ZodType;
  /** An absent body counts as `{}`. */
  optional?: true;
  /** Which of the two configured limits holds. */
  limit: "job" | "batch";
  /** Levels of nesting around the value that the client may nest up to `JSON_DEPTH_MAX`. */
  levelsAround: number;
}

export interface RouteDeclaration {
  method: Method;
  /** In Hono's syntax: `/api/jobs/:id`. */
  path: string;
  role: RouteRole;
  /** Set where an `Idempotency-Key` is required; keys of different operations are independent. */
  operation?: string;
  summary: string;
  /** A value that does not fit is a 404, exactly like one that does not exist. */
  params?: z.ZodMiniObject;
  query?: z.ZodMiniObject;
  body?: BodyRule;
  /** Codes that the handler itself answers, beyond those that the declaration implies. */
  problems?: readonly ProblemCode[];
}

/** The request as far as its idempotency record is concerned. */
export type Idempotency = Pick<
  IdempotentRequest,
  "tenant" | "operation" | "idempotencyKey" | "requestHash"
>;

/** What is known of every request, whatever its route. */
export interface Exchange {
  app: AppOptions;
  request: Request;
  requestId: string;
  traceparent: string;
  ports: Ports;
}

/** What the pipeline has checked; members that the declaration does not ask for are undefined. */
export interface CheckedRequest extends Exchange {
  actor: Actor | undefined;
  idempotency: Idempotency | undefined;
  params: unknown;
  query: unknown;
  body: unknown;
  /** The signed text, for routes that QStash calls. */
  rawBody: string | undefined;
}

/** What the handler of a declaration receives. */
export interface RouteContext<D extends RouteDeclaration> extends Exchange {
  actor: D["role"] extends Role ? Actor : undefined;
  idempotency: D extends { operation: string } ? Idempotency : undefined;
  params: D extends { params: infer Params extends z.core.$ZodType } ? z.output<Params> : undefined;
  query: D extends { query: infer Query extends z.core.$ZodType } ? z.output<Query> : undefined;
  body: D extends { body: { schema: infer Body extends z.core.$ZodType } }
    ? z.output<Body>
    : undefined;
  rawBody: D["role"] extends "signed" ? string : string | undefined;
}

/** A declaration with the code behind it. */
export interface Route extends RouteDeclaration {
  handle(request: CheckedRequest): Promise<Response> | Response;
}

/** Ties a handler to its declaration, whose schemas give the handler its types. */
export function defineRoute<const D extends RouteDeclaration>(
  declaration: D,
  handler: (context: RouteContext<D>) => Promise<Response> | Response,
): Route {
  // Safe because the pipeline builds the request from this very declaration.
  return { ...declaration, handle: (request) => handler(request as unknown as RouteContext<D>) };
}
