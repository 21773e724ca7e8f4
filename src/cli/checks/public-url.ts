/** Asks the deployment at its public address. */

import type { Config } from "../../config.js";
import type { Session } from "../session.js";
import type { Finding } from "./finding.js";

const TIMEOUT_MS = 10_000;
const LOCAL = /^(?:localhost|127\.\d+\.\d+\.\d+|\[::1\])$/;

/** Checks that QStash can get there, and that it is Antrean who answers. */
export async function checkPublicUrl(session: Session, config: Config): Promise<Finding[]> {
  const check = "public url";
  const { publicUrl, qstashUrl } = config;
  if (isLocal(publicUrl) && !isLocal(qstashUrl)) {
    const detail = `${publicUrl} is this machine, where QStash cannot deliver`;
    return [{ check, state: "fault", detail, advice: "Set PUBLIC_URL to the deployment." }];
  }
  try {
    return [{ check, ...(await probe(session, config)) }];
  } catch (error) {
    const detail = `${publicUrl} does not answer: ${String(error)}`;
    return [
      { check, state: "fault", detail, advice: "Check the address, and that it is deployed." },
    ];
  }
}

function isLocal(url: string): boolean {
  return LOCAL.test(new URL(url).hostname);
}

async function probe(session: Session, config: Config): Promise<Omit<Finding, "check">> {
  const { fetch, stop } = session.io;
  const { publicUrl, protectionBypass } = config;
  const headers = protectionBypass ? { "x-vercel-protection-bypass": protectionBypass } : undefined;
  const signal = AbortSignal.any([stop, AbortSignal.timeout(TIMEOUT_MS)]);
  const init: RequestInit = { headers, signal, redirect: "manual" };
  const response = await fetch(new Request(`${publicUrl}/api/ready`, init));
  // An answer that is not ready is one of ours as well, and says what it lacks.
  const answer = await response.json().catch(() => undefined);
  const { ready, checks } = (answer ?? {}) as Readiness;
  if (ready === true) return { state: "ok", detail: `${publicUrl} is ready` };
  if (!checks) {
    const detail = `${publicUrl}/api/ready answered ${response.status}, and not as Antrean does`;
    const advice = "Check PUBLIC_URL; behind Vercel's protection set its bypass secret.";
    return { state: "fault", detail, advice };
  }
  const lacking = Object.entries(checks).filter(([, { ok }]) => !ok);
  const detail = lacking.map(([name, each]) => `${name}: ${each.detail}`).join("; ");
  return { state: "fault", detail: `${publicUrl} is not ready: ${detail}` };
}

interface Readiness {
  ready?: boolean;
  checks?: Record<string, { ok: boolean; detail: string }>;
}
