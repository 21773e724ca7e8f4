/** What the statements of a sweep cost: their plans, run for real and rolled back. */

import type { SQL } from "drizzle-orm";
import type { Store } from "../../src/core/ports.js";
import type { SweepType } from "../../src/core/sweep.js";
import type { Database } from "../../src/storage/client.js";
import { createStore } from "../../src/storage/store.js";
import { toQuery } from "../../src/storage/to-query.js";
import type { SweepWorld } from "./sweep-world.js";

/** One statement's cost. */
export interface Cost {
  /** Pages that it touched, in memory or not. */
  pages: number;
  /** Tables that it read from their first row to their last. */
  scanned: string[];
}

interface PlanNode {
  "Node Type": string;
  "Relation Name"?: string;
  "Actual Loops": number;
  "Shared Hit Blocks": number;
  "Shared Read Blocks": number;
  Plans?: PlanNode[];
}

/** Runs a call of the store under EXPLAIN, and takes back what it did. */
export async function costOf(
  world: SweepWorld,
  call: (store: Store) => Promise<unknown>,
): Promise<Cost> {
  const client = await world.database.pg.connect();
  const cost: Cost = { pages: 0, scanned: [] };
  const run = async (statement: SQL): Promise<never[]> => {
    const { sql: text, params } = toQuery(statement);
    const { rows } = await client.query(`explain (analyze, buffers, format json) ${text}`, params);
    const [{ Plan: root }] = (rows[0] as { "QUERY PLAN": [{ Plan: PlanNode }] })["QUERY PLAN"];
    cost.pages += root["Shared Hit Blocks"] + root["Shared Read Blocks"];
    cost.scanned.push(...scannedBy(root));
    return [];
  };
  const database: Database = {
    run,
    async batch(statements) {
      const results: unknown[][] = [];
      for (const statement of statements) results.push(await run(statement));
      return results as never;
    },
  };
  try {
    await client.query("begin");
    await call(createStore(database));
  } finally {
    await client.query("rollback");
    client.release();
  }
  return cost;
}

/** A node that never ran has read nothing. */
function scannedBy(node: PlanNode): string[] {
  const own =
    node["Node Type"] === "Seq Scan" && node["Actual Loops"] > 0
      ? [node["Relation Name"] ?? "?"]
      : [];
  return [...own, ...(node.Plans ?? []).flatMap(scannedBy)];
}

/** What sweeps know of a type, as far as statements go. */
export const knownType = (type: string): SweepType => ({
  type,
  publish: true,
  leaseSeconds: 60,
  delays: [30],
  jitterSeconds: 0,
});
