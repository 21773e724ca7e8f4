/** The statements of a comparison with QStash; apart from `store`, which every deployment carries. */

import type { ReconcileStore } from "../core/reconcile.js";
import type { Database } from "./client.js";
import { countUnpublished } from "./sql/count-unpublished.js";
import { findOverdue } from "./sql/find-overdue.js";
import { health } from "./sql/health.js";
import { replaceMessages } from "./sql/replace-messages.js";
import { traceJobs } from "./sql/trace-jobs.js";

/** Binds them to one database client. */
export function createReconcileStore(db: Database): ReconcileStore {
  return {
    health: () => health(db),
    traceJobs: (jobIds) => traceJobs(db, jobIds),
    findOverdue: (unpublishedTypes, bounds, limit) =>
      findOverdue(db, unpublishedTypes, bounds, limit),
    countUnpublished: (unpublishedTypes, limit) => countUnpublished(db, unpublishedTypes, limit),
    replaceMessages: (messages) => replaceMessages(db, messages),
  };
}
