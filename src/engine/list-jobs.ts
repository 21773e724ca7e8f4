/** Lists jobs for those who may see them, page by page. */

import type { JobFilter, JobPage, PageRequest } from "../core/listing.js";
import type { Actor } from "../core/operations.js";
import type { Ports } from "../core/ports.js";

/** A filter that hardly anything fits gets short pages, never a walk through the table. */
const ENTRIES_MAX = 2000;

/** Reads one page, newest first. */
export async function listJobs(
  ports: Ports,
  actor: Actor,
  filter: JobFilter,
  page: Omit<PageRequest, "entriesMax">,
): Promise<JobPage> {
  return ports.store.listJobs(filter, actor, { ...page, entriesMax: ENTRIES_MAX });
}
