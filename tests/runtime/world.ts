/** What an entry meets, all of it on this machine, and the main job driven through it. */

import { randomUUID } from "node:crypto";
import type { ServerResponse } from "node:http";
import { expect } from "vitest";
import { type Qstash, startQstash } from "../../dev/qstash/start.js";
import { type TestDatabase, takeTestDatabase } from "../support/database.js";
import { startTarget, type Target } from "../support/outbound.js";

/** An entry as its platform calls it. */
export type Call = (request: Request) => Promise<Response>;

export interface World {
  database: TestDatabase;
  qstash: Qstash;
  /** Where `http_request` goes. */
  target: Target;
  /** The environment of a deployment in this world. */
  env: Record<string, string>;
  close(): Promise<void>;
}

const PUBLIC_URL = "https://antrean.example";
const API_SECRET = "runtime-secret-0000";
export const CRON_SECRET = "runtime-cron-secret-0000";

/**
 * Starts a world; its QStash is driven by hand and delivers to what `call` gives.
 *
 * @param answer what the target does with a request; it says thank you when left out
 */
export async function startWorld(
  call: () => Call,
  answer: Parameters<typeof startTarget>[0] = sayThanks,
): Promise<World> {
  const database = await takeTestDatabase();
  const qstash = await startQstash({ mode: "manual", deliver: (request) => call()(request) });
  const target = await startTarget(answer);
  const keys = qstash.keys();
  return {
    database,
    qstash,
    target,
    env: {
      DATABASE_URL: database.url,
      DATABASE_HTTP_URL: database.neon.endpoint,
      QSTASH_URL: qstash.url,
      QSTASH_TOKEN: qstash.token,
      QSTASH_CURRENT_SIGNING_KEY: keys.current,
      QSTASH_NEXT_SIGNING_KEY: keys.next,
      PUBLIC_URL,
      API_KEYS: `acme:admin:${API_SECRET}`,
      CRON_SECRET,
      OUTBOUND_ALLOW: target.place,
    },
    async close() {
      await Promise.all([qstash.close(), target[Symbol.asyncDispose]()]);
      await database.release();
    },
  };
}

/** The answer that `expectWholeJob` looks for. */
export function sayThanks(response: ServerResponse): void {
  response.end("thank you");
}

/** Sends requests to an entry that listens somewhere else than at its public address. */
export function overHttp(origin: string | URL): Call {
  return (request) => {
    const { pathname, search } = new URL(request.url);
    return fetch(new Request(new URL(pathname + search, origin), request));
  };
}

/** Makes a request with the world's API key. */
export function apiRequest(path: string, init: RequestInit = {}): Request {
  const headers = new Headers(init.headers);
  headers.set("authorization", `Bearer ${API_SECRET}`);
  return new Request(PUBLIC_URL + path, { ...init, headers });
}

/** Creates an `http_request` to the target and gives its id. */
export async function createJob(call: Call, { target }: World): Promise<string> {
  const response = await call(
    apiRequest("/api/jobs", {
      method: "POST",
      headers: { "content-type": "application/json", "idempotency-key": randomUUID() },
      body: JSON.stringify({
        type: "http_request",
        payload: { url: `${target.url}/hook`, method: "POST", json: { order: 17 } },
      }),
    }),
  );
  expect(response.status).toBe(202);
  return ((await response.json()) as { jobId: string }).jobId;
}

/** Gives a job as the API shows it. */
export async function readJob(call: Call, jobId: string): Promise<Record<string, unknown>> {
  const response = await call(apiRequest(`/api/jobs/${jobId}`));
  expect(response.status).toBe(200);
  return (await response.json()) as Record<string, unknown>;
}

/** Delivers a job's message, which may be published only after the answer to its creator. */
export async function deliver({ qstash }: World, jobId: string) {
  const find = () => qstash.pending().find(({ body }) => body.includes(jobId))?.messageId;
  const messageId = await expect.poll(find).toBeTypeOf("string").then(find);
  const { status, body } = await qstash.deliver(messageId ?? "");
  return { status, answer: body && (JSON.parse(body) as unknown) };
}

/** Runs the main job: create, signed delivery, one call of the target, completed. */
export async function expectWholeJob(call: Call, world: World): Promise<void> {
  const { target, database } = world;
  const seen = target.requests.length;
  const jobId = await createJob(call, world);
  expect(await deliver(world, jobId)).toEqual({
    status: 200,
    answer: { outcome: "completed", jobId, ranJobId: jobId },
  });
  expect(await readJob(call, jobId)).toMatchObject({
    id: jobId,
    status: "completed",
    attempts: 1,
    result: { status: 200, body: "thank you" },
  });
  const calls = target.requests.slice(seen);
  expect(calls).toHaveLength(1);
  expect(calls[0]).toMatchObject({ method: "POST", url: "/hook", body: '{"order":17}' });
  expect(calls[0]?.headers["idempotency-key"]).toBe(jobId);
  const { rows } = await database.pg.query(
    "select jsonb_typeof(payload_json) as payload, jsonb_typeof(result_json) as result from jobs where id = $1",
    [jobId],
  );
  expect(rows).toEqual([{ payload: "object", result: "object" }]);
}

/** Signs in to the dashboard and looks at a page, its style and a job's story. */
export async function expectDashboard(
  call: Call,
  world: World,
  mounted?: { publicUrl: string; jobId: string },
): Promise<void> {
  const jobId = mounted?.jobId ?? (await createJob(call, world));
  const { origin, pathname } = new URL(mounted?.publicUrl ?? PUBLIC_URL);
  const base = pathname.replace(/\/$/, "");
  const look = (path: string, init: RequestInit = {}) =>
    call(new Request(origin + path, { redirect: "manual", ...init }));
  const closed = await look(`${base}/dashboard`);
  const style = /href="([^"]+\.css)"/.exec(await closed.text())?.[1] ?? "";
  expect([closed.status, (await look(style)).status]).toEqual([401, 200]);
  const body = new URLSearchParams({ key: API_SECRET });
  const signedIn = await look(`${base}/dashboard/login`, { method: "POST", body });
  expect(signedIn.status).toBe(303);
  const [cookie = ""] = (signedIn.headers.get("set-cookie") ?? "").split(";");
  for (const path of ["/dashboard", `/dashboard/jobs/${jobId}`]) {
    const page = await look(base + path, { headers: { cookie } });
    expect([page.status, await page.text()]).toEqual([200, expect.stringContaining("Sign out")]);
  }
}
