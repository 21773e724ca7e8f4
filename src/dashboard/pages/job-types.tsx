/** The registered job types with their settings, to pause and resume. */

import { includesRole } from "../../core/access.js";
import { listTypes, type TypeView } from "../../engine/inspect.js";
import { ActionForm, ReasonedForm } from "../components/action-form.js";
import { type Column, type Row, Table } from "../components/table.js";
import { Ago } from "../components/time.js";
import { formatDuration } from "../format.js";
import type { Html, Page, Visit } from "../visit.js";

const COLUMNS: Column[] = [
  ["Type"],
  ["State"],
  ["Attempts", "#~"],
  ["Backoff", "#~"],
  ["Time limit", "#~"],
  ["Lease", "#~"],
  ["Change", "#"],
];

export const jobTypes: Page = {
  path: "/types",
  section: "types",
  async render(visit) {
    const found = await listTypes(visit.ports);
    const body = (
      <>
        <h1>Types</h1>
        <Table
          caption="Registered job types"
          columns={COLUMNS}
          rows={found.map((each) => rowOf(each, visit))}
        />
        {!includesRole(visit.role, "admin") && (
          <p class="soft">Pausing a type concerns every tenant, so it takes an admin's key.</p>
        )}
      </>
    );
    return { title: "Types", body };
  },
};

function rowOf({ definition, state }: TypeView, visit: Visit): Row {
  const { type, runsOn, maxAttempts, backoff, timeoutSeconds, leaseSeconds } = definition;
  const isPaused = state.pausedAt !== null;
  return {
    id: `t${type}`,
    cells: [
      <>
        <a href={`${visit.base}/jobs?type=${type}`}>{type}</a>
        {runsOn === "worker" && <span class="soft block">runs on a worker</span>}
      </>,
      isPaused ? (
        <>
          <span class="tag">paused</span> <Ago at={state.pausedAt} nowMs={visit.nowMs} />
          <span class="soft block">
            by {state.pausedBy}
            {state.pauseReason && `: ${state.pauseReason}`}
          </span>
        </>
      ) : (
        "Active"
      ),
      maxAttempts,
      `${formatDuration(backoff.baseSeconds)} – ${formatDuration(backoff.maxSeconds)}`,
      formatDuration(timeoutSeconds),
      formatDuration(leaseSeconds),
      includesRole(visit.role, "admin") && <Switch visit={visit} type={type} isPaused={isPaused} />,
    ],
  };
}

function Switch({
  visit,
  type,
  isPaused,
}: {
  visit: Visit;
  type: string;
  isPaused: boolean;
}): Html {
  const path = `/types/${type}/`;
  return isPaused ? (
    <ActionForm visit={visit} path={`${path}resume`} label="Resume" tone="main" />
  ) : (
    <ReasonedForm
      visit={visit}
      path={`${path}pause`}
      label="Pause"
      tone="danger"
      hint="Nothing of it starts, of any tenant, until it is resumed. What runs goes on."
    />
  );
}
