import { expect, test } from "vitest";
import { countRows, type Deployment, liveOneDay } from "../support/history.js";
import { storeOver } from "../support/store.js";
import { sweepType, TYPE } from "../support/sweep-jobs.js";
import { setUpSweeps } from "../support/sweep-world.js";

const stage = setUpSweeps();
const RETENTION_DAYS = 5;
const DEAD_LETTER_DAYS = 10;
const TRAFFIC = { type: TYPE, jobsPerDay: 50, jobsPerRequest: 50 };

test("history levels off: after twelve and after twenty-four days the tables hold the same (U03)", async () => {
  const world = await stage.start({
    jobs: [sweepType()],
    env: {
      RETENTION_DAYS: String(RETENTION_DAYS),
      DEAD_LETTER_RETENTION_DAYS: String(DEAD_LETTER_DAYS),
    },
  });
  const deployment: Deployment = {
    store: storeOver(world.database),
    query: world.query,
    advance: world.advance,
    sweep: () => world.sweep(),
  };
  const liveUntil = async (day: number, from: number) => {
    for (let today = from; today < day; today += 1) {
      expect(await liveOneDay(deployment, TRAFFIC)).toMatchObject({ failedSteps: [], more: false });
    }
    const { job_stats: _kept90Days, ...counts } = await countRows(deployment);
    return counts;
  };
  const afterTwelve = await liveUntil(12, 0);
  const afterTwentyFour = await liveUntil(24, 12);

  // A day's rows more or less, by where in its day a job ended.
  const { jobsPerDay } = TRAFFIC;
  for (const [table, rows] of Object.entries(afterTwentyFour)) {
    const before = afterTwelve[table as keyof typeof afterTwelve];
    expect(Math.abs(rows - before), table).toBeLessThanOrEqual(jobsPerDay);
  }
  expect(afterTwentyFour.jobs).toBeGreaterThanOrEqual(jobsPerDay * RETENTION_DAYS);
  expect(afterTwentyFour.jobs).toBeLessThanOrEqual(jobsPerDay * (RETENTION_DAYS + 2));
  // Of fifty jobs one is a dead letter, which stays longer.
  expect(
    await world.query("select count(*)::int as dead from jobs where status = 'dead_letter'"),
  ).toEqual([{ dead: (jobsPerDay / 50) * DEAD_LETTER_DAYS }]);
}, 30_000);
