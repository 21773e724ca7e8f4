/** A job's life, told in sentences. */

import type { TimelineItem } from "../../core/listing.js";
import { formatDuration, formatInstant, shortId } from "../format.js";
import type { Html, Visit } from "../visit.js";

type Of<Kind extends TimelineItem["kind"]> = Extract<TimelineItem, { kind: Kind }>;
type Tone = "good" | "bad" | "warn" | "calm";
type Told = [tone: Tone, what: Html | string, more?: Html | string | null];

/** Lists what happened, oldest first. */
export function Timeline({ visit, items }: { visit: Visit; items: TimelineItem[] }): Html {
  const startMs = Date.parse(items[0]?.at ?? "");
  return (
    <ol class="timeline">
      {items.map((item) => {
        const [tone, what, more] = tell(item, items, visit);
        const seconds = (Date.parse(item.at) - startMs) / 1000;
        return (
          <li class={tone}>
            <time datetime={item.at} title={`${item.at} UTC`}>
              {formatInstant(item.at).slice(5)} {seconds > 0 && `+${formatDuration(seconds)}`}
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

function tell(item: TimelineItem, items: TimelineItem[], { base }: Visit): Told {
  const by = "by" in item && item.by ? ` by ${item.by}` : "";
  switch (item.kind) {
    case "created":
      return tellCreated(item);
    case "published":
      return item.failed
        ? ["warn", "The message could not be sent; a sweep sends it"]
        : ["calm", `Message sent${item.why ? ` (${words(item.why)})` : ""}${by}`, item.reason];
    case "claimed":
      return ["calm", `Attempt ${item.attempt} started`];
    case "attempt_finished":
      return tellEnd(item, items);
    case "effect":
      return tellEffect(item);
    case "delivery_refused":
      return tellRefusal(item, base);
    case "cancel_requested":
      return ["warn", `Asked to stop${by}`, item.reason];
    case "cancelled":
      return ["warn", `Cancelled${by}`, item.reason];
    case "replayed": {
      const how = `${item.bulk ? " with others" : ""}${item.payloadChanged ? " with a new payload" : ""}`;
      return ["calm", `Replayed${how}${by}`, item.reason];
    }
    case "settled":
      return ["calm", `Effect “${item.effect}” settled: ${words(item.outcome)}${by}`, item.reason];
  }
}

function tellCreated({ by, schedule, idempotencyKey }: Of<"created">): Told {
  const more = idempotencyKey !== null && (
    <>
      Idempotency-Key <code>{idempotencyKey}</code>
    </>
  );
  return [
    "calm",
    `Created by ${by}${schedule ? ` for the schedule ${schedule}` : ""}`,
    more || null,
  ];
}

function tellEnd(
  { at, attempt, outcome, error, late }: Of<"attempt_finished">,
  items: TimelineItem[],
): Told {
  const start = items.find((each) => each.kind === "claimed" && each.attempt === attempt);
  const after = start
    ? ` after ${formatDuration((Date.parse(at) - Date.parse(start.at)) / 1000)}`
    : "";
  const tone = outcome === "completed" ? "good" : error ? "bad" : "warn";
  return [
    tone,
    `Attempt ${attempt} ended${after}: ${words(outcome)}`,
    <>
      {error && (
        <>
          <code>{error.code}</code> <span class="message">{error.message}</span>
        </>
      )}
      {late && ` It came back late (${words(late.outcome)}), which changed nothing.`}
    </>,
  ];
}

const EFFECT_TONES = { running: "calm", done: "good", not_done: "warn", unknown: "bad" } as const;

function tellEffect({ name, outcome, attempt, settledBy, trace }: Of<"effect">): Told {
  const more = [
    attempt !== null && `attempt ${attempt}`,
    settledBy && `settled by ${settledBy}`,
    trace !== null && JSON.stringify(trace),
  ];
  const told = `Effect “${name}”: ${words(outcome)}`;
  return [EFFECT_TONES[outcome], told, more.filter(Boolean).join(" · ")];
}

function tellRefusal({ reason, messageId, ranJobId }: Of<"delivery_refused">, base: string): Told {
  return [
    "warn",
    `A verified message came and did not run it: ${words(reason)}`,
    <>
      {messageId}
      {ranJobId && (
        <>
          {" "}
          ran <a href={`${base}/jobs/${ranJobId}`}>{shortId(ranJobId)}</a> instead
        </>
      )}
    </>,
  ];
}

function words(code: string): string {
  return code.replaceAll("_", " ");
}
