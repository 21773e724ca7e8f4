/** What is secret: payloads, URLs, headers, keys, error texts. Who may read logs may not read these. */

import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import httpRequest from "../../src/jobs/http_request.js";
import { handMade } from "../support/flow-delivery.js";
import { byAttempt, type Context, held, scripted, succeed, TYPE } from "../support/flow-jobs.js";
import { setUpFlow } from "../support/flow-world.js";
import { startTarget } from "../support/outbound.js";
import { type ApiOptions, CRON_SECRET, KEYS } from "../support/world.js";

const MARKER = "s3cr3t";
/** A secret that tells, where it is found, which one it is. */
const secret = (place: string): string => `${MARKER}-${place}`;
const SIGNING_SECRET = `whsec_${Buffer.from("a signing secret of 24 b").toString("base64")}`;

const flow = setUpFlow();
/** Error answers, and what libraries write past our log. */
let told: string[] = [];

beforeEach(() => {
  told = [];
  for (const method of ["log", "info", "warn", "error", "debug"] as const) {
    vi.spyOn(console, method).mockImplementation((...words) => void told.push(words.join(" ")));
  }
});
afterEach(() => vi.restoreAllMocks());

/** Sends a request and keeps what an error answers. */
async function ask(method: string, path: string, options: ApiOptions = {}): Promise<number> {
  const response = await flow.request(method, path, options);
  if (response.status >= 400) {
    told.push(JSON.stringify([...response.headers]), await response.text());
  }
  return response.status;
}

const create = (payload: unknown, more: object = {}) => ({
  body: { type: TYPE, payload, ...more },
});

/** Lists log lines, error answers and console lines that hold a secret. */
function tellingLines(): string[] {
  const { current, next } = flow.qstash.keys();
  const signatures = flow.instance.captured.map(({ headers }) => headers.get("upstash-signature"));
  const keys = [...Object.values(KEYS), CRON_SECRET, SIGNING_SECRET, flow.qstash.token];
  const secrets = [MARKER, ...keys, current, next, ...signatures];
  const lines = [...told, ...flow.logs.map((line) => JSON.stringify(line))];
  return lines.filter((line) => secrets.some((each) => each && line.includes(each)));
}

const eventsLogged = (): Set<unknown> => new Set(flow.logs.map(({ event }) => event));

