/** The HTTP application: routing by the declarations, and what every answer has in common. */

import { Hono } from "hono/tiny";
import type { RequestPlatform } from "../core/ports.js";
import { type Ports, StoreUnavailableError } from "../core/ports.js";
import { createCallers } from "./callers.js";
import { createCors } from "./cors.js";
import { describeError } from "./describe-error.js";
import { runRoute } from "./pipeline.js";
import { describeProblem, notFound, Problem, problemResponse } from "./problem.js";
import { decodeText, readBytes } from "./read-body.js";
import type { AppOptions, Exchange, Pages, Route } from "./route.js";
import { ROUTES } from "./routes.js";
import { requestIdOf, traceparentOf } from "./trace.js";

/**
 * Builds the application, once for an instance; `RequestPlatform` comes in as Hono's `env`.
 *
 * Shape: every path takes all methods, so that a wrong one is a 405 and never a 404. The small preset,
 *        whose router tries one pattern after another: some tens of them cost microseconds.
 */
export function createApp(options: AppOptions): Hono<{ Bindings: RequestPlatform }> {
  const app = new Hono<{ Bindings: RequestPlatform }>();
  const callers = createCallers(options);
  const answer = createAnswer(options);
  for (const [path, routes] of routesByPath(ROUTES)) {
    app.all(path, (context) =>
      answer(context.req.raw, context.env, path, async (exchange) => {
        const { method } = exchange.request;
        // The small router also takes a slash more, which is no other name of anything here.
        if (context.req.path.endsWith("/")) throw notFound();
        if (method === "OPTIONS") return allowedMethods(routes);
        const route = routes.get(method === "HEAD" ? "GET" : method);
        if (!route) throw methodNotAllowed(routes);
        return runRoute(route, exchange, context.req.param(), callers);
      }),
    );
  }
  const { pages } = options;
  if (pages) {
    app.all(`${pages.path}/*`, (context) =>
      answer(
        context.req.raw,
        context.env,
        `${pages.path}/*`,
        (exchange) => showPage(pages, exchange, context.req.path.slice(pages.path.length)),
        pages.failure,
      ),
    );
  }
  app.notFound((context) =>
    answer(context.req.raw, context.env, "unmatched", async () => {
      throw notFound();
    }),
  );
  return app;
}

/** Hands a request on to the pages; only their forms have bodies. */
async function showPage(
  pages: Pages,
  { app, request, ports }: Exchange,
  path: string,
): Promise<Response> {
  const bytesMax = app.config.maxBodyBytes;
  const bytes = request.method === "POST" ? await readBytes(request, bytesMax) : new Uint8Array();
  return pages.handle({ request, path, ports, body: decodeText(bytes) ?? "" });
}

type Produce = (exchange: Exchange) => Promise<Response>;
type Answer = (
  request: Request,
  platform: RequestPlatform | undefined,
  path: string,
  produce: Produce,
  /** Shows problems to people; without it they are problem details. */
  failure?: Pages["failure"],
) => Promise<Response>;

/** Makes what surrounds every route: ids, errors as problem details, common headers, one log line. */
function createAnswer(app: AppOptions): Answer {
  const cors = createCors(app.config.env.CORS_ORIGINS);
  const { publicUrl } = app.config;
  return async (request, platform, path, produce, failure) => {
    const startedMs = performance.now();
    const requestId = requestIdOf(request.headers);
    const traceparent = traceparentOf(request.headers);
    const { method } = request;
    let ports: Ports | undefined;
    let response: Response;
    let code: string | undefined;
    try {
      ports = app.portsFor({ requestId, traceparent, waitUntil: platform?.waitUntil });
      response = await produce({ app, request, requestId, traceparent, ports });
    } catch (thrown) {
      const problem = problemOf(thrown);
      code = problem.code;
      if (problem !== thrown) {
        ports?.log("request_failed", { method, route: path, code, ...describeError(thrown) });
      }
      response = failure
        ? failure({ ...describeProblem(problem), requestId })
        : problemResponse(problem, { requestId, publicUrl });
    }
    const { headers, status } = response;
    headers.set("X-Request-Id", requestId);
    headers.set("X-Content-Type-Options", "nosniff");
    if (!headers.has("Cache-Control")) headers.set("Cache-Control", "no-store");
    cors(request, headers);
    const durationMs = Math.round(performance.now() - startedMs);
    ports?.log("request_handled", { method, route: path, status, code, durationMs });
    return response;
  };
}

function problemOf(thrown: unknown): Problem {
  if (thrown instanceof Problem) return thrown;
  return thrown instanceof StoreUnavailableError
    ? new Problem("store_unavailable", "Send the same request again: nothing is done twice.")
    : new Problem("internal", "The requestId finds the cause in the logs.");
}

type RoutesByMethod = ReadonlyMap<string, Route>;

/** Groups routes; paths without parameters come first, so that `:id` does not take their names. */
function routesByPath(routes: readonly Route[]): [string, RoutesByMethod][] {
  const paths = new Map<string, Map<string, Route>>();
  for (const route of routes) {
    const methods = paths.get(route.path) ?? new Map<string, Route>();
    paths.set(route.path, methods.set(route.method, route));
  }
  return [...paths].sort(([a], [b]) => Number(a.includes(":")) - Number(b.includes(":")));
}

function allowOf(routes: RoutesByMethod): string {
  const methods = [...routes.keys()].flatMap((each) => (each === "GET" ? [each, "HEAD"] : [each]));
  return [...methods, "OPTIONS"].join(", ");
}

function allowedMethods(routes: RoutesByMethod): Response {
  return new Response(null, { status: 204, headers: { Allow: allowOf(routes) } });
}

function methodNotAllowed(routes: RoutesByMethod): Problem {
  const allow = allowOf(routes);
  return new Problem("method_not_allowed", `This path takes ${allow}.`, {
    headers: { Allow: allow },
  });
}
