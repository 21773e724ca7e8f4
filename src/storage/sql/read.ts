import { sql } from "drizzle-orm";
import type { Job } from "../../core/job.js";
import type { Actor } from "../../core/operations.js";
import type { Database } from "../client.js";
import { jobJson, visibleTo } from "../fragments.js";
import { toJob } from "../rows.js";

/** Reads one job that the actor may see; null for any other id. */
export async function read(db: Database, jobId: string, actor: Actor): Promise<Job | null> {
  const [row] = await db.run<{ job: unknown }>(sql`/* read */
select ${jobJson(sql`j`)} as job from jobs j
where j.id = ${jobId}::uuid and ${visibleTo(actor, sql`j`)}`);
  return row ? toJob(row.job) : null;
}
