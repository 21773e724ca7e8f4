/** Recurring jobs. */

import { includesRole } from "../../core/access.js";
import { readSchedules } from "../../engine/read-schedules.js";
import type { ScheduleView } from "../../engine/view-schedule.js";
import { ActionForm } from "../components/action-form.js";
import { Empty } from "../components/empty.js";
import { type Column, type Row, Table } from "../components/table.js";
import { Ago } from "../components/time.js";
import { formatCount, formatInstant } from "../format.js";
import type { Html, Page, Visit } from "../visit.js";

const COLUMNS: Column[] = [
  ["Schedule"],
  ["Next", "#"],
  ["Last", "#~"],
  ["Missed", "~"],
  ["Change", "#"],
];

export const schedules: Page = {
  path: "/schedules",
  section: "schedules",
  async render(visit) {
    const found = await readSchedules(visit.ports, visit.actor, null, 1);
    const body = (
      <>
        <h1>Schedules</h1>
        {found.length === 0 ? (
          <Empty title="No recurring jobs.">
            Declare a schedule in a job file, or create one with POST /api/schedules.
          </Empty>
        ) : (
          <Table
            caption="Recurring jobs"
            columns={COLUMNS}
            rows={found.map((each) => rowOf(each, visit))}
          />
        )}
      </>
    );
    return { title: "Schedules", body };
  },
};

function rowOf(schedule: ScheduleView, visit: Visit): Row {
  const { name, type, enabled, declared, tenant } = schedule;
  const { nowMs, base, role } = visit;
  const named = (
    <>
      {name} {declared && <span class="tag">declared</span>}
      {!enabled && <span class="tag">paused</span>}
      <span class="soft block">
        <code>{schedule.cron}</code> {schedule.timeZone}
      </span>
      <span class="soft block">
        <a href={`${base}/jobs?type=${type}`}>{type}</a>
        {!declared && ` · ${tenant}`}
      </span>
    </>
  );
  return {
    id: `s${schedule.id}`,
    cells: [
      named,
      <Ago at={schedule.nextRunAt} nowMs={nowMs} />,
      <Ago at={schedule.lastRunAt} nowMs={nowMs} />,
      <Missed schedule={schedule} />,
      includesRole(role, "write") && <Changes visit={visit} schedule={schedule} />,
    ],
  };
}

function Missed({ schedule: { lastMissed, missedRunPolicy } }: { schedule: ScheduleView }): Html {
  if (!lastMissed) return <span class="soft">–</span>;
  return (
    <>
      {formatCount(lastMissed)} until {formatInstant(lastMissed.last)}
      <span class="soft block">{missedRunPolicy === "skip" ? "left out" : "one job for all"}</span>
    </>
  );
}

function Changes({ visit, schedule }: { visit: Visit; schedule: ScheduleView }): Html {
  const owner = <input type="hidden" name="tenant" value={schedule.tenant} />;
  const path = `/schedules/${schedule.name}`;
  const [verb, label] = schedule.enabled ? ["pause", "Pause"] : ["resume", "Resume"];
  return (
    <div class="actions">
      <ActionForm visit={visit} path={`${path}/run`} label="Run now">
        {owner}
      </ActionForm>
      {!schedule.declared && (
        <ActionForm visit={visit} path={`${path}/${verb}`} label={label}>
          {owner}
        </ActionForm>
      )}
    </div>
  );
}
