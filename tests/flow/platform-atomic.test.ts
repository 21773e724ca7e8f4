import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import * as z from "zod";
import { defineJob, FatalError } from "../../src/core/define-job.js";
import type { Json } from "../../src/core/job.js";
import { createWorld, KEYS, type World } from "../support/world.js";

/** Where a handler waits while a test holds it. */
let held: { reached: PromiseWithResolvers<void>; opened: PromiseWithResolvers<void> } | undefined;

const scripted = defineJob({
  type: "test.scripted",
  payload: z.object({ end: z.string().optional() }),
  leaseSeconds: 60,
  run: async ({ payload: { end }, once, attempt }) => {
    held?.reached.resolve();
    await held?.opened.promise;
    if (end === "fatal") throw new FatalError("as asked");
    if (end === "doubt" && attempt === 1) {
      await once("ask", () => Promise.reject(new Error("nobody knows")));
    }
  },
});

let world: World;
beforeAll(async () => {
  const env = { RETENTION_DAYS: "1", IDEMPOTENCY_TTL_HOURS: "720" };
  world = await createWorld({ jobs: [scripted], env });
  await world.database.pg.query(
    `create function refuse() returns trigger language plpgsql as $$
       begin raise 'refused, as the test asked'; end $$`,
  );
});
afterAll(async () => {
  await world.database.pg.query("drop function refuse cascade");
  await world.close();
});
afterEach(async () => {
  await world.runUntilIdle();
  await world.database.pg.query("truncate jobs, job_events, job_effects, job_attempts, type_state");
});

/** What is written about jobs; counters change by themselves, as sweeps add them up. */
const TABLES = [
  ...["jobs", "idempotency_records", "job_attempts", "job_events", "job_effects", "type_state"],
];

async function everything(): Promise<Record<string, string>> {
  const columns = TABLES.map(
    (table) =>
      `(select coalesce(string_agg(t::text, E'\\n' order by t::text), '') from ${table} t) as ${table}`,
  );
  return (await world.database.pg.query(`select ${columns.join()}`)).rows[0];
}

/** Lets every write to a table fail while the work is done. */
async function withoutWrites<T>(table: string, work: () => Promise<T>): Promise<T> {
  await world.database.pg.query(
    `create trigger broken before insert or update or delete on ${table}
     for each row execute function refuse()`,
  );
  try {
    return await work();
  } finally {
    await world.database.pg.query(`drop trigger broken on ${table}`);
  }
}

/** Delivers the first message that is due; gives the status of the answer. */
const deliver = async (): Promise<number | undefined> => (await world.qstash.deliverNext())?.status;
const create = (payload: Json = {}, more: Record<string, unknown> = {}) =>
  world.create(scripted.type, payload, more);

async function act(path: string, body: object = {}): Promise<number> {
  const response = await world.request("POST", path, { body, secret: KEYS.admin });
  return response.status;
}

/** A job whose instance died while it ran, and whose lease has run out since. */
async function expired(): Promise<string> {
  const jobId = await create();
  held = { reached: Promise.withResolvers(), opened: Promise.withResolvers() };
  const delivery = world.qstash.deliverNext();
  await held.reached.promise;
  world.instance.ports.kill();
  await delivery;
  held = undefined;
  world.use(world.newInstance());
  await world.advance(61);
  return jobId;
}

async function sweep(step: string): Promise<number> {
  const { failedSteps } = await world.sweep();
  return (failedSteps as string[]).includes(step) ? 500 : 200;
}

interface Step {
  statement: string;
  /** The table of the second write. */
  broken: string;
  /** Makes the state that the step changes; gives the step, which answers its HTTP status. */
  prepare(): Promise<() => Promise<number | undefined>>;
}

