import { afterAll, beforeAll, describe, expect, test } from "vitest";
import * as z from "zod";
import { compose } from "../../src/compose.js";
import { readConfig } from "../../src/config.js";
import { defineJob, FatalError, type JobDefinition } from "../../src/core/define-job.js";
import type { Json } from "../../src/core/job.js";
import { createWorld, KEYS, PUBLIC_URL, type World, worldForTest } from "../support/world.js";

const HOUR = 3600;

const scripted = defineJob({
  type: "test.scripted",
  payload: z.object({ end: z.string() }),
  run: ({ payload: { end }, snooze }) => {
    if (end === "dead_letter") throw new FatalError("as asked");
    if (end === "failed") throw new Error("as asked");
    if (end === "snoozed") snooze(600);
    return { ok: true };
  },
});

let world: World;
beforeAll(async () => {
  world = await createWorld({ jobs: [scripted], env: { IDEMPOTENCY_TTL_HOURS: "2" } });
});
afterAll(() => world.close());

const job = (end: string): Json => ({ type: scripted.type, payload: { end } });
const ENTRIES = [
  { path: "/api/jobs", bodyOf: (end: string): Json => job(end) },
  { path: "/api/jobs/batch", bodyOf: (end: string): Json => ({ jobs: [job(end), job(end)] }) },
];

async function post(to: World, path: string, idempotencyKey: string, body: Json) {
  const response = await to.request("POST", path, { idempotencyKey, body });
  return {
    status: response.status,
    isReplay: response.headers.get("idempotent-replayed") === "true",
    headers: [...response.headers].filter(([name]) => !/^(x-request-id|idempotent)/.test(name)),
    text: await response.text(),
  };
}

const idsIn = (text: string): string[] => [
  ...new Set(text.match(/[0-9a-f]{8}-[0-9a-f-]{27}/g) ?? []),
];

let lastKey = 0;
const freshKey = (): string => `lifetime-${++lastKey}`;

describe.each(ENTRIES)("the stored response of POST $path", ({ path, bodyOf }) => {
  test.each([
    ["completed", "completed"],
    ["dead_letter", "dead_letter"],
    ["failed", "failed"],
    ["snoozed", "queued"],
    ["cancelled", "cancelled"],
    ["replayed", "queued"],
  ])("is given byte for byte when the job is %s by then (A13)", async (end, status) => {
    const key = freshKey();
    const first = await post(world, path, key, bodyOf(end));
    const ids = idsIn(first.text);
    const verbs = end === "cancelled" ? ["cancel"] : end === "replayed" ? ["cancel", "replay"] : [];
    for (const id of ids) {
      for (const verb of verbs) await world.request("POST", `/api/jobs/${id}/${verb}`);
    }
    if (verbs.length === 0) await world.qstash.deliverDue();
    for (const id of ids) expect(await world.job(id)).toMatchObject({ status });
    const { messages } = world.qstash.counts();
    const rows = await Promise.all(ids.map(world.row));

    const again = await post(world, path, key, bodyOf(end));
    expect(again).toEqual({ ...first, isReplay: true });
    expect(world.qstash.counts().messages).toBe(messages);
    expect(await Promise.all(ids.map(world.row))).toEqual(rows);
    await world.qstash.deliverDue();
  });

  test.each(["not purged", "purged"])(
    "lives for its time, which replays do not extend, and then counts as absent: %s (A14)",
    async (purged) => {
      const key = freshKey();
      const first = await post(world, path, key, bodyOf("completed"));
      await world.advance(2 * HOUR - 60);
      if (purged === "purged") await world.sweep();
      expect(await post(world, path, key, bodyOf("completed"))).toEqual({
        ...first,
        isReplay: true,
      });
      await world.advance(120);
      if (purged === "purged") {
        expect(await world.sweep()).toMatchObject({ failedSteps: [] });
        const { rows } = await world.database.pg.query(
          "select 1 from idempotency_records where idempotency_key = $1",
          [key],
        );
        expect(rows).toEqual([]);
      }
      // After its end the key is free for any request.
      const second = await post(world, path, key, bodyOf("failed"));
      expect([second.status, second.isReplay]).toEqual([202, false]);
      expect(idsIn(second.text).filter((id) => first.text.includes(id))).toEqual([]);
      expect(await post(world, path, key, bodyOf("failed"))).toEqual({ ...second, isReplay: true });
      await world.advance(2 * HOUR - 60);
      expect((await post(world, path, key, bodyOf("failed"))).isReplay).toBe(true);
    },
  );

  test("outlives its jobs where it is kept for longer than they are", async () => {
    const keeping = await worldForTest({
      jobs: [scripted],
      env: { IDEMPOTENCY_TTL_HOURS: "96", RETENTION_DAYS: "1" },
    });
    const first = await post(keeping, path, "kept", bodyOf("completed"));
    await keeping.qstash.deliverDue();
    await keeping.advance(48 * HOUR);
    expect(await keeping.sweep()).toMatchObject({ jobsPruned: idsIn(first.text).length });
    expect(await post(keeping, path, "kept", bodyOf("completed"))).toEqual({
      ...first,
      isReplay: true,
    });
    for (const id of idsIn(first.text)) {
      expect((await keeping.request("GET", `/api/jobs/${id}`)).status).toBe(404);
    }
  });
});

