import { describe, expect, test } from "vitest";
import { createDatabase } from "../../src/storage/client.js";
import { createReconcileStore } from "../../src/storage/reconcile-store.js";
import { setUpRace } from "../support/race.js";
import { cancelJob, queued, runJobNow, TYPE } from "../support/race-jobs.js";
import { claimFor, createJobs, newJob, newTake } from "../support/store.js";

const race = setUpRace();
const store = () =>
  createReconcileStore(
    createDatabase({
      databaseUrl: race.database.url,
      databaseHttpUrl: race.database.neon.endpoint,
      timeoutSeconds: 10,
      sleep: async () => {},
    }),
  );

describe("a job whose message is gone is marked for a new one", () => {
  test.each([
    { rival: "a claim", move: claimFor },
    {
      rival: "a cancel",
      move: (on: typeof race.store, job: { id: string }) => cancelJob(on, job.id),
    },
  ])("not while $rival holds it, nor afterwards", async ({ move }) => {
    const job = await queued(race);
    const held = await race.begin();
    await move(held.store, job);

    expect(await store().replaceMessages([{ jobId: job.id, seq: 1 }])).toEqual([]);
    await held.commit();
    const before = await race.job(job.id);

    expect(await store().replaceMessages([{ jobId: job.id, seq: 1 }])).toEqual([]);
    expect(await race.job(job.id)).toEqual(before);
  });

  test("not under the seq of an older message", async () => {
    const job = await queued(race, { delaySeconds: 60 });
    await runJobNow(race.store, job.id);

    expect(await store().replaceMessages([{ jobId: job.id, seq: 1 }])).toEqual([]);
    expect(await race.job(job.id)).toMatchObject({ trigger_seq: 2 });
    // A hop may have died between its publish and its mark.
    expect(await store().replaceMessages([{ jobId: job.id, seq: 3 }])).toEqual([job.id]);
    expect(await race.job(job.id)).toMatchObject({ trigger_seq: 4, triggered_at: null });
  });

  test("once, by five repairs at once, and published once by the sweeps after them", async () => {
    const jobs = Array.from({ length: 100 }, () => newJob({ type: TYPE }));
    await createJobs(race.direct, jobs);
    const messages = jobs.map(({ id }) => ({ jobId: id, seq: 1 }));
    const marked = await Promise.all(
      Array.from({ length: 5 }, () => store().replaceMessages(messages)),
    );

    expect(new Set(marked.flat())).toEqual(new Set(jobs.map(({ id }) => id)));
    expect(marked.flat()).toHaveLength(100);
    expect(await race.count("job_events where data ->> 'why' = 'reconcile'")).toBe(100);
    const sweeps = [newTake(100), newTake(100)].map((take) => race.store.takeUnpublished(take));
    const wakeups = (await Promise.all(sweeps)).flat();
    expect(wakeups).toHaveLength(100);
    expect(new Set(wakeups.map(({ seq }) => seq))).toEqual(new Set([2]));
  });
});