const STEPS: Step[] = [
  {
    statement: "claim of an expired lease",
    broken: "job_attempts",
    prepare: async () => {
      await expired();
      for (const { messageId } of world.qstash.pending()) world.qstash.duplicate(messageId);
      return deliver;
    },
  },
  {
    statement: "claim that runs nothing",
    broken: "job_stats",
    prepare: async () => {
      await create();
      const [message] = world.qstash.pending();
      await world.qstash.deliverDue();
      return async () => {
        world.qstash.duplicate(message?.messageId ?? "");
        return deliver();
      };
    },
  },
  ...(["cancel", "run-now"] as const).map((verb) => ({
    statement: verb,
    broken: "job_events",
    prepare: async () => {
      const jobId = await create({}, { delaySeconds: 600 });
      return () => act(`/api/jobs/${jobId}/${verb}`);
    },
  })),
  {
    statement: "replay",
    broken: "job_events",
    prepare: async () => {
      const jobId = await create({ end: "fatal" });
      await deliver();
      return () => act(`/api/jobs/${jobId}/replay`, { payload: {} });
    },
  },
  {
    statement: "replay-many",
    broken: "job_events",
    prepare: async () => {
      for (let n = 0; n < 3; n += 1) await create({ end: "fatal" });
      await world.qstash.deliverDue();
      return () => act("/api/dead-letters/replay");
    },
  },
  {
    statement: "settle-effect",
    broken: "job_events",
    prepare: async () => {
      const jobId = await create({ end: "doubt" });
      await deliver();
      const settlement = { outcome: "done", reason: "seen" };
      return () => act(`/api/jobs/${jobId}/effects/ask/settle`, settlement);
    },
  },
  {
    statement: "recover-leases",
    broken: "job_attempts",
    prepare: async () => {
      await expired();
      return () => sweep("leases");
    },
  },
  {
    statement: "take-unpublished",
    broken: "job_events",
    prepare: async () => {
      world.qstash.refusePublishes({ status: 503 });
      await create();
      world.qstash.refusePublishes(null);
      return () => sweep("unpublished");
    },
  },
  {
    statement: "probe-silent-types",
    broken: "job_events",
    prepare: async () => {
      await create();
      for (const { messageId } of world.qstash.pending()) world.qstash.drop(messageId);
      await world.advance(120);
      return () => sweep("probes");
    },
  },
  {
    statement: "prune-jobs",
    broken: "job_attempts",
    prepare: async () => {
      await create();
      await deliver();
      await world.advance(86_400 + 60);
      return () => sweep("retention");
    },
  },
];

describe("both or neither of a step's writes happen (V01)", () => {
  test.each(STEPS)("$statement, when its write to $broken fails", async ({ broken, prepare }) => {
    const step = await prepare();
    const before = await everything();
    expect(await withoutWrites(broken, step)).toBe(500);
    expect(await everything()).toEqual(before);
    // QStash repeats a delivery by itself, after twelve seconds.
    await world.advance(15);
    expect([200, 202]).toContain(await step());
    expect(await everything()).not.toEqual(before);
  });

  test.each(["/api/jobs", "/api/jobs/batch"])(
    "POST %s, when a CHECK refuses the second statement of its batch",
    async (path) => {
      const job = { type: scripted.type, payload: {} };
      const body = path.endsWith("batch") ? { jobs: [job, job] } : job;
      const post = () => world.request("POST", path, { body, idempotencyKey: `both${path}` });
      const before = await everything();
      const { messages } = world.qstash.counts();
      await world.database.pg.query(
        "alter table idempotency_records add constraint second check (response_json is null) not valid",
      );
      expect((await post()).status).toBe(500);
      expect(await everything()).toEqual(before);
      expect(world.qstash.counts().messages).toBe(messages);
      await world.database.pg.query("alter table idempotency_records drop constraint second");
      const accepted = await post();
      expect([accepted.status, accepted.headers.has("idempotent-replayed")]).toEqual([202, false]);
    },
  );

  test("finish, when the history cannot be written: the attempt stays open and is recovered", async () => {
    const jobId = await create();
    expect(await withoutWrites("job_attempts", deliver)).toBe(500);
    expect(await world.row(jobId)).toMatchObject({ status: "processing", finished_at: null });
    expect(await world.attempts(jobId)).toEqual([]);
    await world.runUntilIdle();
    expect(await world.job(jobId)).toMatchObject({ status: "completed", attempts: 2 });
    const outcomes = (await world.attempts(jobId)).map(({ outcome }) => outcome);
    expect(outcomes).toEqual(["lease_expired", "completed"]);
  });

  test("mark-unpublished, when the event cannot be written: the job is found as vanished", async () => {
    world.qstash.refusePublishes({ status: 503 });
    const jobId = await withoutWrites("job_events", () => create());
    world.qstash.refusePublishes(null);
    expect(await world.row(jobId)).toMatchObject({ triggered_at: expect.any(Date) });
    await world.advance(15 * 60);
    await world.sweep();
    await world.runUntilIdle();
    expect(await world.job(jobId)).toMatchObject({ status: "completed", attempts: 1 });
  });
});
