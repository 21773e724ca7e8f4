/** Situations of the runbook that concern deployments: their keys, their code, their schedules. */

import { expect } from "vitest";
import * as z from "zod";
import { environmentOf } from "./cli.js";
import { scripted, succeed } from "./flow-jobs.js";
import type { Flow } from "./flow-world.js";
import type { Scenarios } from "./runbook.js";
import { atWorldTime } from "./runbook-outages.js";
import { NIGHTLY, report } from "./schedules.js";
import { CRON_SECRET, KEYS } from "./world.js";

const TYPE = "test.mail";
const NEW_SECRET = "another-secret-00000";
const type = scripted(succeed(), {}, TYPE);

async function worldTime(flow: Flow): Promise<string> {
  return String((await flow.query("select now()::text as now"))[0]?.now);
}

export const DEPLOYMENT_SCENARIOS: Scenarios = {
  async "A bad deployment"(flow, page) {
    const renamed = scripted(succeed(), {}, "test.other");
    const strict = scripted(succeed(), { payload: z.object({ to: z.string() }) }, TYPE);
    flow.start([type, renamed]);
    const jobId = await flow.create(TYPE, { n: 1 });
    const unknown = await flow.create("test.other", {});
    const deployed = await worldTime(flow);
    flow.start([strict]);
    await flow.qstash.deliverDue();
    const faulty = await page.command()({}, { env: { API_KEYS: "ops:boss:short" } });
    expect(faulty).toMatchObject({ code: 1, stdout: expect.stringContaining("API_KEYS") });
    const errors = page.query();
    const found = await errors({ deployed });
    expect(found).toHaveLength(2);
    expect(found).toContainEqual(
      expect.objectContaining({ job_type: TYPE, error_code: "payload_invalid", jobs: "1" }),
    );
    expect(found).toContainEqual(
      expect.objectContaining({ job_type: "test.other", error_code: "unknown_job_type" }),
    );
    flow.start([type, renamed]);
    const rolledBack = await worldTime(flow);
    expect((await page.command()({ REASON: "rolled back" })).stdout).toContain("1 replayed");
    await flow.runUntilIdle(120);
    expect(await flow.job(jobId)).toMatchObject({ status: "completed", attempts: 2 });
    expect(await flow.job(unknown)).toMatchObject({ status: "completed", attempts: 2 });
    expect(await errors({ deployed: rolledBack })).toEqual([]);
  },

  async "Key rotation: QStash"(flow, page) {
    flow.start([type]);
    await flow.sweep();
    const before = environmentOf(flow);
    flow.qstash.rotateKeys();
    const jobId = await flow.create(TYPE, {});
    await flow.qstash.deliverDue();
    expect(await flow.job(jobId)).toMatchObject({ status: "completed" });
    const doctor = page.command();
    const rotated = await doctor({}, await atWorldTime(flow, { env: before }));
    expect(rotated).toMatchObject({ code: 0, stdout: expect.stringContaining("were rotated") });
    flow.start([type]);
    const followed = await doctor({}, await atWorldTime(flow));
    expect(followed.stdout).toContain("are those of the token's account");
    flow.qstash.rotateKeys();
    flow.qstash.rotateKeys();
    const missed = await doctor({}, await atWorldTime(flow, { env: before }));
    expect(missed).toMatchObject({ code: 1, stdout: expect.stringContaining("are not those of") });
  },

  async "Key rotation: API"(flow, page) {
    const old = `acme:write:${KEYS.acme}`;
    const added = `acme:write:${NEW_SECRET}`;
    flow.start([type], { env: { API_KEYS: `${old},${added}` } });
    const jobId = await flow.create(TYPE, {});
    const ask = page.command();
    expect((await ask({ NEW_KEY: NEW_SECRET })).stdout).toContain(jobId);
    flow.start([type], { env: { API_KEYS: added } });
    expect((await ask({ NEW_KEY: NEW_SECRET })).stdout).toContain(jobId);
    const refused = await page.command()({ OLD_KEY: KEYS.acme });
    expect(refused).toMatchObject({ code: 1, stderr: expect.stringContaining("unauthorized") });
  },

  async "Key rotation: cron"(flow, page) {
    flow.start([type], { env: { CRON_SECRET: NEW_SECRET } });
    const sweep = page.command();
    expect(await sweep({}, { env: { CRON_SECRET: NEW_SECRET } })).toMatchObject({ code: 0 });
    const refused = await page.command()({ OLD_SECRET: CRON_SECRET });
    expect(JSON.parse(refused.stdout)).toMatchObject({ code: "unauthorized" });
  },

  async "A recurring job did not run"(flow, page) {
    flow.start([report]);
    const body = { ...NIGHTLY, cron: "0 * * * *", timeZone: "UTC" };
    expect((await flow.request("POST", "/api/schedules", { body })).status).toBe(201);
    await flow.advance(10 * 3600);
    await flow.sweep();
    expect(await page.query()()).toMatchObject([
      { name: "nightly", enabled: true, last_missed: { count: expect.any(Number) } },
    ]);
    const slots = page.query();
    const planned = await slots({ schedule: "nightly" });
    const run = await page.command()({ SCHEDULE: "nightly" });
    const [jobId = ""] = run.stdout.split(" ");
    await flow.qstash.deliverDue();
    expect(await flow.job(jobId)).toMatchObject({ status: "completed", payload: { of: "sales" } });
    await flow.runUntilIdle(3600);
    const ran = await slots({ schedule: "nightly" });
    // Hourly slots in the reach of two intervals: there is one at times, and none at others.
    expect(ran.map(({ id }) => id)).toEqual(planned.map(({ id }) => id));
    for (const { status } of ran) expect(status).toBe("completed");
  },
};
