/** A job's life, told in sentences. */

import type { TimelineItem } from "../../core/listing.js";
import { formatDuration, formatInstant, shortId } from "../format.js";
import type { Html, Visit } from "../visit.js";

interface Told {
  tone: "good" | "bad" | "warn" | "calm";
  what: Html | string;
  more?: Html | string | null;
}

/** Lists what happened, oldest first. */
export function Timeline({ visit, items }: { visit: Visit; items: TimelineItem[] }): Html {
  const [first] = items;
  return (
    <ol class="timeline">
      {items.map((item) => {
        const { tone, what, more } = tell(item, items, visit);
        return (
          <li class={tone}>
            <time datetime={item.at} title={`${item.at} UTC`}>
              {formatInstant(item.at).slice(5)}
              <span class="soft"> {sinceStart(item.at, first?.at ?? item.at)}</span>
            </time>
            <div>
              {what}
              {more && <div class="soft">{more}</div>}
            </div>
          </li>
        );
      })}
    </ol>
  );
}

function sinceStart(at: string, start: string): string {
  const seconds = (Date.parse(at) - Date.parse(start)) / 1000;
  return seconds < 0.001 ? "" : `+${formatDuration(seconds)}`;
}

const FAILED = ["failed", "dead_letter", "lease_expired"];

/** Reasons for a verified delivery that did not run its job. */
const REFUSALS: Record<string, string> = {
  finished: "the job had ended",
  running: "another attempt was running",
  recorded: "this message had run before",
  paused: "the type is paused",
  nothing_due: "nothing was due",
};

function tell(item: TimelineItem, items: TimelineItem[], visit: Visit): Told {
  switch (item.kind) {
    case "created":
      return tellCreated(item);
    case "published":
      return {
        tone: item.failed ? "warn" : "calm",
        what: item.failed ? "The message could not be sent; a sweep sends it" : "Message sent",
        more: [item.seq === null ? "" : `no. ${item.seq}`, item.why ?? "", byWhom(item)]
          .filter(Boolean)
          .join(" · "),
      };
    case "claimed":
      return { tone: "calm", what: `Attempt ${item.attempt} started` };
    case "attempt_finished":
      return tellEnd(item, items);
    case "effect":
      return tellEffect(item);
    case "delivery_refused":
      return {
        tone: "warn",
        what: `A message came and did not run it: ${REFUSALS[item.reason] ?? item.reason}`,
        more: (
          <>
            {item.messageId}
            {item.ranJobId && (
              <>
                {" · ran "}
                <a href={`${visit.base}/jobs/${item.ranJobId}`}>{shortId(item.ranJobId)}</a> instead
              </>
            )}
          </>
        ),
      };
    case "cancel_requested":
      return { tone: "warn", what: `Asked to stop${byWhom(item)}`, more: item.reason };
    case "cancelled":
      return { tone: "warn", what: `Cancelled${byWhom(item)}`, more: item.reason };
    case "replayed": {
      const how = `${item.bulk ? " with others" : ""}${item.payloadChanged ? " with a new payload" : ""}`;
      return { tone: "calm", what: `Replayed${how}${byWhom(item)}`, more: item.reason };
    }
    case "settled":
      return {
        tone: "calm",
        what: `Effect “${item.effect}” settled as ${words(item.outcome)}${byWhom(item)}`,
        more: item.reason,
      };
  }
}

function tellCreated(item: Extract<TimelineItem, { kind: "created" }>): Told {
  const origin = item.schedule === null ? "" : ` for a slot of the schedule ${item.schedule}`;
  return {
    tone: "calm",
    what: (
      <>
        Created by <b>{item.by}</b>
        {origin}
      </>
    ),
    more:
      item.idempotencyKey === null ? null : (
        <>
          Idempotency-Key <code>{item.idempotencyKey}</code>
        </>
      ),
  };
}

function tellEnd(
  item: Extract<TimelineItem, { kind: "attempt_finished" }>,
  items: TimelineItem[],
): Told {
  const { attempt, outcome, error, late } = item;
  const start = items.findLast((each) => each.kind === "claimed" && each.attempt === attempt);
  const took = start ? (Date.parse(item.at) - Date.parse(start.at)) / 1000 : null;
  const after = took === null ? "" : ` after ${formatDuration(took)}`;
  return {
    tone: outcome === "completed" ? "good" : FAILED.includes(outcome) ? "bad" : "warn",
    what: `Attempt ${attempt} ended${after}: ${words(outcome)}`,
    more: (
      <>
        {error && (
          <>
            <code>{error.code}</code> <span class="message">{error.message}</span>
          </>
        )}
        {late && ` Came back late with “${words(late.outcome)}”, which changed nothing.`}
      </>
    ),
  };
}

function tellEffect(item: Extract<TimelineItem, { kind: "effect" }>): Told {
  const { name, outcome, attempt, settledBy, trace } = item;
  const tones = { running: "calm", done: "good", not_done: "calm", unknown: "bad" } as const;
  return {
    tone: tones[outcome],
    what: `Effect “${name}”: ${outcome === "unknown" ? "its end is unknown" : words(outcome)}`,
    more: [
      attempt === null ? "" : `attempt ${attempt}`,
      settledBy ? `settled by ${settledBy}` : "",
      trace === null ? "" : JSON.stringify(trace),
    ]
      .filter(Boolean)
      .join(" · "),
  };
}

function byWhom({ by }: { by?: string | null }): string {
  return by ? ` by ${by}` : "";
}

function words(outcome: string): string {
  return outcome.replaceAll("_", " ");
}
