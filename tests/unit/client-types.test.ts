import { describe, expectTypeOf, test } from "vitest";
import * as z from "zod";
import { type Client, createClient, type ErrorCode } from "../../src/client/client.js";
import type { ApiErrorCode } from "../../src/client/error.js";
import type { AcceptedJob, Job, JobRequest, JobSummary, PayloadOf } from "../../src/client/jobs.js";
import { defineJob } from "../../src/core/define-job.js";
import type { acceptedJobSchema } from "../../src/http/answers/accepted.js";
import type { jobSummarySchema } from "../../src/http/answers/job-summary.js";
import type { jobViewSchema } from "../../src/http/answers/job-view.js";
import type { jobRequestSchema } from "../../src/http/job-request.js";
import type { ProblemCode } from "../../src/http/problem.js";
import type httpRequest from "../../src/jobs/http_request.js";
import type sendEmail from "../../src/jobs/send_email.js";

/**
 * `npm run types` is what checks here: a line under `@ts-expect-error` that compiled would be an
 * error. Nothing runs, so no request is made.
 */
const onlyCompiled = (_: () => unknown): void => {};

const report = defineJob({
  type: "report",
  payload: z.object({
    month: z.string().transform((text) => new Date(`${text}-01`)),
    format: z.enum(["pdf", "csv"]).default("pdf"),
  }),
  run: () => null,
});

/** As the generated registry exports it. */
interface Jobs {
  send_email: typeof sendEmail;
  http_request: typeof httpRequest;
  report: typeof report;
}

const client = createClient<Jobs>({ baseUrl: "https://jobs.example", apiKey: "secret" });
const email = { to: "ada@example.com", subject: "Hello", text: "Hello Ada" };

describe("a client that knows the definitions", () => {
  test("takes the payload that a type's schema takes, before its defaults and transforms", () => {
    expectTypeOf<PayloadOf<typeof sendEmail>>().toEqualTypeOf<
      z.input<(typeof sendEmail)["payload"]>
    >();
    expectTypeOf<PayloadOf<typeof report>>().toEqualTypeOf<{
      month: string;
      format?: "pdf" | "csv";
    }>();
    onlyCompiled(() => client.enqueue("send_email", email));
    onlyCompiled(() => client.enqueue("report", { month: "2030-01" }, { priority: 9 }));
  });

  test("refuses unknown types, and payloads that are not the type's", () => {
    // @ts-expect-error no such type
    onlyCompiled(() => client.enqueue("send_emial", email));
    // @ts-expect-error a member is missing
    onlyCompiled(() => client.enqueue("send_email", { to: "ada@example.com", text: "Hello" }));
    // @ts-expect-error a member too many
    onlyCompiled(() => client.enqueue("send_email", { ...email, cC: "bob@example.com" }));
    // @ts-expect-error a member has another type
    onlyCompiled(() => client.enqueue("report", { month: 1 }));
    // @ts-expect-error the payload of another type
    onlyCompiled(() => client.enqueue("report", email));
    // @ts-expect-error what the handler gets is not what the caller sends
    onlyCompiled(() => client.enqueue("report", { month: new Date() }));
    // @ts-expect-error no such option
    onlyCompiled(() => client.enqueue("report", { month: "2030-01" }, { delay: 5 }));
  });

  test("checks each job of a list by its own type, and a corrected payload and a filter", () => {
    onlyCompiled(() =>
      client.enqueueMany([
        { type: "send_email", payload: email, dedupeKey: "welcome:ada" },
        { type: "report", payload: { month: "2030-01" }, runAt: new Date() },
      ]),
    );
    // @ts-expect-error the payload of another type
    onlyCompiled(() => client.enqueueMany([{ type: "report", payload: email }]));
    onlyCompiled(() => client.replay("id", { payload: email, reason: "Wrong address" }));
    // @ts-expect-error the payload of no type
    onlyCompiled(() => client.replay("id", { payload: { too: "ada@example.com" } }));
    onlyCompiled(() => client.list({ type: ["report", "send_email"], status: "failed" }));
    // @ts-expect-error no such type
    onlyCompiled(() => client.list({ type: "send_emial" }));
    // @ts-expect-error no such state
    onlyCompiled(() => client.list({ status: "done" }));
  });

  test("gives jobs that have ended from waitFor", () => {
    expectTypeOf(client.waitFor).returns.resolves.toHaveProperty("status");
    type Ended = Awaited<ReturnType<typeof client.waitFor>>;
    expectTypeOf<Ended["status"]>().toEqualTypeOf<"completed" | "dead_letter" | "cancelled">();
  });
});

describe("a client without definitions", () => {
  test("takes a map from type to payload, for callers that share no code with the service", () => {
    const plain = createClient<{ greet: { to: string }; tidy: null }>({ baseUrl: "", apiKey: "" });
    onlyCompiled(() => plain.enqueue("greet", { to: "Ada" }));
    onlyCompiled(() => plain.enqueue("tidy", null));
    // @ts-expect-error the payload of another type
    onlyCompiled(() => plain.enqueue("tidy", { to: "Ada" }));
  });

  test("takes any type if it is told nothing", () => {
    const any = createClient({ baseUrl: "", apiKey: "" });
    expectTypeOf(any).toEqualTypeOf<Client<Record<string, unknown>>>();
    onlyCompiled(() => any.enqueue("whatever", { a: [1, null] }));
    onlyCompiled(() => any.enqueueMany([{ type: "whatever", payload: 1 }]));
  });
});

describe("what the client declares is what the API has", () => {
  test("error codes, except those that only QStash is answered", () => {
    type ToQstash =
      | "job_running"
      | "job_locked"
      | "publish_failed"
      | "job_unknown"
      | "delivery_malformed";
    expectTypeOf<ApiErrorCode>().toEqualTypeOf<Exclude<ProblemCode, ToQstash>>();
    expectTypeOf<Exclude<ErrorCode, ApiErrorCode>>().toEqualTypeOf<
      "network_error" | "unexpected_response" | "wait_timeout"
    >();
  });

  test("jobs, requests and answers", () => {
    expectTypeOf<keyof Job>().toEqualTypeOf<keyof z.output<typeof jobViewSchema>>();
    expectTypeOf<Job>().toExtend<z.output<typeof jobViewSchema>>();
    expectTypeOf<keyof JobSummary>().toEqualTypeOf<keyof z.output<typeof jobSummarySchema>>();
    expectTypeOf<AcceptedJob>().toEqualTypeOf<z.output<typeof acceptedJobSchema>>();
    expectTypeOf<keyof JobRequest>().toEqualTypeOf<keyof z.input<typeof jobRequestSchema>>();
  });
});
