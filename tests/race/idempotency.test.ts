import { randomUUID } from "node:crypto";
import { describe, expect, test } from "vitest";
import { setUpRace } from "../support/race.js";
import { createCall, send } from "../support/race-requests.js";

const race = setUpRace();
const DUPLICATES = 6;

const duplicatesOf = (idempotencyKey: string, requestHash = "hash") =>
  Array.from({ length: DUPLICATES }, () => createCall([{}], { idempotencyKey, requestHash }));

describe("creates under one idempotency key", () => {
  test("six duplicates wait for the first, and replay its response byte for byte", async () => {
    const idempotencyKey = randomUUID();
    const first = await race.begin();
    const created = await send(first.store, createCall([{}], { idempotencyKey }));
    const duplicates = duplicatesOf(idempotencyKey).map((call) => send(race.store, call));
    await race.waiting(DUPLICATES);
    await first.commit();

    expect(created).toMatchObject({ kind: "created", wakeups: [{ seq: 1 }] });
    const { status, body } = created as { status: number; body: string };
    for (const duplicate of await Promise.all(duplicates)) {
      expect(duplicate).toEqual({ kind: "replayed", status, body });
    }
    expect(await race.count("jobs")).toBe(1);
  });

  test("when the first is rolled back, one of six duplicates creates and five replay it", async () => {
    const idempotencyKey = randomUUID();
    const first = await race.begin();
    await send(first.store, createCall([{}], { idempotencyKey }));
    const duplicates = duplicatesOf(idempotencyKey).map((call) => send(race.store, call));
    await race.waiting(DUPLICATES);
    await first.rollback();

    const outcomes = await Promise.all(duplicates);
    expect(outcomes.map(({ kind }) => kind).sort()).toEqual([
      "created",
      ...Array.from({ length: DUPLICATES - 1 }, () => "replayed"),
    ]);
    expect(new Set(outcomes.map((outcome) => ("body" in outcome ? outcome.body : ""))).size).toBe(
      1,
    );
    expect(await race.count("jobs")).toBe(1);
    expect(await race.count("idempotency_records")).toBe(1);
  });

  test.each([
    { end: "commit" as const, kind: "key_reused", jobs: 1 },
    { end: "rollback" as const, kind: "created", jobs: 1 },
  ])(
    "another request with the key waits for the first ($end), and is $kind",
    async ({ end, kind, jobs }) => {
      const idempotencyKey = randomUUID();
      const first = await race.begin();
      await send(first.store, createCall([{}], { idempotencyKey }));
      const other = send(race.store, createCall([{}], { idempotencyKey, requestHash: "other" }));
      await race.waiting(1);
      await first[end]();

      expect(await other).toMatchObject({ kind });
      expect(await race.count("jobs")).toBe(jobs);
    },
  );

  test("of two requests that fight for one key, each caller hears the same winner", async () => {
    const idempotencyKey = randomUUID();
    const calls = [...duplicatesOf(idempotencyKey, "one"), ...duplicatesOf(idempotencyKey, "two")];
    const outcomes = await Promise.all(calls.map((call) => send(race.store, call)));
    const count = (kind: string) => outcomes.filter((outcome) => outcome.kind === kind).length;

    expect([count("created"), count("replayed"), count("key_reused")]).toEqual([
      1,
      DUPLICATES - 1,
      DUPLICATES,
    ]);
    expect(await race.count("jobs")).toBe(1);
  });

  test("other tenants and operations do not wait for a key, and have jobs of their own", async () => {
    const idempotencyKey = randomUUID();
    const first = await race.begin();
    await send(first.store, createCall([{}], { idempotencyKey }));

    for (const scope of [{ tenant: "other" }, { operation: "POST /api/jobs/batch" }]) {
      const outcome = await send(race.store, createCall([{}], { idempotencyKey, ...scope }));
      expect(outcome).toMatchObject({ kind: "created" });
    }
    await first.commit();
    expect(await race.count("jobs")).toBe(3);
  });

  test("a create whose answer was lost is answered as created, with its message", async () => {
    race.database.neon.setFault({ action: "lose-answer", nth: 1 });
    const call = createCall([{}, {}]);

    const outcome = await send(race.store, call);
    expect(outcome).toMatchObject({
      kind: "created",
      wakeups: call.jobs.map(({ id }) => ({ jobId: id })),
    });
    expect(await race.count("jobs")).toBe(2);
  });

  test("a create that overtakes its own first try waits, and is answered as created", async () => {
    const call = createCall();
    const first = await race.begin();
    await send(first.store, call);
    const second = send(race.store, call);
    await race.waiting(1);
    await first.commit();

    expect(await second).toMatchObject({ kind: "created", wakeups: [{ jobId: call.jobs[0]?.id }] });
    expect(await race.count("jobs")).toBe(1);
  });
});

