/** From drizzle's templates to what the driver sends. */

import type { SQL } from "drizzle-orm";
import { CasingCache } from "drizzle-orm/casing";

/**
 * Postgres's way of writing names, parameters and texts.
 *
 * Drizzle's own dialect says the same and brings its query builder along, which nothing here uses: 6 KB
 * gzipped of the Worker's bundle.
 */
const NOTATION = {
  casing: new CasingCache(),
  escapeName: (name: string) => `"${name.replaceAll('"', '""')}"`,
  escapeParam: (at: number) => `$${at + 1}`,
  escapeString: (text: string) => `'${text.replaceAll("'", "''")}'`,
};

/** Writes a statement: its text with $1, $2 … and its parameters. */
export function toQuery(statement: SQL): { sql: string; params: unknown[] } {
  return statement.toQuery(NOTATION);
}
