/** The registered job types with their settings, to pause and resume. */

import { includesRole } from "../../core/access.js";
import { listTypes, type TypeView } from "../../engine/inspect.js";
import { ActionForm, ReasonedForm } from "../components/action-form.js";
import { Empty } from "../components/empty.js";
import { type Column, Table } from "../components/table.js";
import { Ago } from "../components/time.js";
import { formatDuration } from "../format.js";
import type { Html, Page, Visit } from "../visit.js";

const COLUMNS: Column[] = [
  { name: "Type" },
  { name: "State" },
  { name: "Attempts", class: "number wide" },
  { name: "Backoff", class: "number wide" },
  { name: "Time limit", class: "number wide" },
  { name: "Lease", class: "number wide" },
  { name: "" },
];

export const jobTypes: Page = {
  path: "/types",
  section: "types",
  async render(visit) {
    const found = await listTypes(visit.ports);
    const body = (
      <>
        <h1>Types</h1>
        {found.length === 0 ? (
          <Empty title="No job type is registered.">Add a file to src/jobs and deploy.</Empty>
        ) : (
          <Table caption="Registered job types" columns={COLUMNS}>
            {found.map((each) => (
              <Row visit={visit} type={each} />
            ))}
          </Table>
        )}
        {!includesRole(visit.role, "admin") && (
          <p class="soft">Pausing a type concerns every tenant, so it takes an admin's key.</p>
        )}
      </>
    );
    return { title: "Types", body };
  },
};

function Row({ visit, type: { definition, state } }: { visit: Visit; type: TypeView }): Html {
  const { type, runsOn, maxAttempts, backoff, timeoutSeconds, leaseSeconds } = definition;
  return (
    <tr id={`t-${type}`}>
      <th scope="row">
        <a href={`${visit.base}/jobs?type=${type}`}>{type}</a>
        {runsOn === "worker" && <span class="soft block">runs on a worker</span>}
      </th>
      <td>
        {state.pausedAt === null ? (
          "Active"
        ) : (
          <>
            <span class="tag">paused</span> <Ago at={state.pausedAt} nowMs={visit.nowMs} />
            <span class="soft block">
              by {state.pausedBy}
              {state.pauseReason && `: ${state.pauseReason}`}
            </span>
          </>
        )}
      </td>
      <td class="number wide">{maxAttempts}</td>
      <td class="number wide">
        {formatDuration(backoff.baseSeconds)} – {formatDuration(backoff.maxSeconds)}
      </td>
      <td class="number wide">{formatDuration(timeoutSeconds)}</td>
      <td class="number wide">{formatDuration(leaseSeconds)}</td>
      <td>
        {includesRole(visit.role, "admin") && (
          <Switch visit={visit} type={type} paused={state.pausedAt !== null} />
        )}
      </td>
    </tr>
  );
}

function Switch({ visit, type, paused }: { visit: Visit; type: string; paused: boolean }): Html {
  if (paused) {
    return <ActionForm visit={visit} path={`/types/${type}/resume`} label="Resume" tone="main" />;
  }
  return (
    <ReasonedForm
      visit={visit}
      path={`/types/${type}/pause`}
      label="Pause"
      tone="danger"
      hint="Nothing of it starts, of any tenant, until it is resumed. What runs goes on."
    />
  );
}
