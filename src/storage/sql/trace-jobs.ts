import { sql } from "drizzle-orm";
import type { JobTrace } from "../../core/reconcile.js";
import type { Database } from "../client.js";
import { traceColumns } from "../fragments.js";

/** Reads where the named jobs stand; ids that are not there are left out. */
export async function traceJobs(db: Database, jobIds: string[]): Promise<JobTrace[]> {
  return db.run<JobTrace>(sql`/* trace-jobs */
select ${traceColumns(sql`j`)}
from jsonb_array_elements_text(${JSON.stringify(jobIds)}::jsonb) as named(id)
join jobs j on j.id = named.id::uuid`);
}
