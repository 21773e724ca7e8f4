/** The whole path, cut into stories; each ends the same way wherever an instance dies. */

import type { HandlerName } from "./crash-jobs.js";
import type { Stage } from "./crash-stage.js";

/** A story and how its jobs may end. */
export interface Scenario {
  name: string;
  handler: HandlerName;
  /** How many jobs it creates. */
  jobs: number;
  ends: "completed" | "dead_letter" | "cancelled";
  /** How many sweeps it takes when nothing goes wrong; none where it is left out. */
  sweeps?: number;
  /** Code has no idempotency key, so what it does late makes another job. */
  mayRepeat?: true;
  /** An effect whose end is not known may leave its job to a human. */
  mayDoubt?: true;
  play(stage: Stage): Promise<void>;
}

const ACCEPTED = [202];
/** What a repeated request may meet that was carried out the first time. */
const ACCEPTED_OR_DONE = [200, 202, 409];

const act = (stage: Stage, jobId: string, verb: string) =>
  stage.ask(`/api/jobs/${jobId}/${verb}`, {}, ACCEPTED_OR_DONE);

const createAndRun = async (stage: Stage): Promise<void> => {
  await stage.create();
  await stage.recover();
};

/** From create to the end, as clients and handlers shape it. */
export const JOB_SCENARIOS: Scenario[] = [
  {
    name: "create, run, finish",
    handler: "completes",
    jobs: 1,
    ends: "completed",
    play: createAndRun,
  },
  {
    name: "a retry, then success",
    handler: "retries",
    jobs: 1,
    ends: "completed",
    play: createAndRun,
  },
  {
    name: "a fatal error",
    handler: "needsMending",
    jobs: 1,
    ends: "dead_letter",
    play: createAndRun,
  },
  {
    name: "a snooze, then success",
    handler: "snoozes",
    jobs: 1,
    ends: "completed",
    play: createAndRun,
  },
  {
    name: "three effects",
    handler: "performs",
    jobs: 1,
    ends: "completed",
    mayDoubt: true,
    play: createAndRun,
  },
  {
    name: "cancel while it waits",
    handler: "completes",
    jobs: 1,
    ends: "cancelled",
    play: async (stage) => {
      const jobId = await stage.create({ delaySeconds: 120 });
      await act(stage, jobId, "cancel");
      await stage.recover();
    },
  },
  {
    name: "cancel while it runs",
    handler: "waits",
    jobs: 1,
    ends: "cancelled",
    play: async (stage) => {
      const jobId = await stage.create();
      const { reached, release } = stage.outside.hold();
      const delivery = stage.deliver();
      await Promise.race([reached, delivery]);
      await act(stage, jobId, "cancel");
      release();
      await delivery;
      await stage.recover();
    },
  },
  {
    name: "replay of a dead letter",
    handler: "needsMending",
    jobs: 1,
    ends: "completed",
    play: async (stage) => {
      const jobId = await stage.create();
      await stage.recover();
      stage.outside.mended.add(jobId);
      await act(stage, jobId, "replay");
      await stage.recover();
    },
  },
  {
    name: "run now",
    handler: "completes",
    jobs: 1,
    ends: "completed",
    play: async (stage) => {
      const jobId = await stage.create({ delaySeconds: 7200 });
      await act(stage, jobId, "run-now");
      await stage.recover();
    },
  },
  {
    name: "a batch with a repeated dedupe key",
    handler: "completes",
    jobs: 2,
    ends: "completed",
    play: async (stage) => {
      const job = { type: stage.type, payload: {} };
      const keyed = { ...job, dedupeKey: "the same" };
      await stage.ask("/api/jobs/batch", { jobs: [job, keyed, keyed] }, ACCEPTED);
      await stage.recover();
    },
  },
  {
    name: "a job made by code",
    handler: "completes",
    jobs: 1,
    ends: "completed",
    mayRepeat: true,
    play: async (stage) => {
      await stage.enqueue(`of ${stage.since}`);
      await stage.recover();
    },
  },
  {
    name: "a displaced job",
    handler: "completes",
    jobs: 2,
    ends: "completed",
    play: async (stage) => {
      await stage.create();
      await stage.create({ priority: 9 });
      await stage.recover();
    },
  },
  {
    name: "a hop of a far job",
    handler: "completes",
    jobs: 1,
    ends: "completed",
    play: async (stage) => {
      await stage.create({ delaySeconds: 10 * 86_400 });
      await stage.recover();
    },
  },
];

