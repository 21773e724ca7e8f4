/** A job: its state, what can be done about it, its story, and its data. */

import { includesRole } from "../../core/access.js";
import type { Job } from "../../core/job.js";
import type { Timeline as Life } from "../../core/listing.js";
import { readJob } from "../../engine/inspect.js";
import { readTimeline } from "../../engine/read-timeline.js";
import { ActionForm, ReasonedForm } from "../components/action-form.js";
import { Facts } from "../components/facts.js";
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
    const [found, life] = await Promise.all([
      readJob(ports, actor, id),
      readTimeline(ports, actor, id),
    ]);
    if (!found || !life) return undefined;
    const { type, status, lastError, progress, resultOmitted } = found;
    const body = (
      <>
        <div class="head">
          <h1>{type}</h1>
          <Status status={status} />
          {status === "processing" && found.cancelRequested && (
            <span class="tag">asked to stop</span>
          )}
        </div>
        <p class="id">{id}</p>
        {includesRole(visit.role, "write") && <Actions visit={visit} job={found} />}
        <Facts facts={factsOf(found, visit)} />
        {lastError && (
          <section class="problem" aria-label="Latest error">
            <code>{lastError.code}</code>
            <Text label="Message">{lastError.message}</Text>
          </section>
        )}
        <UnknownEffects visit={visit} life={life} />
        <h2>Story</h2>
        {life.truncated && <p class="soft">Older parts are left out.</p>}
        <Timeline visit={visit} items={life.items} />
        <h2>Data</h2>
        <JsonBlock title="Payload" value={found.payload} />
        {progress !== null && <JsonBlock title="Progress" value={progress} />}
        {status === "completed" && <JsonBlock title="Result" value={found.result} />}
        {resultOmitted !== null && <p class="soft">Result not kept: {resultOmitted}</p>}
      </>
    );
    return { title: `${type} ${shortId(id)}`, body };
  },
};

function Actions({ visit, job: found }: { visit: Visit; job: Job }): Html {
  const { id, status, nextRunAt } = found;
  const path = `/jobs/${id}`;
  const isLater = nextRunAt !== null && Date.parse(nextRunAt) > visit.nowMs;
  const canReplay = status === "dead_letter" || status === "cancelled";
  const runs = status === "processing";
  const canCancel = runs ? !found.cancelRequested : nextRunAt !== null;
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
        >
          <label>
            Corrected payload as JSON (empty: as it was)
            <textarea name="payload" rows={4} spellcheck={false} autocomplete="off" />
          </label>
        </ReasonedForm>
      )}
      {canCancel && (
        <ReasonedForm
          visit={visit}
          path={`${path}/cancel`}
          label="Cancel"
          tone="danger"
          hint={
            runs
              ? "The running attempt is asked to stop; what it has done stays done."
              : "It will not run. You can replay it later."
          }
        />
      )}
    </div>
  );
}

function factsOf(found: Job, { nowMs }: Visit): [string, Html | string | null][] {
  const instant = (at: string | null) => at && <Instant at={at} nowMs={nowMs} />;
  return [
    ["Created", instant(found.createdAt)],
    ["Tenant", found.tenant],
    ["Attempts", `${found.attempts} so far, ${found.attemptsLeft} of ${found.maxAttempts} left`],
    ["Priority", String(found.priority)],
    ["Next run", instant(found.nextRunAt)],
    ["Lease until", instant(found.lockedUntil)],
    ["First start", instant(found.startedAt)],
    ["Ended", instant(found.finishedAt)],
    ["Dedupe key", found.dedupeKey && <code>{found.dedupeKey}</code>],
  ];
}

/** Effects that a human has to settle. */
function UnknownEffects({ visit, life }: { visit: Visit; life: Life }): Html | null {
  const names = life.items.flatMap((item) =>
    item.kind === "effect" && item.outcome === "unknown" ? [item.name] : [],
  );
  if (names.length === 0) return null;
  return (
    <section class="problem" aria-label="Effects whose end is unknown">
      <p>
        Nobody reported how these effects ended. Look at the other side, then say what you found: a
        replayed job goes by it.
      </p>
      {names.map((name) => (
        <div class="row">
          <b>{name}</b>
          {includesRole(visit.role, "write") && (
            <ReasonedForm
              visit={visit}
              path={`/jobs/${life.jobId}/effects/${name}/settle`}
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
      ))}
    </section>
  );
}
