import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import * as z from "zod";
import { cli, fetchIn } from "../support/cli.js";
import { scripted } from "../support/flow-jobs.js";
import { createWorld, PUBLIC_URL, type World } from "../support/world.js";

let works = false;
const flaky = scripted(
  () => {
    if (!works) throw Object.assign(new Error("gone"), { status: 404 });
  },
  {},
  "test.flaky",
);
const charge = scripted(
  ({ once }) =>
    once("charge", () => Promise.reject(new Error("cut")), { ifUnknown: "dead_letter" }),
  {},
  "test.charge",
);
const heavyRuns: unknown[] = [];
let duringHeavy: () => void = () => {};
const heavy = scripted(
  ({ payload }) => {
    heavyRuns.push(payload);
    duringHeavy();
  },
  { runsOn: "worker", payload: z.object({ n: z.number() }) },
  "test.heavy",
);

let world: World;
beforeAll(async () => {
  world = await createWorld({ jobs: [flaky, charge, heavy] });
});
afterAll(() => world.close());
beforeEach(async () => {
  await world.database.pg.query("truncate jobs cascade");
});

async function makeDead(count: number): Promise<string[]> {
  const ids: string[] = [];
  for (let n = 0; n < count; n += 1) ids.push(await world.create("test.flaky", { n }));
  await world.qstash.deliverDue();
  return ids;
}

describe("dead letters", () => {
  test("are counted first, and replayed only with --yes", async () => {
    works = false;
    const [first = ""] = await makeDead(2);
    const replay = ["dead-letters", "replay", "--type", "test.flaky", "--error-code", "http_404"];
    const counted = await cli(world, replay);
    expect(counted).toMatchObject({ code: 0, stdout: "2 match, 0 of them would be skipped.\n" });
    expect(counted.stderr).toContain("--yes");
    expect((await world.job(first)).status).toBe("dead_letter");
    works = true;
    const replayed = await cli(world, [...replay, "--yes"]);
    expect(replayed.stdout).toBe("2 replayed, 0 skipped.\n");
    await world.qstash.deliverDue();
    expect((await world.job(first)).status).toBe("completed");
    expect((await cli(world, ["dead-letters", "list"])).stdout).toBe("No jobs.\n");
  });

  test("of an unknown effect are settled by a human", async () => {
    const jobId = await world.create("test.charge", {});
    await world.runUntilIdle();
    expect(await world.job(jobId)).toMatchObject({ lastError: { code: "effect_unknown" } });
    const settle = ["effects", "settle", jobId, "charge", "--reason", "seen in the bank"];
    const settled = await cli(world, [...settle, "--done", "--result", '{"paid":1}']);
    expect(settled).toMatchObject({ code: 0, stdout: `${jobId} charge: done\n` });
    expect((await cli(world, ["jobs", "replay", jobId])).code).toBe(0);
    await world.qstash.deliverDue();
    expect(await world.job(jobId)).toMatchObject({ status: "completed", result: { paid: 1 } });
  });
});