describe("keys that expire", () => {
  test("of six duplicates of an expired key one creates anew, the others replay that", async () => {
    const idempotencyKey = randomUUID();
    const old = await send(race.store, createCall([{}], { idempotencyKey, ttlHours: 1 }));
    await race.database.advance(3601);
    const calls = duplicatesOf(idempotencyKey);
    const outcomes = await Promise.all(calls.map((call) => send(race.store, call)));

    expect(outcomes.filter(({ kind }) => kind === "created")).toHaveLength(1);
    expect(outcomes.filter(({ kind }) => kind === "replayed")).toHaveLength(DUPLICATES - 1);
    expect(outcomes).not.toContainEqual(old);
    expect(await race.count("jobs")).toBe(2);
  });

  test("a purge skips a record whose response is being replayed", async () => {
    const idempotencyKey = randomUUID();
    await send(race.store, createCall([{}], { idempotencyKey, ttlHours: 1 }));
    const held = await race.begin();
    expect(await send(held.store, createCall([{}], { idempotencyKey }))).toMatchObject({
      kind: "replayed",
    });
    await race.database.advance(3601);

    expect(await race.store.purgeIdempotencyRecords(10)).toBe(0);
    await held.commit();
    expect(await race.store.purgeIdempotencyRecords(10)).toBe(1);
  });

  test("a purge that waits to begin does not delete a record that was renewed meanwhile", async () => {
    const idempotencyKey = randomUUID();
    await send(race.store, createCall([{}], { idempotencyKey, ttlHours: 1 }));
    await race.database.advance(3601);
    const renewing = await race.begin();
    await send(renewing.store, createCall([{}], { idempotencyKey }));

    expect(await race.store.purgeIdempotencyRecords(10)).toBe(0);
    await renewing.commit();

    expect(await race.store.purgeIdempotencyRecords(10)).toBe(0);
    expect(await race.count("idempotency_records where response_json is not null")).toBe(1);
  });

  test.each([
    { end: "commit" as const, jobs: 2 },
    { end: "rollback" as const, jobs: 2 },
  ])(
    "a create waits for the purge of its expired key ($end), and creates anew",
    async ({ end, jobs }) => {
      const idempotencyKey = randomUUID();
      await send(race.store, createCall([{}], { idempotencyKey, ttlHours: 1 }));
      await race.database.advance(3601);
      const purge = await race.begin();
      expect(await purge.store.purgeIdempotencyRecords(10)).toBe(1);
      const created = send(race.store, createCall([{}], { idempotencyKey }));
      await race.waiting(1);
      await purge[end]();

      expect(await created).toMatchObject({ kind: "created" });
      expect(await race.count("jobs")).toBe(jobs);
      expect(await race.count("idempotency_records")).toBe(1);
    },
  );

  test("fifty requests on expiring keys beside purges: each is a replay or a new job with its record", async () => {
    const keys = Array.from({ length: 5 }, () => randomUUID());
    const call = (n: number) => createCall([{}], { idempotencyKey: keys[n % 5], ttlHours: 1 });
    await Promise.all(keys.map((_, n) => send(race.store, call(n))));
    const outcomes = Array.from({ length: 50 }, async (_, n) => {
      if (n % 10 === 0) await race.database.advance(1801);
      if (n % 5 === 0) await race.store.purgeIdempotencyRecords(3);
      return send(race.store, call(n));
    });
    const answered = await Promise.all(outcomes);
    const created = answered.filter(({ kind }) => kind === "created").length;

    expect(answered.filter(({ kind }) => kind === "replayed")).toHaveLength(50 - created);
    expect(await race.count("jobs")).toBe(5 + created);
    expect(await race.count("idempotency_records where response_json is null")).toBe(0);
  });
});
