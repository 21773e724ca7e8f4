/** Kinds of columns that tables share. */

import { timestamp } from "drizzle-orm/pg-core";

/** No column has a default of now(): every statement sets its instants, so that one clock rules (I4). */
export const instant = (name: string) => timestamp(name, { withTimezone: true, mode: "string" });