describe("types, numbers and schedules", () => {
  test("a type is paused and resumed; list and stats say so", async () => {
    await cli(world, ["types", "pause", "test.flaky", "--reason", "deploy"]);
    await world.create("test.flaky", {});
    expect((await cli(world, ["types", "list"])).stdout).toMatch(/test\.flaky .*by ops: deploy/);
    expect((await cli(world, ["stats"])).stdout).toMatch(/test\.flaky \(paused\) +1 /);
    const resumed = await cli(world, ["types", "resume", "test.flaky"]);
    expect(resumed.stdout).toBe("test.flaky goes on\n");
  });

  test("a schedule from its making to its end", async () => {
    const schedules = (...argv: string[]) => cli(world, ["schedules", ...argv]);
    const what = ["--cron", "0 2 * * *", "--type", "test.flaky", "--payload", '{"n":1}'];
    const created = await schedules("create", "nightly", ...what, "--time-zone", "Asia/Jakarta");
    expect(created).toMatchObject({ code: 0, stdout: expect.stringContaining("Asia/Jakarta") });
    expect(await schedules("create", "nightly", ...what)).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("schedule_exists"),
    });
    expect(await schedules("edit", "nightly")).toMatchObject({ code: 2 });
    const edited = await schedules("edit", "nightly", "--cron", "30 2 * * *", "--json");
    expect(JSON.parse(edited.stdout)).toMatchObject({
      cron: "30 2 * * *",
      timeZone: "Asia/Jakarta",
      type: "test.flaky",
      payload: { n: 1 },
      enabled: true,
    });
    const more = ["--payload", '{"n":2}', "--missed", "run_once", "--time-zone", "Asia/Tokyo"];
    expect((await schedules("edit", "nightly", ...more)).stdout).toMatch(/30 2 .*Asia\/Tokyo/);
    expect(await schedules("edit", "nightly", "--cron", "0 2 31 2 *")).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("#/cron"),
    });
    expect((await schedules("pause", "nightly")).stdout).toBe("nightly is paused\n");
    expect((await schedules("list")).stdout).toMatch(/nightly +30 2 \* \* \* .* paused/);
    // A paused one stays paused.
    const stillPaused = await schedules("edit", "nightly", "--cron", "0 4 * * *", "--json");
    expect(JSON.parse(stillPaused.stdout)).toMatchObject({ enabled: false, cron: "0 4 * * *" });
    expect((await schedules("resume", "nightly")).stdout).toBe("nightly goes on\n");
    expect((await schedules("show", "nightly")).stdout).toMatch(/next runs +\S+ 19:00:00, /);
    const [jobId = ""] = (await schedules("run", "nightly")).stdout.split(" ");
    expect(await world.job(jobId)).toMatchObject({ type: "test.flaky", payload: { n: 2 } });
    expect((await schedules("delete", "nightly")).stdout).toBe("nightly is deleted\n");
    const gone = await schedules("delete", "nightly");
    expect(gone).toMatchObject({ code: 1, stderr: expect.stringContaining("not_found") });
  });
});

describe("sweeping and working", () => {
  test("a sweep by the deployment, and one in this process", async () => {
    expect(await cli(world, ["sweep"])).toMatchObject({ code: 0 });
    const local = await cli(world, ["sweep", "--local", "--json"]);
    expect(JSON.parse(local.stdout)).toMatchObject({ failedSteps: [], more: false });
    const wrong = await cli(world, ["sweep"], { env: { CRON_SECRET: "wrong-secret-0000" } });
    expect(wrong).toMatchObject({ code: 1, stderr: expect.stringContaining("unauthorized") });
  });

  test("work finishes what it holds when it is asked to stop, and claims nothing more", async () => {
    for (const n of [1, 2]) await world.create("test.heavy", { n });
    const stop = new AbortController();
    duringHeavy = () => stop.abort();
    const work = ["work", "--types", "test.heavy", "--concurrency", "1"];
    const result = await cli(world, work, { stop: stop.signal });
    expect(result).toMatchObject({ code: 0, stderr: expect.stringContaining("Stopping") });
    expect(heavyRuns).toHaveLength(1);
    const { rows } = await world.database.pg.query("select status from jobs order by status");
    expect(rows).toEqual([{ status: "completed" }, { status: "queued" }]);
  });

  test("work names a type that is not there", async () => {
    const result = await cli(world, ["work", "--types", "test.nothing"]);
    expect(result).toMatchObject({ code: 1, stderr: expect.stringContaining("test.nothing") });
  });
});

