/** `GET /api/ready`: tells whether jobs can be accepted and will run. */

import type * as z from "zod/mini";
import type { Config } from "../../config.js";
import { type StoreHealth, StoreUnavailableError } from "../../core/ports.js";
import { SILENT_INTERVALS } from "../../core/sweep.js";
import type { checkSchema } from "../answers/get-ready.js";
import { Problem } from "../problem.js";
import { defineRoute, type Exchange } from "../route.js";

type Check = z.infer<typeof checkSchema>;

export const getReady = defineRoute(
  {
    method: "GET",
    path: "/api/ready",
    role: "none",
    summary: "Tell whether jobs can be accepted and will run",
    problems: ["not_ready"],
  },
  async (exchange) => {
    const checks = { ...(await storeChecks(exchange)), keys: keysCheck(exchange.app.config) };
    const ready = Object.values(checks).every(({ ok }) => ok);
    if (ready) return Response.json({ ready, checks });
    throw new Problem("not_ready", "At least one check failed.", { members: { ready, checks } });
  },
);

async function storeChecks({ ports, app }: Exchange): Promise<Record<string, Check>> {
  try {
    const health = await ports.store.health();
    return {
      database: { ok: true, detail: "answers" },
      migrations: migrationsCheck(health, app.latestMigration),
      sweep: sweepCheck(health, app.config.sweepIntervalSeconds),
    };
  } catch (error) {
    const unread: Check = { ok: false, detail: "could not be read" };
    // Any other error is Postgres's own: it answers, and lacks what the statement asks for.
    const answers = !(error instanceof StoreUnavailableError);
    const database = { ok: answers, detail: answers ? "answers" : "does not answer" };
    return { database, migrations: unread, sweep: unread };
  }
}

/** A newer database is fine: it is migrated before a deployment, and a rollback leaves it so. */
function migrationsCheck({ migration }: StoreHealth, latest: string | undefined): Check {
  const found = migration ?? "none";
  if (latest === undefined) return { ok: migration !== null, detail: `newest is ${found}` };
  // Names begin with their number in four digits.
  return migration !== null && migration >= latest
    ? { ok: true, detail: `newest is ${found}` }
    : { ok: false, detail: `newest is ${found}, this build expects ${latest}` };
}

function keysCheck({ apiKeys, qstashCurrentSigningKey, qstashNextSigningKey }: Config): Check {
  const ok = apiKeys.length > 0 && qstashCurrentSigningKey !== "" && qstashNextSigningKey !== "";
  return { ok, detail: ok ? "API keys and signing keys are set" : "keys are missing" };
}

/** Silence only matters while work is due: an idle database may sleep. */
function sweepCheck({ sweepAgeSeconds, workWaiting }: StoreHealth, intervalSeconds: number): Check {
  const age = sweepAgeSeconds ?? Number.POSITIVE_INFINITY;
  const detail = sweepAgeSeconds === null ? "none yet" : `last one ${Math.round(age)} s ago`;
  return { ok: !workWaiting || age <= SILENT_INTERVALS * intervalSeconds, detail };
}
