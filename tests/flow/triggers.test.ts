import { describe, expect, test } from "vitest";
import { scripted } from "../support/flow-jobs.js";
import { setUpFlow } from "../support/flow-world.js";
import { play, readEntries, type Scenario, type Scenarios } from "../support/runbook.js";

const flow = setUpFlow();
const entries = await readEntries("triggers.md");
const TYPE = "test.render";
const REASON = "moves";

/** Where jobs of the type ran, in order. */
const ran: { id: string; by: string }[] = [];
let stop = new AbortController();
let jobsToWorkOn = 0;

/** A deployment with this code; what runs is a function, unless the worker is at it. */
function deploy(runsOn: "qstash" | "worker", env: Record<string, string> = {}): void {
  const job = scripted(
    ({ operationId }) => {
      const isWorking = jobsToWorkOn > 0;
      ran.push({ id: operationId, by: isWorking ? "worker" : "function" });
      jobsToWorkOn -= Number(isWorking);
      if (isWorking && jobsToWorkOn === 0) stop.abort();
    },
    { runsOn, timeoutSeconds: 10 },
    TYPE,
  );
  flow.start([job], { env });
}

/** What stops the command after so many jobs. */
function workOn(count: number) {
  stop = new AbortController();
  jobsToWorkOn = count;
  return { stop: stop.signal };
}

const create = async (count: number, more = {}): Promise<string[]> => {
  const ids: string[] = [];
  for (let n = 0; n < count; n += 1) ids.push(await flow.create(TYPE, { n }, more));
  return ids;
};

const moveToWorker: Scenario = async (world, page) => {
  deploy("qstash");
  const due = await create(2);
  const [early = ""] = await create(1, { delaySeconds: 600 });
  const [late = ""] = await create(1, { delaySeconds: 700 });
  await page.command()({ TYPE, REASON });
  await world.qstash.deliverDue();
  expect(ran).toEqual([]);
  deploy("worker");
  await page.command()({ TYPE });
  const work = page.command();
  expect(await work({ TYPE }, workOn(2))).toMatchObject({ code: 0 });
  expect(ran.map(({ by }) => by)).toEqual(["worker", "worker"]);
  await world.advance(601);
  await world.qstash.deliverDue();
  await world.advance(100);
  await work({ TYPE }, workOn(1));
  await world.runUntilIdle(60);
  expect(ran.slice(2).map(({ by }) => by)).toEqual(["function", "worker"]);
  expect(ran.map(({ id }) => id).toSorted()).toEqual([...due, early, late].toSorted());
  expect((await page.command()()).stdout).toMatch(/test\.render +0 +– +0 +0 +0 /);
};

const scenarios: Scenarios = {
  async QStash(world, page) {
    deploy("qstash");
    const { stdout } = await page.command()();
    expect(stdout).toContain("*/15 * * * *");
    const [jobId] = await create(1);
    await world.qstash.deliverDue();
    expect(ran).toEqual([{ id: jobId, by: "function" }]);
  },

  async "Cron alone"(world, page) {
    world.qstash.refusePublishes({ status: 503 });
    const sweep = page.command();
    deploy("qstash");
    await create(20);
    expect(JSON.parse((await sweep()).stdout)).toMatchObject({ ranInSweep: 8 });
    deploy("qstash", { SWEEP_MAX_CALLS: "400" });
    expect(JSON.parse((await sweep()).stdout)).toMatchObject({ ranInSweep: 12 });
    expect(new Set(ran.map(({ id }) => id)).size).toBe(20);
  },

  async "A dedicated worker"(world, page) {
    deploy("worker");
    const ids = await create(3);
    await world.sweep();
    expect(world.qstash.pending()).toEqual([]);
    const { stderr } = await page.command()({ TYPE }, workOn(3));
    expect(stderr).toContain("4 at a time");
    expect(ran.map(({ id }) => id).toSorted()).toEqual(ids.toSorted());
  },

  "From QStash to a worker": moveToWorker,

  async "From a worker to QStash"(world, page) {
    deploy("worker");
    const ids = await create(3);
    deploy("qstash");
    expect((await page.command()()).stdout).toContain("published: 3");
    await world.qstash.deliverDue();
    expect(ran.map(({ by }) => by)).toEqual(Array(3).fill("function"));
    expect(ran.map(({ id }) => id).toSorted()).toEqual(ids.toSorted());
  },
};

describe("what the page on triggers says holds", () => {
  test.each(entries.map(({ heading }) => heading))("%s", async (heading) => {
    const entry = entries.find((each) => each.heading === heading);
    const scenario = scenarios[heading];
    if (!entry || !scenario) throw new Error(`nobody plays "${heading}"`);
    ran.length = 0;
    await play(flow, entry, scenario);
  });
});
