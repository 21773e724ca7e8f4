/** Asks the application itself, composed in this process over the deployment's environment. */

import type { Antrean } from "../../compose.js";
import type { Config } from "../../config.js";
import type { Io } from "../io.js";
import type { Session } from "../session.js";
import type { Finding } from "./finding.js";

interface Readiness {
  checks?: Record<string, { ok: boolean; detail: string }>;
}

const ADVICE: Record<string, string> = {
  database: "Check DATABASE_URL, and that the Neon project exists and is not suspended.",
  migrations: "Run antrean migrate with this DATABASE_URL.",
  sweep: "Run antrean setup, or look into QStash's logs why the sweep is not called.",
  keys: "Set API_KEYS and both signing keys.",
};

/** QStash's signatures hold for five minutes, by the clock of the machine that checks them. */
const SKEW_SECONDS = { warning: 5, fault: 120 } as const;

/** Checks database, migrations, keys, the age of the last sweep, and the two clocks. */
export async function checkApplication(session: Session, config: Config): Promise<Finding[]> {
  let application: Antrean;
  try {
    application = await session.application(() => undefined);
  } catch (error) {
    return [{ check: "application", state: "fault", detail: String(error) }];
  }
  const response = await application.fetch(new Request(`${config.publicUrl}/api/ready`));
  const { checks } = (await response.json()) as Readiness;
  if (!checks) {
    const detail = `/api/ready answered ${response.status}, and no checks`;
    return [{ check: "application", state: "fault", detail }];
  }
  const findings = Object.entries(checks).map(([check, { ok, detail }]): Finding => {
    return ok
      ? { check, state: "ok", detail }
      : { check, state: "fault", detail, advice: ADVICE[check] };
  });
  // Without a database there is no clock to compare with.
  if (!checks.migrations?.ok) return findings;
  return [...findings, await checkClock(session.io, application, config)];
}

async function checkClock({ now }: Io, application: Antrean, config: Config): Promise<Finding> {
  const check = "clock";
  const headers = { authorization: `Bearer ${config.apiKeys[0]?.secret}` };
  const request = new Request(`${config.publicUrl}/api/stats`, { headers });
  const before = now();
  const response = await application.fetch(request);
  const after = now();
  if (!response.ok) return { check, state: "fault", detail: `stats answered ${response.status}` };
  const { at } = (await response.json()) as { at: string };
  const skewMs = Math.abs(Date.parse(at) - (before + after) / 2);
  // Within the round trip nobody can tell.
  const seconds = Math.max(0, skewMs - (after - before) / 2) / 1000;
  const detail = `this machine and the database differ by ${seconds.toFixed(1)} s`;
  if (seconds < SKEW_SECONDS.warning) return { check, state: "ok", detail };
  const advice = "The database's clock decides about jobs; set this machine's by NTP.";
  return { check, state: seconds < SKEW_SECONDS.fault ? "warning" : "fault", detail, advice };
}
