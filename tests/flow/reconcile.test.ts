import { beforeEach, describe, expect, test, vi } from "vitest";
import { cli, environmentOf } from "../support/cli.js";
import {
  createAndDie,
  deadLetters,
  failDeliveries,
  setUpReconcile,
  TYPE,
} from "../support/reconcile.js";
import { PUBLIC_URL } from "../support/world.js";

const NEIGHBOUR = "http://neighbour.test";

beforeEach(() => {
  // QStash's client tells the console of each refusal.
  vi.spyOn(console, "error").mockImplementation(() => {});
});

describe("dead letters", () => {
  test("a job whose message QStash gave up gets a new one from the next sweep; nobody else's dead letter is touched", async () => {
    const { world, client, reconcile } = await setUpReconcile();
    const jobId = await world.create(TYPE, {});
    await client.publishJSON({ url: `${NEIGHBOUR}/api/process`, body: { jobId }, retries: 0 });
    await failDeliveries(world);

    const found = await reconcile();
    expect(found).toMatchObject({
      code: 1,
      differences: [{ kind: "dead_message", jobId, isRepaired: false, isRepairable: true }],
    });
    expect(await deadLetters(client)).toHaveLength(2);
    expect(await world.row(jobId)).toMatchObject({ trigger_seq: 1 });

    const repaired = await reconcile("--repair");
    expect(repaired).toMatchObject({ code: 0, differences: [{ jobId, isRepaired: true }] });
    expect(await world.row(jobId)).toMatchObject({ trigger_seq: 2, triggered_at: null });
    expect(await deadLetters(client)).toMatchObject([{ url: `${NEIGHBOUR}/api/process` }]);
    expect(world.qstash.pending()).toEqual([]);

    expect(await reconcile("--repair")).toMatchObject({ code: 0, differences: [] });
    expect(await world.sweep()).toMatchObject({ published: 1, vanished: 0 });
    await world.qstash.deliverDue();
    expect(await world.job(jobId)).toMatchObject({ status: "completed" });
    expect(await reconcile()).toMatchObject({ code: 0, differences: [] });
  });

  test("of ended jobs and of those with a newer message are deleted; a running job's stays", async () => {
    const { world, client, reconcile } = await setUpReconcile();
    const [ended, renewed, running] = [
      await world.create(TYPE, { n: 1 }),
      await world.create(TYPE, { n: 2 }),
      await world.create(TYPE, { n: 3 }),
    ];
    await failDeliveries(world);
    await world.request("POST", `/api/jobs/${ended}/cancel`);
    await world.database.pg.query(
      "update jobs set trigger_seq = 2, triggered_at = now() where id = $1",
      [renewed],
    );
    await world.database.pg.query(
      `update jobs set status = 'processing', attempts = 1, lock_token = gen_random_uuid(),
         lock_until = now() + interval '1 minute', next_run_at = null, next_trigger_at = null,
         started_at = now(), attempt_started_at = now() where id = $1`,
      [running],
    );
    const found = await reconcile("--repair");
    expect(found.code).toBe(0);
    expect(new Set(found.differences.map(({ jobId }) => jobId))).toEqual(new Set([ended, renewed]));
    expect(new Set(found.kinds)).toEqual(new Set(["spent_dead_letter"]));
    expect(await deadLetters(client)).toMatchObject([{ body: expect.stringContaining(running) }]);
  });

  test("of a job that is not there, and none of our messages, are left for a human", async () => {
    const { world, client, reconcile } = await setUpReconcile({ RETENTION_DAYS: "1" });
    const jobId = await world.create(TYPE, {});
    await client.publishJSON({ url: `${PUBLIC_URL}/api/process`, body: { hello: 1 }, retries: 0 });
    await failDeliveries(world);
    await world.database.pg.query("delete from jobs where id = $1", [jobId]);
    const found = await reconcile("--repair");
    expect(found).toMatchObject({ code: 1 });
    expect(new Set(found.kinds)).toEqual(new Set(["unknown_job", "foreign_message"]));
    expect(found.differences.some(({ isRepaired }) => isRepaired)).toBe(false);
    expect(await deadLetters(client)).toHaveLength(2);
    // Later retention may have taken it, and nobody can tell.
    await world.advance(86_400);
    expect((await reconcile()).kinds).toEqual(["foreign_message"]);
  });

  test("more than a page of them are all read and made good", async () => {
    const { world, client, reconcile } = await setUpReconcile();
    const jobs = Array.from({ length: 120 }, (_, n) => ({ type: TYPE, payload: { n } }));
    await world.request("POST", "/api/jobs/batch", { body: { jobs }, idempotencyKey: "many" });
    await failDeliveries(world);
    expect((await reconcile("--repair")).differences).toHaveLength(120);
    expect(await deadLetters(client)).toEqual([]);
    expect(await reconcile()).toMatchObject({ code: 0, differences: [] });
  });
});

