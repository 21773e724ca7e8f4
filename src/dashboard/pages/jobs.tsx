/** The list of jobs, newest first, with its filters. */

import { decodeCursor, encodeCursor, listName } from "../../core/cursor.js";
import { JOB_STATUSES } from "../../core/job.js";
import type { JobSummary } from "../../core/listing.js";
import { listJobs } from "../../engine/list-jobs.js";
import { Empty } from "../components/empty.js";
import { STATUS_WORDS, Status } from "../components/status.js";
import { type Column, Table } from "../components/table.js";
import { Ago } from "../components/time.js";
import { shortId } from "../format.js";
import { readFilter } from "../job-filter.js";
import type { Html, Page, Visit } from "../visit.js";

const PAGE_JOBS = 50;
const JOB_ID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

export const jobs: Page = {
  path: "/jobs",
  section: "jobs",
  async render(visit) {
    const { ports, actor, query } = visit;
    const key = query.get("key")?.trim() ?? "";
    if (JOB_ID.test(key)) return { title: "Jobs", body: <p />, redirectTo: `/jobs/${key}` };
    const { filter, faults } = readFilter(query);
    const list = await listName(filter, actor);
    const cursor = query.get("cursor");
    const after = cursor === null ? null : decodeCursor(cursor, list);
    if (after === undefined)
      faults.push("This page belongs to other filters; start with the newest.");
    const { items, next } =
      faults.length > 0 || after === undefined
        ? { items: [], next: null }
        : await listJobs(ports, actor, filter, { limit: PAGE_JOBS, after });
    const body = (
      <>
        <h1>Jobs</h1>
        <Filters visit={visit} />
        {faults.map((fault) => (
          <p class="notice bad" role="alert">
            {fault}
          </p>
        ))}
        {items.length > 0 && <JobTable visit={visit} items={items} />}
        {items.length === 0 && faults.length === 0 && <NoJobs visit={visit} more={next !== null} />}
        <nav class="pager" aria-label="Pages">
          {cursor !== null && <a href={linkTo(visit, null)}>← Newest</a>}
          {next && <a href={linkTo(visit, encodeCursor(next, list))}>Older →</a>}
        </nav>
      </>
    );
    return { title: "Jobs", body, status: faults.length > 0 ? 400 : 200 };
  },
};

/** The same list elsewhere. */
function linkTo({ base, query }: Visit, cursor: string | null): string {
  const next = new URLSearchParams(
    [...query].filter(([name, value]) => value && name !== "cursor"),
  );
  if (cursor !== null) next.set("cursor", cursor);
  return `${base}/jobs?${next}`;
}

function Filters({ visit }: { visit: Visit }): Html {
  const { ports, base, query } = visit;
  const type = query.get("type") ?? "";
  const types = [...new Set([...ports.registry.keys(), type])].filter(Boolean).sort();
  return (
    <form class="filters" action={`${base}/jobs`}>
      <fieldset>
        <legend>Status</legend>
        {JOB_STATUSES.map((status) => (
          <label class="pill">
            <input
              type="checkbox"
              name="status"
              value={status}
              checked={query.getAll("status").includes(status)}
            />
            {STATUS_WORDS[status]}
          </label>
        ))}
      </fieldset>
      <label>
        Type
        <select name="type">
          <option value="">All</option>
          {types.map((each) => (
            <option value={each} selected={each === type}>
              {each}
            </option>
          ))}
        </select>
      </label>
      <label>
        Job id or dedupe key
        <input name="key" value={query.get("key") ?? ""} autocomplete="off" spellcheck={false} />
      </label>
      <label>
        Created from (UTC)
        <input type="datetime-local" name="after" value={query.get("after") ?? ""} />
      </label>
      <label>
        until
        <input type="datetime-local" name="before" value={query.get("before") ?? ""} />
      </label>
      <div class="row">
        <button type="submit" class="main">
          Filter
        </button>
        <a href={`${base}/jobs`}>Clear</a>
      </div>
    </form>
  );
}

const COLUMNS: Column[] = [
  { name: "Status" },
  { name: "Job" },
  { name: "Attempts", class: "number wide" },
  { name: "Created", class: "number" },
  { name: "Next run or end", class: "number wide" },
  { name: "Latest error", class: "wide" },
];

function JobTable({ visit, items }: { visit: Visit; items: JobSummary[] }): Html {
  const { base, nowMs, actor } = visit;
  return (
    <Table caption="Jobs, newest first" columns={COLUMNS}>
      {items.map((job) => (
        <tr id={`j${job.id}`}>
          <td>
            <Status status={job.status} />
          </td>
          <th scope="row">
            <a href={`${base}/jobs/${job.id}`}>
              {job.type} <span class="id">{shortId(job.id)}</span>
            </a>
            {actor.tenant === null && <span class="soft"> {job.tenant}</span>}
          </th>
          <td class="number wide">
            {job.attempts}
            <span class="soft"> of {job.attempts + job.attemptsLeft}</span>
          </td>
          <td class="number">
            <Ago at={job.createdAt} nowMs={nowMs} />
          </td>
          <td class="number wide">
            <Ago at={job.finishedAt ?? job.nextRunAt} nowMs={nowMs} />
          </td>
          <td class="wide error">{job.lastError && <code>{job.lastError.code}</code>}</td>
        </tr>
      ))}
    </Table>
  );
}

function NoJobs({ visit, more }: { visit: Visit; more: boolean }): Html {
  if (more) {
    return (
      <Empty title="No match in this stretch of the list.">There may be some further back.</Empty>
    );
  }
  const isFiltered = [...visit.query].some(([name, value]) => value && name !== "notice");
  return isFiltered ? (
    <Empty title="No job fits these filters.">
      <a href={`${visit.base}/jobs`}>Show all jobs</a>
    </Empty>
  ) : (
    <Empty title="There are no jobs yet.">
      Create one with POST /api/jobs; <a href="/api/docs">the API's documentation</a> shows how.
    </Empty>
  );
}
