/** Reads what the production statements cost, from EXPLAIN, without keeping what they do. */

import type { SQL } from "drizzle-orm";
import type pg from "pg";
import type { Database } from "../src/storage/client.js";
import { toQuery } from "../src/storage/to-query.js";

/** What one statement touched. */
export interface Cost {
  /** Shared buffers hit and read, planning excluded. */
  buffers: number;
  /** Rows of the tables that grow looked at, those included that were not wanted. */
  rowsRead: number;
  walBytes: number;
  executionMs: number;
}

/**
 * Runs whatever statement `call` sends under EXPLAIN ANALYZE, and rolls it back.
 *
 * Shape: the call sees no rows, so it may throw; only its first statement is measured, and of a
 *        batch the last, which does the work.
 */
export async function explain(
  client: pg.ClientBase,
  call: (db: Database) => Promise<unknown>,
): Promise<Cost> {
  let sent: SQL | undefined;
  const capture: Database = {
    run: async (statement) => {
      sent ??= statement;
      return [];
    },
    batch: async (statements) => {
      sent ??= statements.at(-1);
      return [] as never;
    },
  };
  await call(capture).catch(() => undefined);
  if (!sent) throw new Error("the call sent no statement");
  const { sql, params } = toQuery(sent);
  await client.query("begin");
  try {
    const { rows } = await client.query<{ "QUERY PLAN": ExplainedPlan[] }>(
      `explain (analyze, buffers, wal, format json) ${sql}`,
      params,
    );
    const [explained] = rows[0]?.["QUERY PLAN"] ?? [];
    if (!explained) throw new Error("no plan came back");
    const top = explained.Plan;
    return {
      buffers: top["Shared Hit Blocks"] + top["Shared Read Blocks"],
      rowsRead: rowsRead(top),
      walBytes: top["WAL Bytes"] ?? 0,
      executionMs: explained["Execution Time"],
    };
  } finally {
    await client.query("rollback");
  }
}

interface PlanNode {
  "Relation Name"?: string;
  "Actual Rows": number;
  "Actual Loops": number;
  "Rows Removed by Filter"?: number;
  Plans?: PlanNode[];
}

interface ExplainedPlan {
  Plan: PlanNode & {
    "Shared Hit Blocks": number;
    "Shared Read Blocks": number;
    "WAL Bytes"?: number;
  };
  "Execution Time": number;
}

function rowsRead(node: PlanNode): number {
  const isLarge = ["jobs", "job_attempts", "job_stats"].includes(node["Relation Name"] ?? "");
  const looked = node["Actual Rows"] + (node["Rows Removed by Filter"] ?? 0);
  const own = isLarge ? looked * node["Actual Loops"] : 0;
  return (node.Plans ?? []).reduce((sum, each) => sum + rowsRead(each), own);
}
