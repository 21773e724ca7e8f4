import { describe, expect, test } from "vitest";
import { readConfig } from "../../src/config.js";
import { type HandMade, handMade, send } from "../support/flow-delivery.js";
import { scripted, succeed, TYPE } from "../support/flow-jobs.js";
import { environment, setUpFlow } from "../support/flow-world.js";
import { PUBLIC_URL } from "../support/world.js";

const flow = setUpFlow();
const job = scripted(succeed());

const statusOf = async (given: HandMade) => (await send(flow, given)).status;

describe("signing keys", () => {
  test("the current and the next key are accepted, a retired and a foreign one are not (G03)", async () => {
    flow.qstash.rotateKeys();
    const retired = flow.qstash.keys().current;
    const { current, next } = flow.qstash.rotateKeys();
    flow.start([job]);
    const jobId = await flow.create(TYPE, {});
    expect(await statusOf({ jobId, key: retired })).toBe(401);
    expect(await statusOf({ jobId, key: "sig_0000000000000000000000000000" })).toBe(401);
    // The public key of the SDK's dev mode.
    expect(await statusOf({ jobId, key: "sig_7kYjw48mhY7kAjqNGcy6cr29RJ6r" })).toBe(401);
    expect(await flow.job(jobId)).toMatchObject({ status: "queued", attempts: 0 });
    expect(await statusOf({ jobId, key: next })).toBe(200);
    expect(await flow.job(jobId)).toMatchObject({ status: "completed" });
    const second = await flow.create(TYPE, {});
    expect(await statusOf({ jobId: second, key: current })).toBe(200);
  });

  test("rotated once under messages in flight: every one is accepted without a deployment (G03)", async () => {
    flow.start([job]);
    const early = await flow.create(TYPE, {}, { delaySeconds: 60 });
    const due = await flow.create(TYPE, {});
    flow.qstash.rotateKeys();
    await flow.runUntilIdle();
    for (const jobId of [early, due]) {
      expect(await flow.job(jobId)).toMatchObject({ status: "completed", attempts: 1 });
    }
  });

  test("rotated twice: refused until the deployment has the new keys, then nothing was lost (G03)", async () => {
    flow.start([job]);
    const jobId = await flow.create(TYPE, {});
    flow.qstash.rotateKeys();
    flow.qstash.rotateKeys();
    expect(await flow.deliverOne()).toMatchObject({ status: 401, outcome: "retry" });
    expect(await flow.job(jobId)).toMatchObject({ status: "queued", attempts: 0 });
    // A new deployment reads the keys of this moment.
    flow.start([job]);
    await flow.runUntilIdle();
    expect(await flow.job(jobId)).toMatchObject({ status: "completed", attempts: 1 });
  });

  test("rotated twice for longer than QStash retries: a sweep of the new deployment finds the job (G03)", async () => {
    flow.start([job]);
    const jobId = await flow.create(TYPE, {});
    flow.qstash.rotateKeys();
    flow.qstash.rotateKeys();
    await flow.runUntilIdle();
    expect(flow.qstash.pending()).toEqual([]);
    expect(await flow.job(jobId)).toMatchObject({ status: "queued", attempts: 0 });
    flow.start([job]);
    await flow.sweep();
    await flow.runUntilIdle();
    expect(await flow.job(jobId)).toMatchObject({ status: "completed", attempts: 1 });
  });

  test("a token signed with an empty key is refused (G08)", async () => {
    flow.start([job]);
    const jobId = await flow.create(TYPE, {});
    for (const key of ["", "undefined", "null"]) {
      expect(await statusOf({ jobId, key })).toBe(401);
    }
    expect(await flow.job(jobId)).toMatchObject({ status: "queued", attempts: 0 });
  });

  test.each([
    [
      "both keys unset",
      { QSTASH_CURRENT_SIGNING_KEY: undefined, QSTASH_NEXT_SIGNING_KEY: undefined },
    ],
    ["both keys empty", { QSTASH_CURRENT_SIGNING_KEY: "", QSTASH_NEXT_SIGNING_KEY: "" }],
    ["both keys blank", { QSTASH_CURRENT_SIGNING_KEY: "  ", QSTASH_NEXT_SIGNING_KEY: "\t" }],
    ["the current key unset", { QSTASH_CURRENT_SIGNING_KEY: undefined }],
    ["the next key unset", { QSTASH_NEXT_SIGNING_KEY: undefined }],
    ["a key too short to be one", { QSTASH_NEXT_SIGNING_KEY: "undefined" }],
  ])("%s: refuses to start and names the variable (G08)", (_, changed) => {
    const env = { ...environment(flow), ...changed };
    for (const platform of ["vercel", "cloudflare", "node"] as const) {
      expect(() => readConfig(env, platform)).toThrow(Object.keys(changed)[0]);
    }
  });

  test.each(["true", "1", "false", "http://127.0.0.1:8080"])(
    "the SDK's dev mode set to %j refuses to start (G08)",
    (value) => {
      expect(() => readConfig({ ...environment(flow), QSTASH_DEV: value }, "node")).toThrow(
        "QSTASH_DEV",
      );
    },
  );

  test("dev mode in the process's own environment opens nothing (G08)", async () => {
    flow.start([job]);
    const jobId = await flow.create(TYPE, {});
    process.env.QSTASH_DEV = "true";
    try {
      flow.start([job]);
      expect(await statusOf({ jobId, key: "sig_7kYjw48mhY7kAjqNGcy6cr29RJ6r" })).toBe(401);
      expect(await statusOf({ jobId })).toBe(200);
    } finally {
      delete process.env.QSTASH_DEV;
    }
  });
});

