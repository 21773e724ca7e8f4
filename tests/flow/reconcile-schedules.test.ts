import { beforeEach, describe, expect, test, vi } from "vitest";
import { cli } from "../support/cli.js";
import { setUpReconcile } from "../support/reconcile.js";
import { PUBLIC_URL } from "../support/world.js";

const OWN = "antrean-sweep-antrean-test";
const FORMER = "http://former.test";
const NEIGHBOUR = {
  scheduleId: "antrean-sweep-neighbour",
  destination: "http://neighbour.test/api/sweep",
  cron: "*/5 * * * *",
};
const SILENCE_SECONDS = 4 * 900;

beforeEach(() => {
  // QStash's client tells the console of each refusal.
  vi.spyOn(console, "error").mockImplementation(() => {});
});

async function setUp(env: Record<string, string> = {}) {
  const account = await setUpReconcile({ SWEEP_INTERVAL_SECONDS: "900", ...env });
  const { client, world } = account;
  await client.schedules.create(NEIGHBOUR);
  const there = async () => {
    const schedules = await client.schedules.list();
    return new Map(schedules.map((each) => [each.scheduleId, each]));
  };
  const neighbour = (await there()).get(NEIGHBOUR.scheduleId);
  /** What it was when it was made, and not made anew since. */
  const expectNeighbour = async () => {
    const { createdAt, cron } = (await there()).get(NEIGHBOUR.scheduleId) ?? {};
    expect({ createdAt, cron }).toEqual({ createdAt: neighbour?.createdAt, cron: NEIGHBOUR.cron });
  };
  return { ...account, there, expectNeighbour, setUpSweep: () => cli(world, ["setup"]) };
}

describe("the schedule of the sweep", () => {
  test("is missed only once sweeps are silent, since a platform's cron may call them", async () => {
    const { world, reconcile, there, expectNeighbour } = await setUp();
    expect(await reconcile()).toMatchObject({ code: 0, differences: [] });
    await world.advance(SILENCE_SECONDS);
    expect(await reconcile()).toMatchObject({
      code: 1,
      differences: [{ kind: "schedule_missing", scheduleId: OWN }],
    });
    expect(await reconcile("--repair")).toMatchObject({ code: 0 });
    expect((await there()).get(OWN)).toMatchObject({
      destination: `${PUBLIC_URL}/api/sweep`,
      cron: "*/15 * * * *",
    });
    expect(await reconcile("--repair")).toMatchObject({ code: 0, differences: [] });
    expect((await there()).size).toBe(2);
    await expectNeighbour();
  });

  test("that is paused, leads to a former address, and is too rare is set right at once", async () => {
    const { client, reconcile, there, expectNeighbour } = await setUp({
      PUBLIC_URL_PREVIOUS: FORMER,
    });
    await client.schedules.create({
      scheduleId: OWN,
      destination: `${FORMER}/api/sweep`,
      cron: "0 * * * *",
    });
    await client.schedules.pause({ schedule: OWN });
    const kinds = ["schedule_misdirected", "schedule_paused", "schedule_interval"];
    expect((await reconcile()).kinds).toEqual(kinds);
    expect((await there()).get(OWN)).toMatchObject({ isPaused: true, cron: "0 * * * *" });
    expect(await reconcile("--repair")).toMatchObject({ code: 0, kinds });
    expect(await reconcile()).toMatchObject({ code: 0, differences: [] });
    expect((await there()).get(OWN)).toMatchObject({ isPaused: false });
    await expectNeighbour();
  });

  test("of another deployment under the same APP_NAME is not taken from it", async () => {
    const { client, reconcile, there } = await setUp();
    const theirs = { scheduleId: OWN, destination: "http://preview.test/api/sweep" };
    await client.schedules.create({ ...theirs, cron: "0 * * * *" });
    await client.schedules.pause({ schedule: OWN });
    const found = await reconcile("--repair");
    expect(found).toMatchObject({ code: 1, kinds: ["schedule_misdirected"] });
    expect((await there()).get(OWN)).toMatchObject({ ...theirs, isPaused: true });
  });
});

