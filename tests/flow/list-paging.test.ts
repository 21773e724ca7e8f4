import fc from "fast-check";
import { expect, test } from "vitest";
import { JOB_STATUSES, type JobStatus } from "../../src/core/job.js";
import type { JobFilter, JobSummary, ListPosition } from "../../src/core/listing.js";
import { setUpRace } from "../support/race.js";
import { COMPLETED, cancelJob, FATAL, finishAs, RETRY, replayJob } from "../support/race-jobs.js";
import { claimFor, createJobs, newJob } from "../support/store.js";

const race = setUpRace();
const TENANTS = ["acme", "globex", "initech"];
const TYPES = ["test.a", "test.b"];
const KEYS = [null, "k1", "k2"];
const REPORTS = { complete: COMPLETED, fail: FATAL, retry: RETRY };

type Change =
  /** One statement makes them, so they share their instant. */
  | { kind: "insert"; tenant: string; types: string[] }
  | { kind: "cancel" | "replay" | "complete" | "fail" | "retry" | "claim"; job: number };

/** A job of the time before the first page; many share their instant. */
interface Past {
  tenant: string;
  type: string;
  status: JobStatus;
  key: string | null;
  second: number;
}

const pastArb: fc.Arbitrary<Past> = fc.record({
  tenant: fc.constantFrom(...TENANTS),
  type: fc.constantFrom(...TYPES),
  status: fc.constantFrom(...JOB_STATUSES),
  key: fc.constantFrom(...KEYS),
  second: fc.nat(12),
});

const changeArb: fc.Arbitrary<Change> = fc.oneof(
  fc.record({
    kind: fc.constant("insert" as const),
    tenant: fc.constantFrom(...TENANTS),
    types: fc.array(fc.constantFrom(...TYPES), { minLength: 1, maxLength: 6 }),
  }),
  fc.record({
    kind: fc.constantFrom(...(["cancel", "replay", "complete", "fail", "retry", "claim"] as const)),
    job: fc.nat(1000),
  }),
);

const filterArb: fc.Arbitrary<JobFilter> = fc.record({
  statuses: fc.constantFrom<JobStatus[]>(
    [],
    ["queued"],
    ["processing"],
    ["completed"],
    ["dead_letter", "cancelled"],
    ["queued", "processing", "failed"],
    ["queued", "completed"],
  ),
  types: fc.constantFrom([], ["test.a"], ["test.a", "test.b"]),
  dedupeKey: fc.constantFrom(null, null, null, "k1"),
  createdAfter: fc.constant(null),
  createdBefore: fc.constant(null),
});

interface Request {
  filter: JobFilter;
  tenant: string | null;
  limit: number;
  entriesMax: number;
}

const requestArb: fc.Arbitrary<Request> = fc.record({
  filter: filterArb,
  tenant: fc.constantFrom(null, "acme"),
  limit: fc.integer({ min: 1, max: 4 }),
  entriesMax: fc.integer({ min: 1, max: 12 }),
});

/** A job as the list's own columns tell it, read without the list. */
interface Known {
  id: string;
  tenant: string;
  type: string;
  key: string | null;
  status: JobStatus;
}

const known = (): Promise<Known[]> =>
  race.rows<Known>(`select id, tenant, job_type as type, dedupe_key as key, status from jobs
    order by created_at desc, id desc`);

async function fill(past: Past[]): Promise<void> {
  await race.rows("delete from jobs");
  await race.rows(
    `insert into jobs (id, tenant, job_type, status, priority, max_attempts, attempts, payload_json,
       dedupe_key, created_at, updated_at, started_at, attempt_started_at, lock_token, lock_until,
       next_run_at, next_trigger_at, finished_at, last_error)
     select gen_random_uuid(), tenant, type, status, 0, 3, 1, '{}',
       case when finished then key end, now() - make_interval(secs => second), now(), now(), now(),
       case when running then gen_random_uuid() end, case when running then now() + interval '1 hour' end,
       case when waiting then now() end, case when waiting then now() end,
       case when finished then now() end, '{"code": "handler_error"}'
     from (
       select *, status = 'processing' as running, status in ('queued', 'failed') as waiting,
         status in ('completed', 'dead_letter', 'cancelled') as finished
       from jsonb_to_recordset($1::jsonb)
         as r(tenant text, type text, status text, key text, second int)) past`,
    [JSON.stringify(past)],
  );
}

