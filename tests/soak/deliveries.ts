/** Brings QStash's deliveries to a process, late or twice where the weather says so, and counts the answers. */

import { sendOverHttp } from "../../dev/qstash/delivery/send-over-http.js";
import type { Qstash } from "../../dev/qstash/start.js";
import type { Fleet } from "./fleet.js";
import type { Random } from "./random.js";

export interface Deliveries {
  /** How often what was answered, by status and outcome. */
  answers: Map<string, number>;
  /** Rates of what goes wrong on the way; all zero at first. */
  faults: { lateRate: number; lateMsMax: number; copyRate: number };
  late: number;
  copies: number;
  underWay: number;
  send(request: Request): Promise<Response>;
}

/** Deliveries to processes by chance, as a platform's router spreads them. */
export function trackDeliveries(fleet: Fleet, qstash: Qstash, random: Random): Deliveries {
  const tracked: Deliveries = {
    answers: new Map(),
    faults: { lateRate: 0, lateMsMax: 0, copyRate: 0 },
    late: 0,
    copies: 0,
    underWay: 0,
    async send(request) {
      tracked.underWay += 1;
      try {
        await disturb(request);
        const response = await forward(request);
        count(await describe(response.clone()));
        return response;
      } catch (error) {
        count("no answer");
        throw error;
      } finally {
        tracked.underWay -= 1;
      }
    },
  };
  const count = (answer: string): void => {
    tracked.answers.set(answer, (tracked.answers.get(answer) ?? 0) + 1);
  };

  async function disturb(request: Request): Promise<void> {
    const { lateRate, lateMsMax, copyRate } = tracked.faults;
    if (random.happens(copyRate)) {
      const messageId = request.headers.get("upstash-message-id") ?? "";
      tracked.copies += 1;
      qstash.duplicate(messageId, { afterMs: random.between(0, 120_000) });
    }
    if (random.happens(lateRate)) {
      tracked.late += 1;
      await new Promise((resolve) => setTimeout(resolve, random.between(0, lateMsMax)));
    }
  }

  async function forward(request: Request): Promise<Response> {
    const origins = fleet.origins();
    if (origins.length === 0) throw new Error("no process is up");
    const { pathname } = new URL(request.url);
    return sendOverHttp(new Request(`${random.pick(origins)}${pathname}`, request));
  }

  return tracked;
}

/** A short name of an answer: `200 noop finished`, `409 job_running`. */
async function describe(response: Response): Promise<string> {
  const body = (await response.json().catch(() => ({}))) as Record<string, unknown>;
  const words = [body.outcome, body.reason, body.code].filter((word) => typeof word === "string");
  return [response.status, ...words].join(" ");
}
