/** The application of this package inside the command line's own process. */

import {
  type Antrean,
  compose,
  composeReconciler,
  migrateDatabase,
  type Reconciler,
} from "../compose.js";
import { type Environment, readConfig } from "../config.js";
import { createGuardedFetch } from "../entry/guarded-fetch.js";
import { webPlatform } from "../entry/platform.js";
import { registry } from "../jobs/registry.gen.js";
import { UsageError, type WriteLog } from "./io.js";
import { readMigrations } from "./read-migrations.js";

/** Composes it as the Node entry does, without a server. */
export function composeLocal(env: Environment, writeLog: WriteLog): Antrean {
  const config = readConfig(env, "node");
  const outboundFetch = createGuardedFetch({ allow: config.env.OUTBOUND_ALLOW });
  return compose(config, registry, { ...webPlatform, outboundFetch, writeLog });
}

/** Compares the deployment's database with its QStash account. */
export function composeLocalReconciler(env: Environment, writeLog: WriteLog): Reconciler {
  return composeReconciler(readConfig(env, "node"), registry, { ...webPlatform, writeLog });
}

/** Applies the migrations of this package; needs nothing but the database's address. */
export async function migrateLocal(env: Environment): Promise<string[]> {
  const databaseUrl = env.DATABASE_URL;
  if (!databaseUrl) throw new UsageError("DATABASE_URL is missing.");
  const database = { databaseUrl, databaseHttpUrl: env.DATABASE_HTTP_URL };
  return migrateDatabase(database, await readMigrations());
}