describe("the public address changes", () => {
  const OLD = "http://old.antrean.test";
  const oldUrl = `${OLD}/api/process`;

  test("messages of the old address are served while PUBLIC_URL_PREVIOUS names it", async () => {
    flow.start([job], { env: { PUBLIC_URL: OLD } });
    const jobId = await flow.create(TYPE, {}, { delaySeconds: 60 });
    expect(flow.qstash.pending()).toMatchObject([{ url: oldUrl }]);
    flow.start([job], { env: { PUBLIC_URL_PREVIOUS: `${OLD}/` } });
    await flow.runUntilIdle();
    expect(await flow.job(jobId)).toMatchObject({ status: "completed", attempts: 1 });
    const fresh = await flow.create(TYPE, {});
    expect(flow.qstash.pending()).toMatchObject([{ url: `${PUBLIC_URL}/api/process` }]);
    expect(await statusOf({ jobId: fresh, url: oldUrl })).toBe(200);
  });

  test("without it they are refused, and a sweep publishes the job to the new address", async () => {
    flow.start([job], { env: { PUBLIC_URL: OLD } });
    const jobId = await flow.create(TYPE, {});
    flow.start([job]);
    expect(await flow.deliverOne()).toMatchObject({ status: 401, url: oldUrl });
    await flow.advance(61);
    expect(await flow.sweep()).toMatchObject({ probes: 1 });
    await flow.runUntilIdle();
    expect(await flow.job(jobId)).toMatchObject({ status: "completed", attempts: 1 });
  });
});

describe("a signed delivery that is not one of our messages", () => {
  const id = "00000000-0000-4000-8000-000000000001";
  test.each([
    ["empty", ""],
    ["not JSON", "{"],
    ["a byte order mark", `\ufeff{"v":1,"jobId":"${id}","type":"test.script","seq":1}`],
    ["null", "null"],
    ["a list", "[]"],
    ["another version", `{"v":2,"jobId":"${id}","type":"test.script","seq":1}`],
    ["no job", '{"v":1,"type":"test.script","seq":1}'],
    ["an id that is none", '{"v":1,"jobId":"1","type":"test.script","seq":1}'],
    ["a type that is none", `{"v":1,"jobId":"${id}","type":"Test Script","seq":1}`],
    ["a negative seq", `{"v":1,"jobId":"${id}","type":"test.script","seq":-1}`],
    ["a broken seq", `{"v":1,"jobId":"${id}","type":"test.script","seq":1.5}`],
    ["a seq beyond its column", `{"v":1,"jobId":"${id}","type":"test.script","seq":2147483648}`],
    ["a seq as text", `{"v":1,"jobId":"${id}","type":"test.script","seq":"1"}`],
  ])("%s: given up for good, with a reason", async (_, body) => {
    flow.start([job]);
    flow.database.neon.requests = 0;
    const answer = await send(flow, { body });
    expect(answer).toMatchObject({ status: 489, body: { code: "delivery_malformed" } });
    expect(answer.headers.get("upstash-nonretryable-error")).toBe("true");
    expect(flow.database.neon.requests).toBe(0);
  });

  test("larger than any of ours is refused before its signature is looked at", async () => {
    flow.start([job]);
    const answer = await send(flow, { body: `{"v":1,"x":"${"x".repeat(17_000)}"}` });
    expect(answer).toMatchObject({ status: 413, body: { code: "payload_too_large" } });
  });

  test("other methods on its path are refused", async () => {
    const instance = flow.start([job]);
    const { headers, url } = handMade(flow, {});
    for (const method of ["GET", "PUT", "DELETE"]) {
      const response = await instance.fetch(new Request(url, { method, headers }));
      expect(response.status).toBe(405);
      expect(response.headers.get("allow")).toContain("POST");
    }
  });
});
