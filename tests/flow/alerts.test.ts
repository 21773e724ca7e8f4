import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { Webhook } from "standardwebhooks";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import * as z from "zod";
import { defineJob } from "../../src/core/define-job.js";
import { setUpFlow } from "../support/flow-world.js";

const flow = setUpFlow();
const SECRET = "whsec_c2VjcmV0LW9mLXRoZS1hbGVydHMtd2ViaG9vaw==";
const echo = defineJob({ type: "test.echo", payload: z.unknown(), run: () => null });

interface Received {
  id: string;
  body: { type: string; timestamp: string; data: Record<string, unknown> };
}

type Headers = Record<`webhook-${"id" | "timestamp" | "signature"}`, string>;

/** Reads what was signed; not by `verify`, whose clock is not the one that tests move. */
function signed(headers: Headers, text: string): Received {
  const id = headers["webhook-id"];
  const sentAt = new Date(Number(headers["webhook-timestamp"]) * 1000);
  expect(headers["webhook-signature"]).toBe(new Webhook(SECRET).sign(id, sentAt, text));
  return { id, body: JSON.parse(text) };
}

/** An operator's receiver: checks every signature, and can be made to refuse. */
async function receiver() {
  const received: Received[] = [];
  const state = { received, status: 204, calls: 0, url: "" };
  const server = createServer(async (request: IncomingMessage, response) => {
    state.calls += 1;
    // A receiver that never answers keeps the connection until the caller gives up.
    if (state.status === 0) return;
    const body = Buffer.concat(await request.toArray()).toString();
    if (state.status < 300) received.push(signed(request.headers as Headers, body));
    response.writeHead(state.status, { location: "/elsewhere" }).end();
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  state.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook?token=marker-token`;
  return state;
}

const watch = (url: string, env: Record<string, string> = {}) =>
  flow.start([echo], {
    env: {
      ALERT_WEBHOOK_URL: url,
      ALERT_WEBHOOK_SECRET: SECRET,
      ALERT_BACKLOG_AGE_SECONDS: "600",
      ...env,
    },
  });

/** A job that nobody delivers, due for so long. */
async function backlog(seconds: number): Promise<void> {
  await flow.create("test.echo", {});
  await flow.query(
    "update jobs set next_run_at = now() - make_interval(secs => $1), next_trigger_at = now() + interval '1 day'",
    [seconds],
  );
}

/** Counters of the last hour, as a roll-up or a statement leaves them. */
const count = (measure: string, label: string, by: number) =>
  flow.query(
    `insert into job_stats (minute, job_type, measure, label, shard, count)
     values (date_trunc('minute', now()), 'test.echo', $1, $2, 0, $3)`,
    [measure, label, by],
  );

describe("an incident is told", () => {
  test("once at its beginning and once at its end, signed, by sweeps of two instances", async () => {
    const hook = await receiver();
    const first = watch(hook.url);
    const second = watch(hook.url);
    await backlog(900);
    const reports = [
      ...(await Promise.all([flow.sweep(first), flow.sweep(second)])),
      await flow.sweep(first),
    ];
    expect(reports.reduce((sum, { alertsSent }) => sum + Number(alertsSent), 0)).toBe(1);
    expect(hook.received).toMatchObject([
      {
        body: {
          type: "alert.opened",
          data: { kind: "backlog_age", type: "test.echo", threshold: 600, closedAt: null },
        },
      },
    ]);
    await flow.query("delete from jobs");
    await flow.advance(31);
    await flow.sweep(second);
    await flow.advance(31);
    await flow.sweep(first);
    expect(hook.received.map(({ body }) => body.type)).toEqual(["alert.opened", "alert.recovered"]);
    const [opened, recovered] = hook.received;
    expect(recovered?.body.data.incidentId).toBe(opened?.body.data.incidentId);
    expect(recovered?.id).not.toBe(opened?.id);
  });

  test("anew when it comes back", async () => {
    const hook = await receiver();
    watch(hook.url);
    for (let times = 0; times < 2; times += 1) {
      await backlog(900);
      await flow.sweep();
      await flow.query("delete from jobs");
      await flow.advance(31);
      await flow.sweep();
    }
    expect(hook.received.map(({ body }) => body.type)).toEqual(
      Array(2).fill(["alert.opened", "alert.recovered"]).flat(),
    );
  });

  test.each([500, 302])(
    "by the next sweep under the same id where the receiver answered %d",
    async (status) => {
      const hook = await receiver();
      watch(hook.url);
      await backlog(900);
      hook.status = status;
      expect(await flow.sweep()).toMatchObject({ alertsSent: 0, alertsFailed: 1, failedSteps: [] });
      expect(hook.calls).toBe(1);
      hook.status = 204;
      await flow.advance(31);
      expect(await flow.sweep()).toMatchObject({ alertsSent: 1, alertsFailed: 0 });
      const [alert] = await flow.query("select id from alerts");
      expect(hook.received.map(({ id }) => id)).toEqual([`${alert?.id}.opened`]);
    },
  );

  test("under the same id again where nobody could write down that it was told", async () => {
    const hook = await receiver();
    const instance = watch(hook.url);
    await backlog(900);
    instance.ports.rule = ({ method }) => (method === "markAlertTold" ? "fail" : undefined);
    expect(await flow.sweep()).toMatchObject({ failedSteps: ["alerts"] });
    instance.ports.rule = undefined;
    await flow.advance(31);
    await flow.sweep();
    expect(new Set(hook.received.map(({ id }) => id)).size).toBe(1);
  });

  test("without holding up the sweep when the receiver does not answer, or the URL out to a log (R06)", async () => {
    const hook = await receiver();
    watch(hook.url);
    await backlog(900);
    hook.status = 0;
    const { timeout } = AbortSignal;
    const limit = vi
      .spyOn(AbortSignal, "timeout")
      .mockImplementation((ms) => timeout.call(AbortSignal, ms === 3000 ? 1 : ms));
    onTestFinished(() => limit.mockRestore());
    expect(await flow.sweep()).toMatchObject({ alertsFailed: 1, failedSteps: [] });
    expect(JSON.stringify(flow.logs)).not.toMatch(/marker-token|whsec_|c2VjcmV0/);
  });
});

describe("what is warned of", () => {
  test.each([
    { kind: "dead_letters", measure: "dead_letter", label: "", env: "ALERT_DEAD_LETTERS" },
    {
      kind: "expired_leases",
      measure: "attempt",
      label: "lease_expired",
      env: "ALERT_EXPIRED_LEASES",
    },
    {
      kind: "publish_failures",
      measure: "publish_failure",
      label: "",
      env: "ALERT_PUBLISH_FAILURES",
    },
  ])("$kind of the last hour, from $env on", async ({ kind, measure, label, env }) => {
    const hook = await receiver();
    watch(hook.url, { [env]: "5" });
    await count(measure, label, 4);
    await flow.sweep();
    expect(hook.received).toEqual([]);
    await flow.advance(60);
    await count(measure, label, 1);
    await flow.sweep();
    expect(hook.received).toMatchObject([{ body: { data: { kind, value: 5, threshold: 5 } } }]);
    await flow.advance(3700);
    await flow.sweep();
    expect(hook.received.at(-1)).toMatchObject({ body: { type: "alert.recovered" } });
  });

  test("a type whose probes stay unanswered, and not one that is paused", async () => {
    const hook = await receiver();
    watch(hook.url, { ALERT_BACKLOG_AGE_SECONDS: "0" });
    await backlog(120);
    await flow.query(
      "insert into type_state (job_type, probes, probed_at, next_probe_at) values ('test.echo', 2, now(), now() + interval '1 hour')",
    );
    await flow.query("update type_state set paused_at = now()");
    await flow.sweep();
    expect(hook.received).toEqual([]);
    await flow.query("update type_state set paused_at = null");
    await flow.sweep();
    expect(hook.received).toMatchObject([
      { body: { data: { kind: "probe_unanswered", type: "test.echo" } } },
    ]);
  });

  test("nothing with a threshold of 0, and incidents are only written down without a webhook", async () => {
    const hook = await receiver();
    watch(hook.url, { ALERT_BACKLOG_AGE_SECONDS: "0" });
    await backlog(900);
    await flow.sweep();
    expect(await flow.query("select from alerts")).toEqual([]);
    watch("");
    await flow.query("update jobs set next_run_at = now() - interval '1 hour'");
    expect(await flow.sweep()).toMatchObject({ alertsSent: 0, alertsFailed: 0 });
    expect(await flow.query("select kind, opening_told_at from alerts")).toEqual([
      { kind: "backlog_age", opening_told_at: null },
    ]);
    expect(hook.calls).toBe(0);
  });
});
