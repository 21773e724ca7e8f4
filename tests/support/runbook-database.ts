/** Situations of the runbook that concern the database as a whole. */

import { expect } from "vitest";
import { type Handler, held, scripted, succeed } from "./flow-jobs.js";
import { type Flow, setClocks } from "./flow-world.js";
import type { Page, Scenarios } from "./runbook.js";

const CHARGE = "test.charge";
const PRINT = "test.print";

export const DATABASE_SCENARIOS: Scenarios = {
  async "Restore from a backup"(flow, page) {
    const world = await rewound(flow);
    // Control: QStash takes the message of a job that goes on for one that it has had already.
    await world.restore();
    const { deduplicated } = flow.qstash.counts();
    expect(await flow.sweep()).toMatchObject({ leasesRecovered: 1, publishFailures: 0 });
    expect(flow.qstash.counts().deduplicated).toBe(deduplicated + 1);
    expect(flow.qstash.pending().map(({ body }) => JSON.parse(body))).toMatchObject([
      { jobId: world.underWay },
    ]);

    await world.restore();
    await lookAtLoss(page);
    await page.query()({ type: PRINT });
    await page.query()();
    const swept = await page.command()();
    expect(swept.stdout).toContain("leases recovered: 1");
    await flow.runUntilIdle(300);
    expect(await flow.job(world.crossing)).toMatchObject({ status: "completed", attempts: 2 });
    expect(await flow.job(world.later)).toMatchObject({ status: "completed", attempts: 1 });
    // Run again, under the operation ids that they had.
    expect(world.charges.toSorted()).toEqual(
      [world.crossing, world.crossing, world.later, world.later, world.lost]
        .map((id) => `${id}:charge`)
        .toSorted(),
    );
    expect(await page.query()()).toEqual([]);
    const unknown =
      "select sum(count) from job_stats where measure = 'delivery' and label = 'unknown'";
    expect(await flow.query(unknown)).toEqual([{ sum: "1" }]);
    // What was accepted after the backup is gone, and its key with it.
    expect((await flow.request("GET", `/api/jobs/${world.lost}`)).status).toBe(404);
    const again = await world.ask();
    expect(again.headers.has("idempotent-replayed")).toBe(false);
    expect(await again.json()).not.toMatchObject({ jobId: world.lost });

    expect(world.prints).toEqual([world.printed]);
    await flow.request("POST", `/api/jobs/${world.printed}/cancel`);
    await page.command()({ TYPE: PRINT });
    await flow.sweep();
    await flow.runUntilIdle(300);
    expect(world.prints).toEqual([world.printed]);
  },

  async "Table growth"(flow, page) {
    flow.start([scripted(succeed(), {}, CHARGE)]);
    await flow.query(
      `insert into jobs (id, tenant, job_type, status, priority, attempts, max_attempts,
         payload_json, started_at, finished_at, created_at, updated_at)
       select gen_random_uuid(), 'acme', 'test.charge', 'completed', 0, 1, 8, '{}', at, at, at, at
       from generate_series(1, 1500), lateral (select now() - interval '20 days' as at) old`,
    );
    const tables = await page.query()();
    expect(tables).toContainEqual(expect.objectContaining({ table: "jobs" }));
    expect(tables).toContainEqual(expect.objectContaining({ table: "job_attempts" }));
    const overdue = page.query();
    expect(await overdue()).toMatchObject([{ overdue: "1500" }]);
    expect((await page.command()()).stdout).toContain("jobs pruned: 1500");
    expect(await overdue()).toMatchObject([{ overdue: "0", counted_to: expect.any(Date) }]);
  },
};

async function lookAtLoss(page: Page): Promise<void> {
  const [gone] = await page.query()();
  expect(gone).toMatchObject({ lost: { minutes: expect.any(Number) } });
  const again = await page.query()();
  expect(again).toHaveLength(3);
  expect(again).toContainEqual({
    ...{ job_type: CHARGE, status: "processing", jobs: "1", at_once: "1", effects: "1" },
  });
  for (const job_type of [CHARGE, PRINT]) {
    expect(again).toContainEqual({
      ...{ job_type, status: "queued", jobs: "1", at_once: "1", effects: "0" },
    });
  }
}

/**
 * A world in which the database may be put back to an earlier instant, when one job was running and
 * two were to come; all three have ended since, after a retry, and two more were accepted, of which one
 * has ended and the other's message is under way.
 */
async function rewound(flow: Flow) {
  const charges: string[] = [];
  const prints: string[] = [];
  const first = held();
  const charge: Handler = ({ attempt, payload, once }) =>
    once("charge", async ({ operationId }) => {
      if ((payload as { slow?: true }).slow && attempt === 1) await first.run({} as never);
      charges.push(operationId);
    });
  flow.start([
    scripted(charge, {}, CHARGE),
    scripted(({ operationId }) => void prints.push(operationId), {}, PRINT),
  ]);
  const crossing = await flow.create(CHARGE, { slow: true });
  const delivering = flow.qstash.deliverDue();
  await expect.poll(() => flow.effects(crossing)).toHaveLength(1);
  const later = await flow.create(CHARGE, {}, { delaySeconds: 300 });
  const printed = await flow.create(PRINT, {}, { delaySeconds: 300 });
  await flow.settled();
  const restoreDatabase = await flow.database.backUp();

  first.fail(new Error("cut"));
  await delivering;
  const ask = () =>
    flow.request("POST", "/api/jobs", {
      body: { type: CHARGE, payload: {} },
      idempotencyKey: "order-1",
    });
  const { jobId: lost } = (await (await ask()).json()) as { jobId: string };
  await flow.runUntilIdle(400);
  const ended = await flow.query("select distinct status from jobs");
  expect(ended).toEqual([{ status: "completed" }]);
  const underWay = await flow.create(CHARGE, {});
  const restore = async (): Promise<void> => {
    await restoreDatabase();
    // The clock is in the database, but time goes on.
    await setClocks(flow);
  };
  return { ...{ crossing, later, printed, lost, underWay }, ...{ charges, prints, ask, restore } };
}
