import fc from "fast-check";
import { afterAll, beforeAll, expect, test } from "vitest";
import * as z from "zod";
import { defineJob, FatalError } from "../../src/core/define-job.js";
import { PROBLEMS } from "../../src/http/problem.js";
import httpRequest from "../../src/jobs/http_request.js";
import { type Draft, draftArb, type Known, requestOf } from "../support/fuzz-requests.js";
import { createWorld, KEYS, type World } from "../support/world.js";

/** `FUZZ_REQUESTS=100000 FUZZ_SEED=7 npm test -- tests/flow/fuzz` looks longer, and elsewhere. */
const REQUESTS = Number(process.env.FUZZ_REQUESTS ?? 800);
const SEED = Number(process.env.FUZZ_SEED ?? 1);
const TIMEOUT_MS = 60_000 + REQUESTS * 60;

const jobs = [
  defineJob({ type: "fuzz.note", payload: z.unknown(), run: ({ payload }) => payload as null }),
  defineJob({
    type: "fuzz.strict",
    payload: z.strictObject({ to: z.string() }),
    dedupe: { key: ({ to }) => to, until: "started" },
    run: ({ once }) => once("charge", () => "done"),
  }),
  defineJob({
    type: "fuzz.fails",
    payload: z.unknown(),
    maxAttempts: 2,
    run: ({ payload }) => {
      throw payload === null ? new FatalError("for good") : new Error("for now");
    },
  }),
  httpRequest,
];

let world: World;
let known: Known;

beforeAll(async () => {
  const outboundFetch = async () => new Response("taken");
  world = await createWorld({ jobs, outboundFetch, database: { fresh: true } });
  await countWrites();
  known = { jobIds: [], cursors: [], signingKey: world.qstash.keys().current };
  await seed();
  await newlyWritten();
});

/** Fails when an answer was not as documented. */
afterAll(() => world?.close());

/** Jobs in every state that is reached without waiting, and schedules, of two tenants. */
async function seed(): Promise<void> {
  const rounds = { "fuzz.note": 1, "fuzz.strict": { to: "Ana" }, "fuzz.fails": null };
  for (const secret of [KEYS.acme, KEYS.globex]) {
    for (const [type, payload] of Object.entries(rounds)) {
      for (const delaySeconds of [0, 3600]) {
        const body = { type, payload, delaySeconds, dedupeKey: `${type}-${delaySeconds}` };
        const answer = await world.request("POST", "/api/jobs", { secret, body });
        known.jobIds.push(((await answer.json()) as { jobId: string }).jobId);
      }
    }
    for (const name of ["s1", "s2"]) {
      const body = { name, cron: "30 2 * * *", type: "fuzz.note", payload: 1 };
      await world.request("POST", "/api/schedules", { secret, body });
    }
  }
  await world.qstash.deliverDue();
  await world.create("fuzz.fails", 1).then((jobId) => known.jobIds.push(jobId));
  await world.qstash.deliverDue();
}

/** Makes every table count its writes, in the transaction that writes. */
async function countWrites(): Promise<void> {
  await world.database.pg.query(`
    create schema fuzz;
    create table fuzz.writes (name text primary key, n bigint not null);
    create function fuzz.count_write() returns trigger language plpgsql as $$ begin
      update fuzz.writes set n = n + 1 where name = tg_table_name;
      return null;
    end $$;
    do $$ declare name text; begin
      for name in select tablename from pg_tables where schemaname = 'public' loop
        insert into fuzz.writes values (name, 0);
        execute format('create trigger count_write after insert or update or delete on public.%I
          for each row execute function fuzz.count_write()', name);
      end loop;
    end $$`);
}

/** 503 for a state, and not for a request: a job that may come yet, sweeps that do not come. */
const STATES = ["job_unknown", "not_ready"];

let sent = 0;
/** Counts after the latest request. */
let written: Record<string, string> = {};
const answers = new Map<string, number>();

