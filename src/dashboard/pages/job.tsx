/** A job: its state, what can be done about it, its data, and its story. */

import { includesRole } from "../../core/access.js";
import type { Job } from "../../core/job.js";
import type { TimelineItem } from "../../core/listing.js";
import { readJob } from "../../engine/inspect.js";
import { readTimeline } from "../../engine/read-timeline.js";
import { ActionForm, ReasonedForm } from "../components/action-form.js";
import { JsonBlock, Text } from "../components/json-block.js";
import { Status } from "../components/status.js";
import { Instant } from "../components/time.js";
import { Timeline } from "../components/timeline.js";
import { shortId } from "../format.js";
import type { Html, Page, Visit } from "../visit.js";

export const job: Page = {
  path: "/jobs/:id",
  section: "jobs",
  async render(visit) {
    const { ports, actor, params } = visit;
    const id = params.id ?? "";
    const [found, timeline] = await Promise.all([
      readJob(ports, actor, id),
      readTimeline(ports, actor, id),
    ]);
    if (!found || !timeline) return undefined;
    const body = (
      <>
        <div class="head">
          <h1>{found.type}</h1>
          <Status status={found.status} />
          {found.cancelRequested && found.status === "processing" && (
            <span class="tag">asked to stop</span>
          )}
        </div>
        <p class="id">{found.id}</p>
        <Actions visit={visit} job={found} />
        <Facts visit={visit} job={found} />
        {found.lastError && <LastError error={found.lastError} />}
        <UnknownEffects visit={visit} job={found} items={timeline.items} />
        <h2>Story</h2>
        {timeline.truncated && <p class="soft">Older parts are left out.</p>}
        <Timeline visit={visit} items={timeline.items} />
        <h2>Data</h2>
        <Data job={found} />
      </>
    );
    return { title: `${found.type} ${shortId(found.id)}`, body };
  },
};

function Actions({
  visit,
  job: { id, status, cancelRequested, nextRunAt },
}: {
  visit: Visit;
  job: Job;
}): Html | null {
  if (!includesRole(visit.role, "write")) return null;
  const path = `/jobs/${id}`;
  const isWaiting = status === "queued" || status === "failed";
  const isLater = isWaiting && nextRunAt !== null && Date.parse(nextRunAt) > visit.nowMs;
  const canReplay = status === "dead_letter" || status === "cancelled";
  const canCancel = isWaiting || (status === "processing" && !cancelRequested);
  return (
    <div class="actions">
      {isLater && <ActionForm visit={visit} path={`${path}/run-now`} label="Run now" tone="main" />}
      {canReplay && (
        <ReasonedForm
          visit={visit}
          path={`${path}/replay`}
          label="Replay"
          tone="main"
          hint="It is queued again with a fresh budget of attempts. Effects that are done are not repeated."
        />
      )}
      {canCancel && (
        <ReasonedForm
          visit={visit}
          path={`${path}/cancel`}
          label="Cancel"
          tone="danger"
          hint={
            status === "processing"
              ? "The running attempt is asked to stop; what it has done stays done."
              : "It will not run. You can replay it later."
          }
        />
      )}
    </div>
  );
}

function Facts({ visit, job: found }: { visit: Visit; job: Job }): Html {
  const { nowMs } = visit;
  const facts: [string, Html | string | number][] = [
    ["Created", <Instant at={found.createdAt} nowMs={nowMs} />],
    ["Tenant", found.tenant],
    ["Attempts", `${found.attempts} so far, ${found.attemptsLeft} of ${found.maxAttempts} left`],
    ["Priority", found.priority],
  ];
  if (found.nextRunAt) facts.push(["Next run", <Instant at={found.nextRunAt} nowMs={nowMs} />]);
  if (found.lockedUntil)
    facts.push(["Lease until", <Instant at={found.lockedUntil} nowMs={nowMs} />]);
  if (found.startedAt) facts.push(["First start", <Instant at={found.startedAt} nowMs={nowMs} />]);
  if (found.finishedAt) facts.push(["Ended", <Instant at={found.finishedAt} nowMs={nowMs} />]);
  if (found.dedupeKey !== null) facts.push(["Dedupe key", <code>{found.dedupeKey}</code>]);
  return (
    <dl class="facts">
      {facts.map(([name, value]) => (
        <div>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}

function LastError({ error }: { error: NonNullable<Job["lastError"]> }): Html {
  return (
    <section class="problem" aria-label="Latest error">
      <p>
        <code>{error.code}</code>
      </p>
      <Text label="Message">{error.message}</Text>
    </section>
  );
}

/** Effects that a human has to settle. */
function UnknownEffects(props: { visit: Visit; job: Job; items: TimelineItem[] }): Html | null {
  const { visit, job: found, items } = props;
  const unknown = items.filter((item) => item.kind === "effect" && item.outcome === "unknown");
  if (unknown.length === 0) return null;
  return (
    <section class="problem" aria-label="Effects whose end is unknown">
      <p>
        These effects were started and nobody reported how they ended. Look at the other side, then
        say what you found: a replayed job goes by it.
      </p>
      {unknown.map((item) => {
        if (item.kind !== "effect") return null;
        const path = `/jobs/${found.id}/effects/${item.name}/settle`;
        return (
          <div class="row">
            <b>{item.name}</b>
            {includesRole(visit.role, "write") && (
              <ReasonedForm
                visit={visit}
                path={path}
                label="Settle"
                hint="What you say is kept with your key's name."
                required
              >
                <fieldset>
                  <legend>It was</legend>
                  <label class="pill">
                    <input type="radio" name="outcome" value="done" required /> done
                  </label>
                  <label class="pill">
                    <input type="radio" name="outcome" value="not_done" /> not done
                  </label>
                </fieldset>
              </ReasonedForm>
            )}
          </div>
        );
      })}
    </section>
  );
}

function Data({ job: found }: { job: Job }): Html {
  return (
    <>
      <JsonBlock title="Payload" value={found.payload} />
      {found.progress !== null && <JsonBlock title="Progress" value={found.progress} />}
      {found.status === "completed" && <JsonBlock title="Result" value={found.result} />}
      {found.resultOmitted !== null && <p class="soft">Result not kept: {found.resultOmitted}</p>}
    </>
  );
}
