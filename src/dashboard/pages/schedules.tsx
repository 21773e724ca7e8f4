/** Recurring jobs. */

import { includesRole } from "../../core/access.js";
import { readSchedules } from "../../engine/read-schedules.js";
import type { ScheduleView } from "../../engine/view-schedule.js";
import { ActionForm } from "../components/action-form.js";
import { Empty } from "../components/empty.js";
import { type Column, Table } from "../components/table.js";
import { Ago } from "../components/time.js";
import { formatInstant, formatNumber } from "../format.js";
import type { Html, Page, Visit } from "../visit.js";

const COLUMNS: Column[] = [
  { name: "Schedule" },
  { name: "When" },
  { name: "Next", class: "number wide" },
  { name: "Last", class: "number wide" },
  { name: "Missed", class: "wide" },
  { name: "" },
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
          <Table caption="Recurring jobs" columns={COLUMNS}>
            {found.map((each) => (
              <Row visit={visit} schedule={each} />
            ))}
          </Table>
        )}
      </>
    );
    return { title: "Schedules", body };
  },
};

function Row({ visit, schedule }: { visit: Visit; schedule: ScheduleView }): Html {
  const { nowMs, base, actor } = visit;
  const { name, cron, timeZone, type, enabled, declared, nextRunAt, lastRunAt } = schedule;
  return (
    <tr id={`s-${schedule.id}`}>
      <th scope="row">
        {name} {declared && <span class="tag">declared</span>}
        {!enabled && <span class="tag">paused</span>}
        <span class="soft block">
          <a href={`${base}/jobs?type=${type}`}>{type}</a>
          {actor.tenant === null && !declared && ` · ${schedule.tenant}`}
        </span>
      </th>
      <td>
        <code>{cron}</code> <span class="soft block">{timeZone}</span>
        <span class="soft narrow">
          <Ago at={nextRunAt} nowMs={nowMs} />
        </span>
      </td>
      <td class="number wide">
        <Ago at={nextRunAt} nowMs={nowMs} />
      </td>
      <td class="number wide">
        <Ago at={lastRunAt} nowMs={nowMs} />
      </td>
      <td class="wide">
        <Missed schedule={schedule} />
      </td>
      <td>
        <Changes visit={visit} schedule={schedule} />
      </td>
    </tr>
  );
}

function Missed({ schedule: { lastMissed, missedRunPolicy } }: { schedule: ScheduleView }): Html {
  if (!lastMissed) return <span class="soft">–</span>;
  const { count, capped, last } = lastMissed;
  return (
    <>
      {formatNumber(count)}
      {capped && "+"} until {formatInstant(last).slice(0, 16)}
      <span class="soft block">
        {missedRunPolicy === "skip" ? "left out" : "made up for by one job"}
      </span>
    </>
  );
}

function Changes({ visit, schedule }: { visit: Visit; schedule: ScheduleView }): Html | null {
  if (!includesRole(visit.role, "write")) return null;
  const { name, tenant, enabled, declared } = schedule;
  const owner = <input type="hidden" name="tenant" value={tenant} />;
  const path = `/schedules/${name}`;
  return (
    <div class="actions">
      <ActionForm visit={visit} path={`${path}/run`} label="Run now" confirm={`Run ${name} now?`}>
        {owner}
      </ActionForm>
      {!declared && (
        <ActionForm
          visit={visit}
          path={`${path}/${enabled ? "pause" : "resume"}`}
          label={enabled ? "Pause" : "Resume"}
          confirm={
            enabled ? `Pause ${name}? Its jobs that have not started are cancelled.` : undefined
          }
        >
          {owner}
        </ActionForm>
      )}
    </div>
  );
}
