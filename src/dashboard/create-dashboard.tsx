/** The dashboard: pages for people, over the verbs that the API has. */

import type { Context } from "hono";
import { Hono } from "hono/tiny";
import { actorOf, includesRole } from "../core/access.js";
import { REASON_LENGTH_MAX } from "../core/operations.js";
import { actionIdOf } from "./action-id.js";
import { ACTIONS } from "./actions/actions.js";
import { assetResponse } from "./assets.js";
import { Layout } from "./components/layout.js";
import type { Dashboard, DashboardOptions, Exchange } from "./exchange.js";
import { isUuid } from "./format.js";
import { createLogin, type Login } from "./login.js";
import { Failure } from "./pages/failure.js";
import { PAGES } from "./pages/pages.js";
import { htmlResponse, redirectTo } from "./respond.js";
import { isOwnPost } from "./security.js";
import type { Session } from "./session.js";
import type { Action, Page, Visit } from "./visit.js";

interface Env {
  Bindings: Exchange;
  Variables: { session: Session };
}

/** What every step needs, made once for an instance. */
interface Setting {
  /** Every link begins with it. */
  base: string;
  publicUrl: string;
  login: Login;
  failure: Dashboard["failure"];
}

/** Makes the dashboard, once for an instance. */
export function createDashboard(options: DashboardOptions): Dashboard {
  const { path, publicUrl } = options;
  const base = new URL(publicUrl).pathname.replace(/\/$/, "") + path;
  const failure: Dashboard["failure"] = ({ status, ...note }) =>
    htmlResponse(<Failure base={base} {...note} />, status);
  const setting: Setting = { base, publicUrl, login: createLogin(options, base), failure };
  const app = new Hono<Env>({ getPath: (_, options) => options?.env?.path || "/" });
  // Whatever is thrown is answered and logged by the application that this is mounted in.
  app.onError((error) => {
    throw error;
  });
  app.notFound(() => nothing(setting));
  addDoors(app, setting);
  for (const page of PAGES) {
    app.get(page.path, (context) => showPage(context, page, setting));
  }
  addTokenCheck(app, setting);
  app.post("/logout", ({ env }) => setting.login.signOut(env.request));
  for (const action of ACTIONS) {
    app.post(action.path, (context) => carryOut(context, action, setting));
  }
  return {
    path,
    handle: async (given) => app.fetch(given.request, { ...given, nowMs: Date.now() }),
    failure,
  };
}

/** What is open to everybody, and the door behind which everything else is. */
function addDoors(app: Hono<Env>, setting: Setting): void {
  const { base, login } = setting;
  app.get("/assets/:file", ({ req }) => assetResponse(req.param("file")) ?? nothing(setting));
  app.get("/login", () => redirectTo(base));
  app.post("/login", ({ env }) => login.signIn(env));
  app.use(async (context, next) => {
    if (hasNul(context.env)) return setting.failure(NUL_FAILURE);
    const session = await login.sessionOf(context.env);
    if (!session) return login.page(context.env);
    context.set("session", session);
    return next();
  });
}

/** Lets through only forms of our own pages and of this very session. */
function addTokenCheck(app: Hono<Env>, { publicUrl, failure }: Setting): void {
  app.post("*", async ({ env, get }, next) => {
    const token = new URLSearchParams(env.body).get("csrf") ?? "";
    if (isOwnPost(env.request, publicUrl) && (await get("session").isCsrfToken(token))) {
      return next();
    }
    const detail = "This form is not of your present session. Go back, reload and try again.";
    return failure({ status: 403, title: "Not allowed", detail });
  });
}

async function showPage(context: Context<Env>, page: Page, setting: Setting): Promise<Response> {
  const visit = visitOf(context, setting);
  const rendered = hasPlausibleIds(visit) ? await page.render(visit) : undefined;
  if (!rendered) return nothing(setting);
  if (typeof rendered === "string") return redirectTo(visit.base + rendered);
  const { title, body, status = 200 } = rendered;
  return htmlResponse(
    <Layout visit={visit} title={title} section={page.section}>
      {body}
    </Layout>,
    status,
  );
}

const NUL_FAILURE = {
  status: 400,
  title: "Not possible",
  detail: "A field holds the character U+0000, which no text in the database can have.",
};

/** In a form or a path, however it is written; pages look at their queries. */
function hasNul({ body, path }: Exchange): boolean {
  return [body, path].some((text) => /%00|\0/.test(text));
}

async function carryOut(
  context: Context<Env>,
  action: Action,
  setting: Setting,
): Promise<Response> {
  const visit = visitOf(context, setting);
  if (!includesRole(visit.role, action.role)) {
    const detail = `This takes a key with the role ${action.role}.`;
    return setting.failure({ status: 403, title: "Not allowed", detail });
  }
  const fields = new URLSearchParams(context.env.body);
  const given = fields.get("action") || crypto.randomUUID();
  const actionId = await actionIdOf(visit.actor.keyName, context.env.path, given);
  const reason = fields.get("reason")?.trim() || null;
  if (reason && reason.length > REASON_LENGTH_MAX) {
    const detail = `A reason has at most ${REASON_LENGTH_MAX} characters. Go back and shorten it.`;
    return setting.failure({ status: 400, title: "Not possible", detail });
  }
  const outcome = hasPlausibleIds(visit)
    ? await action.act(visit, { fields, actionId, reason })
    : undefined;
  if (outcome === undefined) return nothing(setting);
  if (typeof outcome === "string") return redirectTo(visit.base + outcome);
  return setting.failure({ status: 422, title: "Not possible", ...outcome });
}

function visitOf({ env, req, get }: Context<Env>, { base }: Setting): Visit {
  const { key, csrfToken } = get("session");
  return {
    ports: env.ports,
    actor: actorOf(key),
    role: key.role,
    csrfToken,
    base,
    params: req.param(),
    query: new URL(env.request.url).searchParams,
    nowMs: env.nowMs,
  };
}

function nothing({ failure }: Setting): Response {
  return failure({
    status: 404,
    title: "Nothing is here",
    detail: "It does not exist, it was deleted after its time, or your key may not see it.",
  });
}

/** Ids that cannot exist are found nowhere, and asking the database for them would be an error. */
function hasPlausibleIds({ params: { id, actionId } }: Visit): boolean {
  return [id, actionId].every((each) => each === undefined || isUuid(each));
}
