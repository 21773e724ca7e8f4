import { getTableConfig } from "drizzle-orm/pg-core";
import type { ESTree } from "vite";
import { describe, expect, test } from "vitest";
import { LOG_EVENTS } from "../../src/core/log-events.js";
import { PROBLEMS } from "../../src/http/problem.js";
import { jobs } from "../../src/storage/schema.js";
import { JOB_ERROR_CODES } from "../support/job-error-codes.js";
import { placeOf, visit } from "./syntax.js";
import { filesIn, type SourceFile } from "./tree.js";

/** What HTTP answers, by status; clients and the processor's answers to QStash rely on it. */
const PROBLEM_CODES: Record<number, string> = {
  400: "malformed_json invalid_query invalid_cursor idempotency_key_missing idempotency_key_invalid",
  401: "unauthorized",
  403: "forbidden",
  404: "not_found",
  405: "method_not_allowed",
  409: "idempotency_key_reused job_not_cancellable job_not_replayable job_not_waiting dedupe_conflict dedupe_job_cancelling effect_not_unknown schedule_exists job_running",
  413: "payload_too_large",
  415: "unsupported_media_type",
  422: "validation_failed unknown_job_type",
  429: "too_many_requests",
  489: "delivery_malformed",
  500: "internal",
  503: "store_unavailable not_ready misconfigured job_locked publish_failed job_unknown",
};

const JOB_COLUMNS =
  "id tenant job_type payload_json status priority attempts max_attempts attempts_before_replay snoozes idempotency_key dedupe_key dedupe_slot lock_token lock_until claimed_by_message next_run_at started_at attempt_started_at finished_at last_error result_json progress_json cancel_requested_at created_at updated_at trigger_seq triggered_at next_trigger_at";

interface Word {
  word: string;
  start: number;
}

/** Lists the texts that an expression can be, both sides of a choice included. */
function wordsOf(node: ESTree.Node | undefined): Word[] {
  if (node?.type === "ConditionalExpression") {
    return [...wordsOf(node.consequent), ...wordsOf(node.alternate)];
  }
  if (node?.type !== "Literal" || typeof node.value !== "string") return [];
  return [{ word: node.value, start: node.start }];
}

/** Lists the values of a member by its name, in every object of a file. */
function memberWordsOf(file: SourceFile, name: string): Word[] {
  const words: Word[] = [];
  visit(file, {
    Property: ({ key, value }) => {
      if (key.type === "Identifier" && key.name === name) words.push(...wordsOf(value));
    },
  });
  return words;
}

const unknownTo = (known: readonly string[], file: SourceFile, words: Word[]): string[] =>
  words
    .filter(({ word }) => !known.includes(word))
    .map((each) => `${placeOf(file, each)} ${each.word}`);

describe("error codes are a closed list", () => {
  test("of HTTP, each with its status", () => {
    const answered = Object.entries(PROBLEMS).map(([code, { status }]) => `${status} ${code}`);
    const listed = Object.entries(PROBLEM_CODES).flatMap(([status, codes]) =>
      codes.split(" ").map((code) => `${status} ${code}`),
    );
    expect(answered.sort()).toEqual(listed.sort());
  });

  const inner = filesIn(["src/core", "src/engine", "src/storage"]);
  const known = [...JOB_ERROR_CODES, ...Object.keys(PROBLEMS)];
  const faults = (file: SourceFile): string[] =>
    unknownTo(known, file, memberWordsOf(file, "code"));

  test("of jobs: no other is written", () => {
    expect(inner.flatMap(faults)).toEqual([]);
  });

  test("of jobs: every one is written somewhere", () => {
    const text = inner.map((file) => file.text).join("\n");
    const isWritten = (code: string) => new RegExp(`["']${code}["']`).test(text);
    expect(JOB_ERROR_CODES.filter((code) => !isWritten(code))).toEqual([]);
    expect(text).toContain("http_$" + "{status}");
  });

  test("control: an unknown code is found, in a choice as well", () => {
    const text = 'fail({ code: "timeout" }); fail({ code: late ? "too_late" : "fatal" });';
    expect(faults({ path: "src/engine/a.ts", text })).toEqual(["src/engine/a.ts:1 too_late"]);
  });
});

describe("log events are a closed list", () => {
  /** Jobs log messages of their own, which go out as one event. */
  const files = filesIn(["src"]).filter(({ path }) => !path.startsWith("src/jobs/"));

  function eventsOf(file: SourceFile): Word[] {
    const events = memberWordsOf(file, "event");
    visit(file, {
      CallExpression: ({ callee, arguments: [event] }) => {
        const named = callee.type === "MemberExpression" ? callee.property : callee;
        const isConsole =
          callee.type === "MemberExpression" &&
          callee.object.type === "Identifier" &&
          callee.object.name === "console";
        if (named.type === "Identifier" && named.name === "log" && !isConsole) {
          events.push(...wordsOf(event));
        }
      },
    });
    return events;
  }

  const faults = (file: SourceFile): string[] => unknownTo(LOG_EVENTS, file, eventsOf(file));

  test("no other is logged", () => {
    expect(files.flatMap(faults)).toEqual([]);
  });

  test("every one is logged somewhere", () => {
    const logged = new Set(files.flatMap(eventsOf).map(({ word }) => word));
    expect(LOG_EVENTS.filter((event) => !logged.has(event))).toEqual([]);
  });

  test("control: an unknown event is found, however it is logged", () => {
    const text = `
      ports.log("job_eaten", {});
      log(paused ? "type_paused" : "type_stopped", {});
      write(JSON.stringify({ event: "job_lost" }));
      console.log("free text");
    `;
    expect(faults({ path: "src/engine/a.ts", text })).toEqual([
      "src/engine/a.ts:4 job_lost",
      "src/engine/a.ts:2 job_eaten",
      "src/engine/a.ts:3 type_stopped",
    ]);
  });
});

describe("columns carry the words of the field", () => {
  test("all that the architecture names are there", () => {
    const names = getTableConfig(jobs).columns.map(({ name }) => name);
    expect(names).toEqual(expect.arrayContaining(JOB_COLUMNS.split(" ")));
  });
});