describe("no log line and no error answer tells a secret (R06)", () => {
  test("of a call that fails in every way, is replayed, and succeeds", async () => {
    await using target = await startTarget((response, _request, count) => {
      if (count === 1) return void response.destroy();
      const status = [500, 429, 302, 200][count - 2] ?? 200;
      response.writeHead(status, { location: `/${secret("location")}`, "x-a": secret("answer") });
      response.end(secret("body"));
    });
    flow.start([httpRequest], {
      env: { OUTBOUND_ALLOW: target.place, WEBHOOK_SIGNING_SECRET: SIGNING_SECRET },
    });
    flow.qstash.refusePublishes({ status: 503 });
    const jobId = await flow.create("http_request", {
      url: `${target.url}/${secret("path")}?token=${secret("query")}`,
      headers: { authorization: `Bearer ${secret("header")}`, cookie: secret("cookie") },
      json: { card: secret("payload") },
    });
    flow.qstash.refusePublishes(null);
    await flow.advance(60);
    await flow.sweep();
    await flow.runUntilIdle();
    expect(await flow.job(jobId)).toMatchObject({ status: "dead_letter", attempts: 4 });
    const body = { reason: secret("reason") };
    expect(await ask("POST", `/api/jobs/${jobId}/replay`, { body })).toBe(202);
    await flow.runUntilIdle();
    expect(await ask("POST", `/api/jobs/${jobId}/cancel`, { body })).toBe(409);
    expect((await flow.job(jobId)).result).toMatchObject({ body: secret("body") });
    expect(target.requests.at(-1)?.headers.authorization).toContain(secret("header"));
    const events = ["publish_failed", "attempt_finished", "job_replayed", "sweep_finished"];
    expect([...eventsLogged()]).toEqual(expect.arrayContaining(events));
    expect(tellingLines()).toEqual([]);
  });

  test("of a handler that throws, reports, loses its lease and is settled", async () => {
    const slow = held();
    const charge = ({ once }: Context) =>
      once(
        "charge",
        ({ trace }) => {
          trace({ card: secret("trace") });
          throw new Error(secret("thrown in once"));
        },
        { ifUnknown: "dead_letter" },
      );
    const large = { text: secret("result").repeat(10_000) };
    flow.start([
      scripted(
        byAttempt(
          ({ progress }) =>
            progress(secret("progress")).then(() => Promise.reject(secret("value"))),
          slow.run,
          charge,
          charge,
          succeed(large),
        ),
      ),
    ]);
    const jobId = await flow.create(TYPE, secret("payload"), { dedupeKey: secret("dedupe key") });
    await flow.deliverOne();
    await flow.advance(31);
    const delivery = flow.qstash.deliverDue();
    await slow.started;
    await flow.database.pg.query("update jobs set lock_until = now()");
    await flow.sweep();
    slow.fail(new Error(secret("late")));
    await delivery;
    await flow.runUntilIdle();
    expect(await flow.job(jobId)).toMatchObject({ lastError: { code: "effect_unknown" } });
    const body = { outcome: "done", reason: secret("reason"), result: secret("settled") };
    expect(await ask("POST", `/api/jobs/${jobId}/effects/charge/settle`, { body })).toBe(200);
    expect(await ask("POST", `/api/jobs/${jobId}/effects/charge/settle`, { body })).toBe(409);
    await flow.runUntilIdle();
    const events = ["attempt_lease_lost", "effect_settled"];
    expect([...eventsLogged()]).toEqual(expect.arrayContaining(events));
    expect(tellingLines()).toEqual([]);
  });

  test("of a request that is refused", async () => {
    flow.start([scripted(succeed()), httpRequest]);
    const outbound = (payload: unknown) => create(payload, { type: "http_request" });
    const header = { a: `${secret("header")}\n` };
    const refused: [number, string, string, ApiOptions?][] = [
      [
        400,
        "POST",
        "/api/jobs",
        { rawBody: `{"type": "${TYPE}", "payload": "${secret("broken")}` },
      ],
      [400, "POST", "/api/jobs", { ...create({}), idempotencyKey: secret("key").repeat(100) }],
      [400, "GET", `/api/jobs?cursor=${secret("cursor")}`],
      [400, "GET", `/api/jobs?status=${secret("status")}&createdAfter=${secret("time")}`],
      [401, "GET", "/api/jobs", { secret: secret("API key") }],
      [401, "POST", "/api/sweep", { secret: secret("cron secret") }],
      [404, "GET", `/api/jobs/${secret("id")}`],
      [404, "GET", `/api/${secret("path")}?token=${secret("query")}`],
      [415, "POST", "/api/jobs", { rawBody: secret("text"), headers: { "content-type": "a/b" } }],
      [422, "POST", "/api/jobs", create(`${secret("nul")}\u0000`)],
      [422, "POST", "/api/jobs", create({}, { runAt: secret("run at"), priority: secret("high") })],
      [422, "POST", "/api/jobs", outbound({ url: `http://u:${secret("user")}@10.0.0.1/` })],
      [422, "POST", "/api/jobs", outbound({ url: secret("url"), method: secret("method") })],
      [422, "POST", "/api/jobs", outbound({ url: "https://example.com", headers: header })],
    ];
    for (const [status, method, path, options] of refused) {
      expect(await ask(method, path, options), `${method} ${path}`).toBe(status);
    }
    expect(tellingLines()).toEqual([]);
  });

  test("of a delivery that is refused", async () => {
    flow.start([scripted(succeed())]);
    for (const given of [
      { signature: secret("signature"), body: secret("body") },
      { body: JSON.stringify({ v: 1, jobId: secret("id"), type: TYPE, seq: 1 }) },
      { body: secret("not JSON") },
    ]) {
      told.push(await (await flow.instance.fetch(handMade(flow, given))).text());
    }
    const rejected = flow.logs.filter(({ event }) => event === "delivery_rejected");
    expect(rejected).toHaveLength(3);
    expect(tellingLines()).toEqual([]);
  });

  test("of a row that the database refuses", async () => {
    flow.start([scripted(succeed())]);
    flow.qstash.refusePublishes({ status: 503 });
    const jobId = await flow.create(TYPE, secret("stored payload"));
    flow.qstash.refusePublishes(null);
    // With such an error Postgres tells the refused row, payload and all.
    await flow.query("alter table jobs add constraint refuses_all check (false) not valid");
    try {
      expect(await ask("POST", "/api/jobs", create(secret("payload")))).toBe(500);
      expect(await ask("POST", `/api/jobs/${jobId}/cancel`)).toBe(500);
      expect(await flow.sweep()).toMatchObject({ failedSteps: ["unpublished"] });
    } finally {
      await flow.query("alter table jobs drop constraint refuses_all");
    }
    const failed = flow.logs.filter(({ error }) => String(error).includes("refuses_all"));
    expect(failed).toHaveLength(3);
    expect(tellingLines()).toEqual([]);
  });

  test("control: a secret that a handler logs itself is found", async () => {
    flow.start([scripted(({ log }) => log(secret("logged")))]);
    await flow.create(TYPE, {});
    await flow.deliverOne();
    expect(tellingLines()).toEqual([expect.stringContaining(secret("logged"))]);
  });
});
