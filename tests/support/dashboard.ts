/** A visitor of the dashboard without a browser: keeps the cookie, reads links and forms. */

import { expect } from "vitest";
import type { Flow } from "./flow-world.js";
import { PUBLIC_URL } from "./world.js";

export interface Shown {
  status: number;
  html: string;
  headers: Headers;
}

export interface Visitor {
  get(path: string, headers?: Record<string, string>): Promise<Shown>;
  /** Sends the form of a page whose action ends so, with its hidden fields and these. */
  submit(page: string, action: string, fields?: Record<string, string>): Promise<Shown>;
  /** Sends a form made by hand. */
  post(
    path: string,
    fields: Record<string, string>,
    headers?: Record<string, string>,
  ): Promise<Shown>;
  cookie: string;
}

type Requests = Pick<Flow, "instance">;

/** A visitor who has not signed in. */
export function stranger(flow: Requests, cookie = ""): Visitor {
  const send = async (path: string, init: RequestInit): Promise<Shown> => {
    const headers = new Headers(init.headers);
    if (visitor.cookie) headers.set("cookie", visitor.cookie);
    const response = await flow.instance.fetch(
      new Request(PUBLIC_URL + path, { ...init, headers }),
    );
    return { status: response.status, html: await response.text(), headers: response.headers };
  };
  const visitor: Visitor = {
    cookie,
    get: (path, headers = {}) => send(path, { headers }),
    post: (path, fields, headers = {}) =>
      send(path, { method: "POST", body: new URLSearchParams(fields), headers }),
    async submit(page, action, fields = {}) {
      const { html } = await visitor.get(page);
      const form = formsOf(html).find((each) => each.action.endsWith(action));
      if (!form) throw new Error(`${page} has no form for ${action}`);
      return visitor.post(form.action, { ...form.hidden, ...fields });
    },
  };
  return visitor;
}

/** Signs in with a key. */
export async function signIn(flow: Requests, secret: string): Promise<Visitor> {
  const visitor = stranger(flow);
  const { status, headers } = await visitor.post("/dashboard/login", { key: secret });
  expect(status).toBe(303);
  const [cookie = ""] = (headers.get("set-cookie") ?? "").split(";");
  return stranger(flow, cookie);
}

/** Lists the forms that change something, with their hidden fields. */
export function formsOf(html: string): { action: string; hidden: Record<string, string> }[] {
  return [...html.matchAll(/<form method="post" action="([^"]*)">(.*?)<\/form>/gs)].map(
    ([, action = "", inside = ""]) => ({
      action,
      hidden: Object.fromEntries(
        [...inside.matchAll(/<input type="hidden" name="([^"]*)" value="([^"]*)"/g)].map(
          ([, name = "", value = ""]) => [name, value],
        ),
      ),
    }),
  );
}

/** Lists the links of a page that stay in the dashboard. */
export function linksOf(html: string): string[] {
  const links = [...html.matchAll(/<a [^>]*href="(\/dashboard[^"#]*)"/g)];
  return [...new Set(links.map(([, href = ""]) => href.replaceAll("&amp;", "&")))];
}

/** What is to be read: without tags and with entities resolved. */
export function textOf(html: string): string {
  const main = /<main.*<\/main>/s.exec(html)?.[0] ?? html;
  return main
    .replace(/<[^>]*>/g, " ")
    .replaceAll("&lt;", "<")
    .replaceAll("&gt;", ">")
    .replaceAll("&quot;", '"')
    .replaceAll("&#39;", "'")
    .replaceAll("&amp;", "&")
    .replace(/\s+/g, " ");
}
