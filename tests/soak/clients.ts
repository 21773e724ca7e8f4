/** The clients of a soak: they create, repeat, and remember every word that they were told. */

import { setTimeout as delay } from "node:timers/promises";
import type { Fleet } from "./fleet.js";
import type { Random } from "./random.js";
import { pickType, SOAK_TYPES, type SoakType, writeScript } from "./script.js";
import { KEYS } from "./stage.js";

/** What clients were told, and what contradicted it. */
export interface Told {
  /** Every job that a 202 named. */
  jobIds: Set<string>;
  /** Idempotency key → the response that was accepted first. */
  responses: Map<string, string>;
  /** Keys of single creates whose 202 named a new job. */
  keysWithNewJob: Map<string, string>;
  contradictions: string[];
  counts: {
    requests: number;
    unanswered: number;
    unavailable: number;
    replays: number;
    deduplicated: number;
    cancelling: number;
    reusedKeys: number;
  };
}

export interface Answer {
  status: number;
  body: string;
  isReplay: boolean;
}

/** Sends one request to a process by chance; undefined when no answer came. */
export type Call = (
  method: string,
  path: string,
  options?: { body?: string; key?: string; secret?: string },
) => Promise<Answer | undefined>;

/** A client gives up waiting, which says nothing about the outcome. */
const PATIENCE_MS = 8000;

export function createCall(fleet: Fleet, random: Random, told: Told): Call {
  return async (method, path, { body, key, secret = KEYS.writer } = {}) => {
    const origins = fleet.origins();
    if (origins.length === 0) return undefined;
    const headers = new Headers({ authorization: `Bearer ${secret}` });
    if (body !== undefined) headers.set("content-type", "application/json");
    if (key !== undefined) headers.set("idempotency-key", key);
    told.counts.requests += 1;
    try {
      const response = await fetch(`${random.pick(origins)}${path}`, {
        method,
        headers,
        body,
        // Some hang up early, as devices do.
        signal: AbortSignal.timeout(random.happens(0.02) ? 20 : PATIENCE_MS),
      });
      const isReplay = response.headers.get("idempotent-replayed") === "true";
      return { status: response.status, body: await response.text(), isReplay };
    } catch {
      told.counts.unanswered += 1;
      return undefined;
    }
  };
}

export const nothingTold = (): Told => ({
  jobIds: new Set(),
  responses: new Map(),
  keysWithNewJob: new Map(),
  contradictions: [],
  counts: {
    requests: 0,
    unanswered: 0,
    unavailable: 0,
    replays: 0,
    deduplicated: 0,
    cancelling: 0,
    reusedKeys: 0,
  },
});

/** One request as its client means it, kept for every repeat. */
interface Order {
  key: string;
  path: "/api/jobs" | "/api/jobs/batch";
  body: string;
}

/** Creates jobs until told to stop; resolves when every request has its answer. */
export async function runClients(
  tools: { call: Call; told: Told; random: Random },
  rate: number,
  stop: AbortSignal,
): Promise<void> {
  const { random } = tools;
  const underWay = new Set<Promise<void>>();
  for (let number = 1; !stop.aborted; number += 1) {
    const order = writeOrder(random, number);
    const work = place(tools, order).finally(() => underWay.delete(work));
    underWay.add(work);
    const jobs = order.path === "/api/jobs" ? 1 : BATCH_MEAN;
    await delay((2 * random.next() * 1000 * jobs) / rate);
    // A stuck database must not make clients without end.
    while (underWay.size > 60) await Promise.race(underWay);
  }
  await Promise.all(underWay);
}

const BATCH_MEAN = 7;

function writeOrder(random: Random, number: number): Order {
  const key = `order-${number}`;
  if (random.happens(0.85)) {
    return { key, path: "/api/jobs", body: JSON.stringify(writeJob(random)) };
  }
  const jobs = Array.from({ length: random.integer(2, 2 * BATCH_MEAN - 2) }, () =>
    writeJob(random),
  );
  return { key, path: "/api/jobs/batch", body: JSON.stringify({ jobs }) };
}

function writeJob(random: Random): Record<string, unknown> {
  const type: SoakType = pickType(random);
  const isUnique = type === SOAK_TYPES.unique || type === SOAK_TYPES.uniqueStart;
  return {
    type,
    payload: writeScript(random, type),
    ...(random.happens(0.2) && { priority: random.integer(1, 9) }),
    ...(random.happens(0.15) && { delaySeconds: random.integer(1, 90) }),
    ...(isUnique && { dedupeKey: `thing-${random.integer(1, 25)}` }),
  };
}

/** Sends an order until it is answered, some of them twice at once or again afterwards. */
async function place(
  tools: { call: Call; told: Told; random: Random },
  order: Order,
): Promise<void> {
  const { call, told, random } = tools;
  const send = async (): Promise<Answer> => {
    for (;;) {
      const answer = await call("POST", order.path, order);
      if (answer && answer.status !== 503) return answer;
      if (answer) told.counts.unavailable += 1;
      await delay(random.between(30, 300));
    }
  };
  const copies = random.happens(0.1) ? 2 : 1;
  const answers = await Promise.all(Array.from({ length: copies }, send));
  if (random.happens(0.1)) {
    await delay(random.between(100, 3000));
    answers.push(await send());
  }
  for (const answer of answers) note(told, order, answer);
  if (random.happens(0.03) && told.responses.has(order.key)) await reuseKey(call, told, order);
}

/** Writes down an answer; every 202 of one key must be the same to the last byte. */
function note(told: Told, { key, path }: Order, { status, body, isReplay }: Answer): void {
  if (status === 409 && body.includes("dedupe_job_cancelling")) {
    told.counts.cancelling += 1;
    return;
  }
  if (status !== 202) {
    told.contradictions.push(`${path} ${key}: ${status} ${body.slice(0, 200)}`);
    return;
  }
  if (isReplay) told.counts.replays += 1;
  const first = told.responses.get(key);
  if (first !== undefined && first !== body) {
    told.contradictions.push(`key ${key} was answered with ${first} and with ${body}`);
  }
  told.responses.set(key, body);
  const parsed = JSON.parse(body) as CreatedJob | { jobs: CreatedJob[] };
  const created = "jobs" in parsed ? parsed.jobs : [parsed];
  for (const { jobId, deduplicated } of created) {
    told.jobIds.add(jobId);
    if (deduplicated) told.counts.deduplicated += 1;
    else if (path === "/api/jobs") told.keysWithNewJob.set(key, jobId);
  }
}

interface CreatedJob {
  jobId: string;
  deduplicated: boolean;
}

/** The same key with another body is refused, whatever became of the first. */
async function reuseKey(call: Call, told: Told, { key, path }: Order): Promise<void> {
  const body = JSON.stringify({ type: SOAK_TYPES.plain, payload: null, priority: 1 });
  const answer = await call("POST", path, { key, body });
  if (!answer || answer.status === 503) return;
  told.counts.reusedKeys += 1;
  if (answer.status === 202) told.contradictions.push(`key ${key} took two requests`);
}