/** Carries out one change by the production statements; gives the job that it may have changed. */
async function carryOut(change: Change): Promise<string | undefined> {
  const { direct } = race;
  if (change.kind === "insert") {
    const jobs = change.types.map((type) => newJob({ type, maxAttempts: 2 }));
    await createJobs(direct, jobs, change.tenant);
    return undefined;
  }
  const all = await known();
  const job = all[change.job % Math.max(1, all.length)];
  if (!job) return undefined;
  if (change.kind === "cancel") await cancelJob(direct, job.id);
  else if (change.kind === "replay") await replayJob(direct, job.id);
  else {
    // The claim may well take another job than the one that is named.
    const claimed = await claimFor(direct, job);
    if (claimed.kind !== "claimed") return undefined;
    if (change.kind !== "claim") await finishAs(direct, claimed.attempt, REPORTS[change.kind]);
    return claimed.attempt.jobId;
  }
  return job.id;
}

/** Pages through all of a list, one change after each page as long as there are any. */
async function readAll({ filter, tenant, limit, entriesMax }: Request, between: Change[]) {
  const items: JobSummary[] = [];
  const touched = new Set<string | undefined>();
  const actor = { tenant, keyName: "any" };
  const changes = between.values();
  let after: ListPosition | null = null;
  do {
    const page = await race.direct.listJobs(filter, actor, { limit, after, entriesMax });
    expect(page.items.length).toBeLessThanOrEqual(limit);
    expect(isOlder(page.next, after), "every page gets on").toBe(true);
    items.push(...page.items);
    after = page.next;
    const { value: change } = changes.next();
    if (change) touched.add(await carryOut(change));
  } while (after);
  return { items, touched };
}

function isOlder(place: ListPosition | null, than: ListPosition | null): boolean {
  if (!place || !than) return true;
  const micros = place.createdAtMicros - than.createdAtMicros;
  return micros < 0 || (micros === 0 && place.id < than.id);
}

test("pages of any list, with any inserts and changes in between, skip and repeat nothing (T03)", async () => {
  const past = fc.array(pastArb, { minLength: 10, maxLength: 60 });
  const changes = fc.array(changeArb, { maxLength: 12 });
  const property = fc.asyncProperty(past, changes, requestArb, async (first, between, request) => {
    await fill(first);
    const { filter, tenant } = request;
    const matches = (job: Omit<Known, "key">): boolean =>
      (tenant === null || job.tenant === tenant) &&
      (filter.types.length === 0 || filter.types.includes(job.type)) &&
      (filter.statuses.length === 0 || filter.statuses.includes(job.status));
    const present = (await known()).filter(
      (job) => matches(job) && (filter.dedupeKey === null || job.key === filter.dedupeKey),
    );
    const { items, touched } = await readAll(request, between);

    const ids = items.map(({ id }) => id);
    expect(new Set(ids).size, "nothing twice").toBe(ids.length);
    const order = (await known()).map(({ id }) => id);
    expect(ids, "newest first").toEqual(order.filter((id) => ids.includes(id)));
    expect(
      items.filter((item) => !matches(item)),
      "nothing else",
    ).toEqual([]);
    const skipped = present.filter(({ id }) => !ids.includes(id) && !touched.has(id));
    expect(skipped, "nothing skipped").toEqual([]);
    if (filter.statuses.length === 0) {
      expect(
        present.filter(({ id }) => !ids.includes(id)),
        "whatever its state",
      ).toEqual([]);
    }
  });
  await fc.assert(property, { numRuns: 60 });
});