/** Sends a request, and gives what is wrong with its answer or with what it left behind. */
async function faultsOf(draft: Draft): Promise<string[]> {
  const request = requestOf(draft, known);
  if (!request) return [];
  sent += 1;
  if (sent % 500 === 0) forgetMessages();
  const calls = world.database.neon.requests;
  const response = await world.instance.fetch(request);
  const { status, headers } = response;
  const text = await response.text();
  const faults = [...world.undocumented];
  world.undocumented.clear();
  if (!headers.get("x-request-id")) faults.push("no request id");
  const json = /json$/.test(headers.get("content-type") ?? "") && text ? JSON.parse(text) : {};
  if (status < 400) remember(json);
  else faults.push(...refusalFaults(request, status, headers, json));
  // What asks nothing of the database changes nothing in it.
  const changed = world.database.neon.requests > calls ? await newlyWritten() : [];
  // A verified delivery that runs nothing may leave an event that says so, and is counted.
  const allowed = request.headers.has("upstash-signature") ? ["job_events", "job_stats"] : [];
  const refusedChanges = changed.filter((table) => status >= 400 && !allowed.includes(table));
  if (refusedChanges.length > 0) faults.push(`refused, and changed ${refusedChanges}`);
  const kind = `${status} ${json.code ?? ""}`;
  answers.set(kind, (answers.get(kind) ?? 0) + 1);
  return faults.map(
    (fault) => `${request.method} ${request.url.slice(0, 200)} ${status}: ${fault}`,
  );
}

/** Gives the tables that were written to since it was last asked. */
async function newlyWritten(): Promise<string[]> {
  const before = written;
  const { rows } = await world.database.pg.query<{ name: string; n: string }>(
    "select name, n from fuzz.writes",
  );
  written = Object.fromEntries(rows.map(({ name, n }) => [name, n]));
  return Object.keys(written).filter((name) => written[name] !== before[name]);
}

function refusalFaults(
  request: Request,
  status: number,
  headers: Headers,
  { code }: { code?: string },
): string[] {
  const faults: string[] = [];
  if (headers.get("content-type") !== "application/problem+json") faults.push("not a problem");
  if (request.method !== "HEAD" && !(String(code) in PROBLEMS)) faults.push(`code ${code}`);
  if (status >= 500 && !STATES.includes(String(code))) faults.push("a client can cause this");
  return faults;
}

/** Later requests are about what earlier ones made. */
function remember(answer: { jobId?: string; jobs?: { jobId: string }[]; nextCursor?: string }) {
  const made = [answer, ...(answer.jobs ?? [])].flatMap(({ jobId }) => jobId ?? []);
  known.jobIds = [...new Set([...known.jobIds, ...made])].slice(-200);
  if (answer.nextCursor) known.cursors = [...known.cursors, answer.nextCursor].slice(-8);
}

/** The stand-in keeps every message that nobody delivers. */
function forgetMessages(): void {
  for (const { messageId } of world.qstash.pending()) world.qstash.drop(messageId);
}

test(
  "no request is answered with a fault of ours, and none that is refused changes anything",
  async () => {
    const property = fc.asyncProperty(draftArb, async (draft) => {
      expect(await faultsOf(draft)).toEqual([]);
    });
    // The seed and the request are in the message of a failure; its state is that of one run.
    await fc.assert(property, { numRuns: REQUESTS, seed: SEED, endOnFailure: true });
    const kinds = Object.fromEntries([...answers].sort());
    // Neither the checks at the door nor what lies behind them may be all that is reached.
    expect(kinds, JSON.stringify(kinds)).toMatchObject({
      "200 ": expect.any(Number),
      "202 ": expect.any(Number),
      "400 malformed_json": expect.any(Number),
      "401 unauthorized": expect.any(Number),
      "404 not_found": expect.any(Number),
      "405 method_not_allowed": expect.any(Number),
      "409 idempotency_key_reused": expect.any(Number),
      "415 unsupported_media_type": expect.any(Number),
      "422 validation_failed": expect.any(Number),
      "489 delivery_malformed": expect.any(Number),
    });
  },
  TIMEOUT_MS,
);

test("control: a refusal that leaves something behind is found", async () => {
  const { instance } = world;
  const fetch = async (request: Request): Promise<Response> => {
    const list = new Request(request.url, { headers: { authorization: `Bearer ${KEYS.acme}` } });
    await instance.fetch(list);
    await world.database.pg.query("update jobs set updated_at = now() where id = $1", [
      known.jobIds[0],
    ]);
    return instance.fetch(request);
  };
  world.use({ ...instance, fetch });
  const headers = { authorization: "Bearer nobody" };
  const draft = { method: "GET", path: "/api/jobs", headers, body: undefined, signed: false };
  expect(await faultsOf(draft)).toEqual([
    expect.stringContaining("401: refused, and changed jobs"),
  ]);
  world.use(instance);
});
