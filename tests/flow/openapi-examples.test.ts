import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, expect, test } from "vitest";
import sendEmail from "../../src/jobs/send_email.js";
import { DOCUMENT, heldToDocument, type Operation } from "../support/documented.js";
import { CRON_SECRET, createWorld, KEYS, type World } from "../support/world.js";

let world: World;

beforeAll(async () => {
  const env = { RESEND_API_KEY: "re_0000000000000000", EMAIL_FROM: "shop@example.com" };
  const outboundFetch = async () => Response.json({ id: "sent" });
  world = await createWorld({ jobs: [sendEmail], env, outboundFetch });
});

/** Fails when an answer was not as documented. */
afterAll(() => world?.close());

const email = { to: "ana@example.com", subject: "Hello", text: "From a durable job." };
const as = { secret: KEYS.admin };
const later = () => world.create("send_email", email, { delaySeconds: 3600 });

async function cancelled(): Promise<string> {
  const jobId = await later();
  await world.request("POST", `/api/jobs/${jobId}/cancel`, as);
  return jobId;
}

async function withUnknownEffect(): Promise<string> {
  const jobId = await later();
  await world.database.pg.query(
    `insert into job_effects (job_id, name, state, lock_token, started_at)
     values ($1, 'charge', 'started', $2, now())`,
    [jobId, randomUUID()],
  );
  return jobId;
}

async function schedule(): Promise<string> {
  const name = `s-${randomUUID()}`;
  const body = { name, cron: "0 9 * * 1", type: "send_email", payload: email };
  expect((await world.request("POST", "/api/schedules", { ...as, body })).status).toBe(201);
  return name;
}

/** Makes what an operation is about, and gives the values of its path. */
const PREPARE: Record<string, () => Promise<string> | string> = {
  "/api/jobs/{id}/replay": cancelled,
  "/api/jobs/{id}/effects/{name}/settle": withUnknownEffect,
  "/api/jobs/{id}": later,
  "/api/types/{type}": () => "send_email",
  "/api/schedules/{name}": schedule,
};

async function pathOf(template: string): Promise<string> {
  const start = Object.keys(PREPARE).find((each) => template.startsWith(each));
  const value = await PREPARE[start ?? ""]?.();
  return template.replace("{name}/settle", "charge/settle").replace(/\{\w+\}/, value ?? "");
}

const OPERATIONS = Object.entries(DOCUMENT.paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, operation]) => ({
    title: `${method.toUpperCase()} ${path}`,
    method: method.toUpperCase(),
    path,
    operation,
  })),
);
const successesOf = ({ responses }: Operation) =>
  Object.keys(responses).filter((status) => status.startsWith("2"));

test.each(OPERATIONS.filter(({ path }) => path !== "/api/process"))(
  "$title answers the document's own example as the document says",
  async ({ method, path, operation }) => {
    const { example } = operation.requestBody?.content["application/json"] ?? {};
    const secret = path === "/api/sweep" ? CRON_SECRET : KEYS.admin;
    const answer = await world.request(method, await pathOf(path), { secret, body: example });
    expect(successesOf(operation), await answer.clone().text()).toContain(String(answer.status));
  },
);

test("POST /api/process answers a message of ours as the document says", async () => {
  await world.create("send_email", email);
  const statuses = (await world.qstash.deliverDue()).map(({ status }) => status);
  expect(new Set(statuses)).toEqual(new Set([200]));
});

test("control: an answer that is not as documented is found", async () => {
  const faultsOf = async (request: Request, answer: Response): Promise<string[]> => {
    const faults = new Set<string>();
    await heldToDocument(async () => answer, faults)(request);
    return [...faults].map((fault) => fault.replace(/^.*?: /, ""));
  };
  const health = new Request("http://antrean.test/api/health");
  const headers = { "X-Request-Id": "r1" };
  const ok = () => Response.json({ status: "ok" }, { headers });
  expect(await faultsOf(health, ok())).toEqual([]);
  expect(await faultsOf(health, Response.json({ status: "ok" }))).toEqual([
    "X-Request-Id is missing",
  ]);
  expect(await faultsOf(health, Response.json({ status: "bad" }, { headers }))).toHaveLength(1);
  const more = Response.json({ status: "ok", more: 1 }, { headers });
  expect(await faultsOf(health, more)).toEqual([expect.stringContaining("more")]);
  const text = new Response("ok", { headers: { ...headers, "X-Else": "1" } });
  expect(await faultsOf(health, text)).toEqual([
    "x-else is undocumented",
    'content of the type "text/plain" is undocumented',
  ]);
  const teapot = Response.json({}, { status: 418, headers });
  expect(await faultsOf(health, teapot)).toEqual(["the document has no such status"]);
  const problem = { type: "https://a.b", title: "", status: 500, detail: "", requestId: "r1" };
  const init = { status: 500, headers: { ...headers, "Content-Type": "application/problem+json" } };
  const gone = Response.json({ ...problem, code: "not_found" }, init);
  expect(await faultsOf(health, gone)).toEqual(["the code not_found is undocumented here"]);
  const path = new Request("http://antrean.test/api/healthy");
  expect(await faultsOf(path, ok())).toEqual(["the document has no such status"]);
});