describe("other schedules that lead here", () => {
  test("one of setup's for a former APP_NAME goes; what people made, and what leads elsewhere, stays", async () => {
    const { client, reconcile, there, setUpSweep, expectNeighbour } = await setUp();
    await setUpSweep();
    const destination = `${PUBLIC_URL}/api/sweep`;
    const cron = "0 0 * * *";
    await client.schedules.create({ scheduleId: "antrean-sweep-old-name", destination, cron });
    await client.schedules.create({ scheduleId: "by-hand", destination, cron });
    const process = `${PUBLIC_URL}/api/process`;
    await client.schedules.create({ scheduleId: "stray", destination: process, cron });
    await client.schedules.create({ scheduleId: "report", destination: `${PUBLIC_URL}/own`, cron });
    const found = await reconcile("--repair");
    expect(found.code).toBe(1);
    const repaired = Object.fromEntries(
      found.differences.map(({ scheduleId, isRepaired }) => [scheduleId, isRepaired]),
    );
    expect(repaired).toEqual({ "antrean-sweep-old-name": true, "by-hand": false, stray: false });
    const left = new Set([OWN, NEIGHBOUR.scheduleId, "by-hand", "stray", "report"]);
    expect(new Set((await there()).keys())).toEqual(left);
    await expectNeighbour();
    expect((await reconcile("--repair")).differences).toHaveLength(2);
  });

  test("a second one is not deleted while there is no first", async () => {
    const { client, reconcile, there } = await setUp();
    const destination = `${PUBLIC_URL}/api/sweep`;
    const scheduleId = "antrean-sweep-old-name";
    await client.schedules.create({ scheduleId, destination, cron: "*/15 * * * *" });
    expect(await reconcile("--repair")).toMatchObject({ code: 1, kinds: ["schedule_duplicate"] });
    expect((await there()).has(scheduleId)).toBe(true);
    // Nor where the first one calls somebody else.
    const elsewhere = "http://preview.test/api/sweep";
    await client.schedules.create({ scheduleId: OWN, destination: elsewhere, cron: "0 * * * *" });
    expect(await reconcile("--repair")).toMatchObject({ code: 1 });
    expect((await there()).has(scheduleId)).toBe(true);
  });
});

describe("for people", () => {
  test("a table says what was found and what to do, and doctor points at it", async () => {
    const { world } = await setUp();
    const agree = await cli(world, ["reconcile"]);
    expect(agree).toMatchObject({ code: 0, stderr: "" });
    expect(agree.stdout).toMatch(/^The database and QStash agree\.\nLooked at dead letters: 0, /);
    await world.advance(SILENCE_SECONDS);
    const found = await cli(world, ["reconcile"]);
    expect(found.code).toBe(1);
    expect(found.stdout).toMatch(
      /schedule_missing +antrean-sweep-antrean-test +--repair +no schedule/,
    );
    expect(found.stderr).toContain("Nothing was changed");
    const doctor = await cli(world, ["doctor", "--no-probe"]);
    expect(doctor.stdout).toMatch(
      /! reconcile +1 difference.*schedule_missing\n.*antrean reconcile/,
    );
    await cli(world, ["reconcile", "--repair"]);
    const sound = await cli(world, ["doctor", "--no-probe"]);
    expect(sound.stdout).toMatch(/✓ reconcile +the database and QStash agree/);
  });

  test("a token of another account or an address where nobody answers is said, and nothing is compared", async () => {
    const { world } = await setUp();
    const env = { QSTASH_TOKEN: "of-another-account-0" };
    const refused = await cli(world, ["reconcile"], { env });
    expect(refused).toMatchObject({ code: 1, stdout: "" });
    expect(refused.stderr).toContain("QStash refused");
    const nobody = { QSTASH_URL: "http://127.0.0.1:9" };
    const unanswered = await cli(world, ["reconcile"], { env: nobody });
    expect(unanswered).toMatchObject({ code: 1, stdout: "" });
    expect(unanswered.stderr).toContain("QSTASH_URL does not answer");
  });
});
