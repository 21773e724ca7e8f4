/** Gates in the statements that skip locked rows, for changing a row between their snapshot and lock. */

import { randomUUID } from "node:crypto";
import type { Store } from "../../src/core/ports.js";
import { GATE_CONDITION } from "./race.js";
import { action, redeliver, SWEEP_TYPES } from "./race-jobs.js";
import type { Edit } from "./race-session.js";
import { newTake } from "./store.js";

/** Stops a statement at the gate, before a condition that it looks for its rows with. */
export const gate = (statement: string, before: string): Edit => ({
  statement,
  cut: `where ${before}`,
  into: `where ${GATE_CONDITION} and ${before}`,
});

/** A job, with the attempt that it has or could have. */
export interface Subject {
  jobId: string;
  lockToken: string;
  attempt: number;
  leaseSeconds: number;
}

/** A call that skips locked rows, with its gate. */
export interface Step {
  edit: Edit;
  call: (store: Store, job: Subject) => Promise<unknown>;
}

export const LEASES: Step = {
  edit: gate("recover-leases", "lock_until <= now()"),
  call: (store) => store.recoverLeases(SWEEP_TYPES, newTake()),
};
export const UNPUBLISHED: Step = {
  edit: gate("take-unpublished", "j.triggered_at is null and j.next_run_at is not null"),
  call: (store) => store.takeUnpublished(newTake()),
};
export const VANISHED: Step = {
  edit: gate("take-vanished", "j.next_trigger_at <= now() and j.triggered_at is not null"),
  call: (store) => store.takeVanished(newTake()),
};
export const PROBE: Step = {
  edit: gate("probe-silent-types", "j.next_run_at <= now()"),
  call: (store) => store.probeSilentTypes(newTake()),
};
export const CLAIM: Step = {
  edit: gate("claim", "id = (select id from named where runnable)"),
  call: (store, job) => redeliver(store, job),
};
export const PERMIT: Step = {
  edit: gate("claim", "job_type = (select job_type from request)"),
  call: (store, job) => redeliver(store, job),
};
export const CLAIM_DUE: Step = {
  edit: gate("claim-due", "job_type = w.type"),
  call: (store) => store.claimDue(SWEEP_TYPES, randomUUID()),
};
export const REPLAY_MANY: Step = {
  edit: gate("replay-many", "j.status = 'dead_letter' and not exists (select from jobs a"),
  call: (store) =>
    store.replayMany({ limit: 10, spreadSeconds: 0 }, action(), {
      publishMax: 10,
      unpublishedTypes: [],
    }),
};
export const PRUNE: Step = {
  edit: gate("prune-jobs", "finished_at < now() - make_interval(days => least"),
  call: (store) => store.pruneJobs({ finishedDays: 14, deadLetterDays: 14 }, 10),
};