test("a key is kept for 24 hours where nothing else is set (A14)", async () => {
  const plain = await worldForTest({ jobs: [scripted] });
  const first = await post(plain, "/api/jobs", "day", job("completed"));
  await plain.advance(24 * HOUR - 60);
  expect(await post(plain, "/api/jobs", "day", job("completed"))).toEqual({
    ...first,
    isReplay: true,
  });
  await plain.advance(120);
  expect((await post(plain, "/api/jobs", "day", job("completed"))).isReplay).toBe(false);
});

describe("after another deployment", () => {
  /** An application with other job types on the same database. */
  function deploy(jobs: JobDefinition[], publicUrl: string) {
    const { current, next } = world.qstash.keys();
    const config = readConfig(
      {
        DATABASE_URL: world.database.url,
        DATABASE_HTTP_URL: world.database.neon.endpoint,
        QSTASH_URL: world.qstash.url,
        QSTASH_TOKEN: world.qstash.token,
        QSTASH_CURRENT_SIGNING_KEY: current,
        QSTASH_NEXT_SIGNING_KEY: next,
        PUBLIC_URL: publicUrl,
        API_KEYS: `acme:write:${KEYS.acme}`,
      },
      "node",
    );
    return compose(config, new Map(jobs.map((each) => [each.type, each])), {
      outboundFetch: fetch,
      timers: world.instance.timers,
      random: Math.random,
      writeLog: () => {},
    });
  }

  const NEW_URL = "http://moved.test";
  const other = defineJob({ type: "test.other", payload: z.unknown(), run: () => {} });
  const tightened = defineJob({
    type: scripted.type,
    payload: z.object({ end: z.literal("never") }),
    run: () => {},
  });

  test.each(ENTRIES)(
    "POST $path replays what was accepted before its schema was tightened, its type removed, or its address changed",
    async ({ path, bodyOf }) => {
      const idempotencyKey = freshKey();
      const first = await post(world, path, idempotencyKey, bodyOf("completed"));
      for (const jobs of [[tightened], [other], [scripted]]) {
        const app = deploy(jobs, NEW_URL);
        const send = (key: string, end: string) =>
          app.fetch(
            new Request(`${NEW_URL}${path}`, {
              method: "POST",
              headers: {
                authorization: `Bearer ${KEYS.acme}`,
                "content-type": "application/json",
                "idempotency-key": key,
              },
              body: JSON.stringify(bodyOf(end)),
            }),
          );
        const replayed = await send(idempotencyKey, "completed");
        expect([replayed.status, await replayed.text()]).toEqual([202, first.text]);
        expect(replayed.headers.get("idempotent-replayed")).toBe("true");
        expect(replayed.headers.get("location")).toBe(
          path === "/api/jobs" ? `${PUBLIC_URL}/api/jobs/${idsIn(first.text)[0]}` : null,
        );
        const isAccepted = jobs[0] === scripted;
        // Only the very same request is excused; a new one is judged by today's schema.
        expect((await send(idempotencyKey, "failed")).status).toBe(isAccepted ? 409 : 422);
        expect((await send(freshKey(), "completed")).status).toBe(isAccepted ? 202 : 422);
      }
    },
  );
});