/** What sweeps recover, and what operators do. */
export const RECOVERY_SCENARIOS: Scenario[] = [
  {
    name: "a sweep after a dead instance",
    handler: "waits",
    jobs: 1,
    ends: "completed",
    sweeps: 1,
    play: async (stage) => {
      await stage.create();
      const { reached, release } = stage.outside.hold();
      const delivery = stage.deliver();
      await Promise.race([reached, delivery]);
      stage.kill();
      release();
      await delivery;
      stage.loseMessages();
      await stage.recover();
    },
  },
  {
    name: "a sweep after a refused publish",
    handler: "completes",
    jobs: 1,
    ends: "completed",
    sweeps: 1,
    play: async (stage) => {
      stage.outage(true);
      await stage.create();
      stage.outage(false);
      await stage.sweep();
      await stage.recover();
    },
  },
  {
    name: "a sweep that runs a job itself while QStash refuses",
    handler: "completes",
    jobs: 1,
    ends: "completed",
    sweeps: 1,
    play: async (stage) => {
      stage.outage(true);
      await stage.create();
      await stage.recover();
      stage.outage(false);
    },
  },
  {
    name: "a probe and then the vanished",
    handler: "completes",
    jobs: 3,
    ends: "completed",
    sweeps: 2,
    play: async (stage) => {
      const job = { type: stage.type, payload: {} };
      await stage.ask("/api/jobs/batch", { jobs: [job, job, job] }, ACCEPTED);
      stage.loseMessages();
      await stage.recover();
    },
  },
  {
    name: "a slot of a schedule",
    handler: "completes",
    jobs: 1,
    ends: "completed",
    play: async (stage) => {
      const slot = new Date(stage.world.qstash.now() + 10 * 60_000);
      const schedule = {
        name: `daily-${slot.getTime()}`,
        cron: `${slot.getUTCMinutes()} ${slot.getUTCHours()} * * *`,
        type: stage.type,
        payload: {},
      };
      await stage.ask("/api/schedules", schedule, [201, 409]);
      await stage.recover();
      await stage.ask(`/api/schedules/${schedule.name}/pause`, {}, [200]);
    },
  },
  {
    name: "replay of many",
    handler: "needsMending",
    jobs: 2,
    ends: "completed",
    play: async (stage) => {
      const jobs = Array.from({ length: 2 }, () => ({ type: stage.type, payload: {} }));
      const created = await stage.ask("/api/jobs/batch", { jobs }, ACCEPTED);
      await stage.recover();
      for (const { jobId } of created.jobs as { jobId: string }[]) stage.outside.mended.add(jobId);
      await stage.ask("/api/dead-letters/replay", { type: stage.type }, [200]);
      await stage.recover();
    },
  },
  {
    name: "pause and resume",
    handler: "completes",
    jobs: 1,
    ends: "completed",
    sweeps: 1,
    play: async (stage) => {
      await stage.create();
      await stage.ask(`/api/types/${stage.type}/pause`, {}, [200]);
      await stage.deliver();
      await stage.ask(`/api/types/${stage.type}/resume`, {}, [200]);
      await stage.sweep();
      await stage.recover();
    },
  },
  {
    name: "an effect in doubt, settled and replayed",
    handler: "doubts",
    jobs: 1,
    ends: "completed",
    play: async (stage) => {
      const jobId = await stage.create();
      await stage.recover();
      const settlement = {
        outcome: "done",
        result: { charged: true },
        reason: "seen in the books",
      };
      await stage.ask(`/api/jobs/${jobId}/effects/charge/settle`, settlement, ACCEPTED_OR_DONE);
      await act(stage, jobId, "replay");
      await stage.recover();
    },
  },
];