describe("setup and doctor", () => {
  const doctor = async (options: Parameters<typeof cli>[2] = {}, ...argv: string[]) => {
    const result = await cli(world, ["doctor", "--json", ...argv], options);
    const findings = JSON.parse(result.stdout) as {
      check: string;
      state: string;
      detail: string;
    }[];
    return { ...result, found: new Map(findings.map((each) => [each.check, each])) };
  };
  const schedulesThere = async (): Promise<unknown[]> => {
    const headers = { authorization: `Bearer ${world.qstash.token}` };
    const response = await fetch(`${world.qstash.url}/v2/schedules`, { headers });
    return (await response.json()) as unknown[];
  };
  const databaseNow = async (): Promise<number> => {
    const { rows } = await world.database.pg.query("select now() as at");
    return (rows[0] as { at: Date }).at.getTime();
  };

  test("setup makes one schedule, whatever it is repeated with", async () => {
    expect((await cli(world, ["setup"])).stdout).toMatch(/^Created antrean-sweep-antrean-test/);
    const second = await cli(world, ["setup", "--every", "1h"]);
    expect(second.stdout).toMatch(/^Updated .*0 \* \* \* \*/);
    expect(second.stderr).toContain("SWEEP_INTERVAL_SECONDS=3600");
    expect(await schedulesThere()).toMatchObject([
      { cron: "0 * * * *", destination: `${PUBLIC_URL}/api/sweep`, method: "POST" },
    ]);
    await cli(world, ["setup"]);
  });

  test("a sound deployment passes every check, and the probe leaves nothing behind", async () => {
    const at = await databaseNow();
    const { code, found } = await doctor({ now: () => at });
    expect([...found.values()].filter(({ state }) => state !== "ok")).toEqual([]);
    expect(code).toBe(0);
    expect(found.get("delivery")?.detail).toContain("accepts its signature");
    const headers = { authorization: `Bearer ${world.qstash.token}` };
    const dead = await fetch(`${world.qstash.url}/v2/dlq`, { headers });
    expect(await dead.json()).toMatchObject({ messages: [] });
    expect((await world.database.pg.query("select 1 from jobs")).rows).toEqual([]);
  });

  test("faults are found, each where it is", async () => {
    const badToken = await doctor({ env: { QSTASH_TOKEN: "of-another-region-000" } });
    expect(badToken).toMatchObject({ code: 1 });
    expect(badToken.found.get("qstash token")).toMatchObject({ state: "fault" });
    expect(badToken.found.has("delivery")).toBe(false);
    const badKeys = { QSTASH_CURRENT_SIGNING_KEY: "k".repeat(20) };
    const keys = await doctor({ env: { ...badKeys, QSTASH_NEXT_SIGNING_KEY: "n".repeat(20) } });
    expect(keys.found.get("signing keys")).toMatchObject({ state: "fault" });
    const at = await databaseNow();
    const skewed = await doctor({ now: () => at - 600_000 }, "--no-probe");
    expect(skewed.found.get("clock")).toMatchObject({ state: "fault" });
    const absent = await doctor({
      fetch: (request) =>
        request.url.startsWith(PUBLIC_URL)
          ? Promise.resolve(new Response("<h1>Login</h1>"))
          : fetchIn(world)(request),
    });
    expect(absent.found.get("public url")).toMatchObject({ state: "fault" });
    const empty = await doctor({ env: { DATABASE_URL: "", API_KEYS: "a:b" } });
    expect(empty.stdout).toMatch(/DATABASE_URL is missing.*API_KEYS/);
  });

  test("a deployment with other keys refuses the probe", async () => {
    const present = world.instance;
    world.use({ ...present, fetch: async () => new Response(null, { status: 401 }) });
    try {
      // Everything but deliveries is answered by the deployment that is there.
      const { found } = await doctor({
        fetch: (request) =>
          request.url.startsWith(PUBLIC_URL) ? present.fetch(request) : fetch(request),
      });
      expect(found.get("delivery")).toMatchObject({ state: "fault" });
      expect(found.get("delivery")?.detail).toContain("refuses QStash's signature");
    } finally {
      world.use(present);
    }
  });
});
