/** The list of jobs, newest first, with its filters. */

import { decodeCursor, encodeCursor, listName } from "../../core/cursor.js";
import { JOB_STATUSES } from "../../core/job.js";
import type { JobSummary } from "../../core/listing.js";
import { listJobs } from "../../engine/list-jobs.js";
import { Empty } from "../components/empty.js";
import { Choice, CreatedFields, Faults, Field } from "../components/field.js";
import { STATUS_WORDS, Status } from "../components/status.js";
import { type Column, type Row, Table } from "../components/table.js";
import { Ago } from "../components/time.js";
import { isUuid, shortId } from "../format.js";
import { readFilter } from "../job-filter.js";
import type { Html, Page, Visit } from "../visit.js";

const PAGE_JOBS = 50;

export const jobs: Page = {
  path: "/jobs",
  section: "jobs",
  async render(visit) {
    const { ports, actor, query } = visit;
    const key = query.get("key")?.trim() ?? "";
    if (isUuid(key)) return `/jobs/${key}`;
    const { filter, faults } = readFilter(query);
    const list = await listName(filter, actor);
    const cursor = query.get("cursor");
    const after = cursor === null ? null : decodeCursor(cursor, list);
    if (after === undefined) faults.push("This page is of other filters; start with the newest.");
    const { items, next } =
      faults.length > 0 || after === undefined
        ? { items: [], next: null }
        : await listJobs(ports, actor, filter, { limit: PAGE_JOBS, after });
    const body = (
      <>
        <h1>Jobs</h1>
        <Filters visit={visit} />
        <Faults faults={faults} />
        {items.length > 0 ? (
          <Table
            caption="Jobs, newest first"
            columns={COLUMNS}
            rows={items.map((item) => rowOf(item, visit))}
          />
        ) : (
          faults.length === 0 && <NoJobs visit={visit} more={next !== null} />
        )}
        <nav class="pager" aria-label="Pages">
          {cursor !== null && <a href={linkTo(visit)}>← Newest</a>}
          {next && <a href={linkTo(visit, encodeCursor(next, list))}>Older →</a>}
        </nav>
      </>
    );
    return { title: "Jobs", body, status: faults.length > 0 ? 400 : 200 };
  },
};

/** The same list elsewhere. */
function linkTo({ base, query }: Visit, cursor?: string): string {
  const fields = [...query].filter(([name, value]) => value && name !== "cursor");
  if (cursor !== undefined) fields.push(["cursor", cursor]);
  return `${base}/jobs?${new URLSearchParams(fields)}`;
}

function Filters({ visit: { ports, base, query } }: { visit: Visit }): Html {
  const wanted = query.getAll("status");
  return (
    <form class="filters" action={`${base}/jobs`}>
      <fieldset>
        <legend>Status</legend>
        {JOB_STATUSES.map((status) => (
          <label class="pill">
            <input type="checkbox" name="status" value={status} checked={wanted.includes(status)} />
            {STATUS_WORDS[status]}
          </label>
        ))}
      </fieldset>
      <Choice
        label="Type"
        name="type"
        value={query.get("type")}
        names={[...ports.registry.keys()]}
      />
      <div class="row">
        <button type="submit" class="main">
          Filter
        </button>
        <a href={`${base}/jobs`}>Clear</a>
      </div>
      <details open={["key", "after", "before"].some((name) => query.get(name))}>
        <summary>By id, key or time</summary>
        <div class="filters">
          <Field label="Job id or dedupe key" name="key" value={query.get("key")} />
          <CreatedFields query={query} />
        </div>
      </details>
    </form>
  );
}

const COLUMNS: Column[] = [
  ["Job"],
  ["Status"],
  ["Attempts", "#~"],
  ["Created", "#"],
  ["Next run or end", "#~"],
  ["Latest error", "~"],
];

function rowOf(job: JobSummary, { base, nowMs, actor }: Visit): Row {
  const name = (
    <>
      <a href={`${base}/jobs/${job.id}`}>
        {job.type} <span class="id">{shortId(job.id)}</span>
      </a>
      {actor.tenant === null && <span class="soft"> {job.tenant}</span>}
    </>
  );
  return {
    id: `j${job.id}`,
    cells: [
      name,
      <Status status={job.status} />,
      `${job.attempts} of ${job.attempts + job.attemptsLeft}`,
      <Ago at={job.createdAt} nowMs={nowMs} />,
      <Ago at={job.finishedAt ?? job.nextRunAt} nowMs={nowMs} />,
      job.lastError && <code>{job.lastError.code}</code>,
    ],
  };
}

function NoJobs({ visit, more }: { visit: Visit; more: boolean }): Html {
  if (more) {
    return <Empty title="No match in this stretch of the list.">Look further back.</Empty>;
  }
  return [...visit.query.values()].some(Boolean) ? (
    <Empty title="No job fits these filters.">
      <a href={`${visit.base}/jobs`}>Show all jobs</a>
    </Empty>
  ) : (
    <Empty title="There are no jobs yet.">Create one with POST /api/jobs.</Empty>
  );
}