describe("due jobs", () => {
  test("without a message are found, whether it never left, was cancelled, or was given up and deleted", async () => {
    const { world, client, reconcile } = await setUpReconcile();
    const neverLeft = await createAndDie(world);
    const cancelled = await world.create(TYPE, { n: 1 });
    await client.messages.cancel(world.qstash.pending().map(({ messageId }) => messageId));
    const deleted = await world.create(TYPE, { n: 2 });
    await failDeliveries(world);
    await client.dlq.delete({ filter: { label: TYPE } });

    const found = await reconcile();
    expect(new Set(found.kinds)).toEqual(new Set(["lost_message"]));
    const lost = new Set([neverLeft, cancelled, deleted]);
    expect(new Set(found.differences.map(({ jobId }) => jobId))).toEqual(lost);
    expect(found).toMatchObject({ code: 1, unjudged: [] });

    expect(await reconcile("--repair")).toMatchObject({ code: 0 });
    expect(await reconcile()).toMatchObject({ code: 0, differences: [] });
    await world.sweep();
    await world.qstash.deliverDue();
    for (const jobId of lost) expect(await world.job(jobId)).toMatchObject({ status: "completed" });
  });

  test("are no difference while their message may come, or has run another job in its place", async () => {
    const { world, reconcile } = await setUpReconcile();
    // Published this moment by a process that may still be at it.
    await createAndDie(world);
    expect(await reconcile()).toMatchObject({ code: 0, differences: [] });
    await world.database.pg.query("truncate jobs");
    // The plain job's message runs the urgent one, whose own message is still to come.
    const plain = await world.create(TYPE, { n: 1 });
    const [message] = world.qstash.pending();
    await world.create(TYPE, { n: 2 }, { priority: 9 });
    await world.qstash.deliver(message?.messageId ?? "");
    await world.create(TYPE, { n: 3 }, { delaySeconds: 3600 });
    await world.create("test.heavy", {});
    await world.advance(600);
    expect(await world.row(plain)).toMatchObject({ status: "queued" });
    expect(await reconcile()).toMatchObject({ code: 0, differences: [], unjudged: [] });
    // Nor are jobs of a type that an operator holds back.
    await createAndDie(world);
    await cli(world, ["types", "pause", TYPE]);
    await world.advance(600);
    expect(await reconcile()).toMatchObject({ code: 0, differences: [] });
  });

  test("are judged although somebody sent the processor what is no message of ours", async () => {
    const { world, client, reconcile } = await setUpReconcile();
    const jobId = await createAndDie(world);
    await client.publish({ url: `${PUBLIC_URL}/api/process`, body: "are you there?", retries: 0 });
    await world.qstash.deliverDue();
    await world.advance(600);
    const found = await reconcile();
    expect(found.unjudged).toEqual([]);
    expect(found.differences).toContainEqual(
      expect.objectContaining({ kind: "lost_message", jobId }),
    );
  });

  test("are not judged where QStash's log does not show them", async () => {
    const { world, client, reconcile } = await setUpReconcile();
    await createAndDie(world);
    await world.advance(600);
    const redact = { body: true } as const;
    await client.publishJSON({ url: `${PUBLIC_URL}/api/process`, body: {}, redact, delay: "1h" });
    expect(await reconcile()).toMatchObject({
      code: 0,
      differences: [],
      unjudged: [expect.stringContaining("hides the bodies")],
    });
    await world.advance(2 * 86_400);
    expect((await reconcile()).unjudged).toEqual([expect.stringContaining("before QStash's log")]);
  });

  test("that went on after the comparison are not touched by its repair", async () => {
    const { world } = await setUpReconcile();
    const jobIds = [await createAndDie(world), await createAndDie(world)];
    await world.advance(600);
    const reconciler = world.reconciler(environmentOf(world), () => {});
    const comparison = await reconciler.compare();
    expect(comparison.differences).toHaveLength(2);
    await world.request("POST", `/api/jobs/${jobIds[0]}/cancel`);
    const before = await world.row(jobIds[0] ?? "");
    expect(await reconciler.repair(comparison)).toMatchObject([{ jobId: jobIds[1] }]);
    expect(await world.row(jobIds[0] ?? "")).toEqual(before);
    // The repeat of a repair whose answer was lost.
    expect(await reconciler.repair(comparison)).toEqual([]);
    expect(await world.row(jobIds[1] ?? "")).toMatchObject({ trigger_seq: 2 });
  });

  test("that no sweep publishes are published by a sweep of the repair", async () => {
    const { world, reconcile } = await setUpReconcile({ SWEEP_INTERVAL_SECONDS: "900" });
    await cli(world, ["setup", "--every", "15m"]);
    world.qstash.refusePublishes({ status: 503 });
    const jobId = await world.create(TYPE, {});
    world.qstash.refusePublishes(null);
    // Sweeps come, and one of them will publish it.
    expect(await reconcile()).toMatchObject({ code: 0, differences: [] });
    await world.advance(4 * 900);
    expect((await reconcile()).kinds).toEqual(["not_published"]);
    expect(await reconcile("--repair")).toMatchObject({ code: 0 });
    expect(await reconcile()).toMatchObject({ code: 0, differences: [] });
    const sent = world.qstash.pending().filter(({ body }) => body.includes(jobId));
    expect(sent).toHaveLength(1);
  });
});
