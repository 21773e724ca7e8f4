import { afterAll, beforeAll, describe, expect, test } from "vitest";
import * as z from "zod";
import { defineJob } from "../../src/core/define-job.js";
import { createWorld, type World } from "../support/world.js";

const note = defineJob({ type: "test.note", payload: z.unknown(), run: () => {} });
/** Derives its dedupe key, as its author thought well. */
const keyed = defineJob({
  type: "test.keyed",
  payload: z.object({ id: z.string() }),
  dedupe: { key: ({ id }) => id },
  run: () => {},
});

let world: World;
beforeAll(async () => {
  world = await createWorld({ jobs: [note, keyed] });
});
afterAll(() => world.close());

const jobOf = (payload: string, type: string = note.type): string =>
  `{"type":"${type}","payload":${payload}}`;
const ENTRIES = [
  { path: "/api/jobs", at: "#", wrap: (job: string) => job },
  {
    path: "/api/jobs/batch",
    at: "#/jobs/1",
    wrap: (job: string) => `{"jobs":[${jobOf("1")},${job},${jobOf("2")}]}`,
  },
];

/** Everything that a request could have written. */
async function written(): Promise<unknown> {
  const { rows } = await world.database.pg.query(
    `select (select count(*) from jobs) as jobs, (select count(*) from job_events) as events,
       (select count(*) from idempotency_records) as records`,
  );
  return { ...rows[0], messages: world.qstash.counts().messages };
}

interface Refusal {
  status: number;
  code: string;
  pointers: string[];
}

/** Posts what must be refused, and shows that nothing of it was written. */
async function refusalOf(path: string, rawBody: string): Promise<Refusal> {
  const before = await written();
  const response = await world.request("POST", path, { rawBody });
  const problem = (await response.json()) as {
    code: string;
    errors?: { pointer: string; detail: string }[];
  };
  expect(response.headers.get("content-type")).toBe("application/problem+json");
  expect(await written()).toEqual(before);
  const pointers = (problem.errors ?? []).map(({ pointer }) => pointer);
  return { status: response.status, code: problem.code, pointers };
}

const refused = (...pointers: string[]): Refusal => ({
  status: 422,
  code: "validation_failed",
  pointers,
});

describe.each(ENTRIES)(
  "POST $path refuses, at its place and before anything is written,",
  ({ path, at, wrap }) => {
    test.each([
      ['{"a":"x\\u0000y"}', "/payload/a"],
      ['"\\u0000"', "/payload"],
      ['[[{"b":["ok","\\u0000"]}]]', "/payload/0/0/b/1"],
      ['{"a\\u0000b":1}', "/payload/a%00b"],
      ['{"a/b~c":"\\u0000"}', "/payload/a~1b~0c"],
    ])("the character U+0000 in %s (C01)", async (payload, place) => {
      expect(await refusalOf(path, wrap(jobOf(payload)))).toEqual(refused(`${at}${place}`));
    });

    test.each([
      ['{"a":"\\ud800"}', "/payload/a"],
      ['{"a":"\\udc00x"}', "/payload/a"],
      ['["\\ud83d\\ude00","\\ude00\\ud83d"]', "/payload/1"],
      ['{"b":{"\\udfff":1}}', "/payload/b/%EF%BF%BD"],
    ])("a surrogate without its partner in %s (C04)", async (payload, place) => {
      expect(await refusalOf(path, wrap(jobOf(payload)))).toEqual(refused(`${at}${place}`));
    });

    test.each([
      ...["9007199254740993", "-9007199254740993", "12345678901234567890", "1e400", "-1e400"],
      ...["1e-400", "0.1000000000000000055511151231257827", "1.0000000000000000001"],
      ...["123456789012345678901234567890.5", "-0", "-0.0", "-0e5"],
    ])("the number %s, which would come back as another (C06)", async (number) => {
      for (const [payload, place] of [
        [number, "/payload"],
        [`{"id":${number}}`, "/payload/id"],
        [`[1,{"a":[${number}]}]`, "/payload/1/a/0"],
      ] as const) {
        expect(await refusalOf(path, wrap(jobOf(payload)))).toEqual(refused(`${at}${place}`));
      }
    });

    test("all the places of one payload together", async () => {
      const payload = '{"id":9007199254740993,"name":"a\\u0000","more":["\\ud800",1e999]}';
      const places = ["id", "name", "more/0", "more/1"].map((place) => `${at}/payload/${place}`);
      expect(await refusalOf(path, wrap(jobOf(payload)))).toEqual(refused(...places));
    });

    test.each([65, 1000, 100_000])("%i levels of nesting", async (levels) => {
      const lists = "[".repeat(levels) + "]".repeat(levels);
      const objects = `${'{"a":'.repeat(levels - 1)}{}${"}".repeat(levels - 1)}`;
      for (const payload of [lists, objects]) {
        if (payload.length > 200_000) continue;
        expect(await refusalOf(path, wrap(jobOf(payload)))).toMatchObject({ status: 422 });
      }
    });

    test.each(["a\\u0000b", "\\ud800", "", "x".repeat(256), "😀".repeat(256)])(
      "the dedupe key %j, whether it was sent or derived",
      async (key) => {
        const sent = jobOf(`{"id":"fine"},"dedupeKey":"${key}"`, keyed.type);
        expect(await refusalOf(path, wrap(sent))).toEqual(refused(`${at}/dedupeKey`));
        const derived = await refusalOf(path, wrap(jobOf(`{"id":"${key}"}`, keyed.type)));
        const isPayloadsFault = key.startsWith("\\") || key.includes("\\u0000");
        expect(derived).toEqual(refused(`${at}/${isPayloadsFault ? "payload/id" : "dedupeKey"}`));
      },
    );

    test("no dedupe key of 255 characters, wherever in Unicode they stand", async () => {
      const key = "😀".repeat(255);
      const sent = jobOf(`{"id":"fine"},"dedupeKey":"${key}"`, keyed.type);
      for (const job of [sent, jobOf(`{"id":"${key}"}`, keyed.type)]) {
        expect((await world.request("POST", path, { rawBody: wrap(job) })).status).toBe(202);
      }
    });

    test.each([
      ['{"type":"test.note"}', ["/payload"], "validation_failed"],
      [jobOf('{"id":1}', keyed.type), ["/payload/id"], "validation_failed"],
      [jobOf("1", "test.gone"), ["/type"], "unknown_job_type"],
      [jobOf('1,"runAt":"2999-01-01T00:00:00Z"'), ["/runAt"], "validation_failed"],
      [jobOf('1,"priority":10'), ["/priority"], "validation_failed"],
      [jobOf('1,"__proto__":{"priority":9}'), ["/__proto__"], "validation_failed"],
      [jobOf('1,"id":"mine","status":"completed"'), ["/id", "/status"], "validation_failed"],
    ])("%s", async (job, places, code) => {
      const pointers = places.map((place) => `${at}${place}`);
      expect(await refusalOf(path, wrap(job))).toEqual({ status: 422, code, pointers });
    });
  },
);

test("a fault beside the payload is not blamed on the payload", async () => {
  const body = { type: note.type, payload: {}, runAt: "2999-01-01T00:00:00Z" };
  const response = await world.request("POST", "/api/jobs", { body });
  const { detail, errors } = (await response.json()) as { detail: string; errors: unknown };
  expect(errors).toEqual([{ pointer: "#/runAt", detail: "at most 365 days ahead" }]);
  expect(detail).not.toContain("payload");
});

test("the deepest nesting leaves the process serving", async () => {
  const rawBody = "[".repeat(130_000) + "]".repeat(130_000);
  expect((await world.request("POST", "/api/jobs", { rawBody })).status).toBe(422);
  expect((await world.request("POST", "/api/jobs", { rawBody: "[".repeat(260_000) })).status).toBe(
    400,
  );
  await world.create(note.type, { still: "serving" });
});

test("what a handler cannot have stored is omitted, and never stops the job from ending (C01, C04)", async () => {
  const results = ["a\u0000b", "\ud800", { "\udc00": 1 }, { deep: ["\u0000"] }, 10n, "\\u0000"];
  const odd = defineJob({
    type: "test.odd",
    payload: z.object({ at: z.int() }),
    run: ({ payload: { at } }) => results[at] as never,
  });
  const other = await createWorld({ jobs: [odd] });
  try {
    const ids: string[] = [];
    for (const at of results.keys()) ids.push(await other.create(odd.type, { at }));
    await other.qstash.deliverDue();
    const ends = await Promise.all(ids.map((id) => other.job(id)));
    expect(ends.map(({ status }) => status)).toEqual(results.map(() => "completed"));
    const omitted = ends.map(({ result, resultOmitted }) => resultOmitted ?? result);
    expect(omitted).toEqual([...Array(5).fill("not_json"), "\\u0000"]);
  } finally {
    await other.close();
  }
});

test("reasons of operators are checked like payloads", async () => {
  const jobId = await world.create(note.type, {}, { delaySeconds: 60 });
  for (const reason of ["\\u0000", "\\ud800"]) {
    const rawBody = `{"reason":"${reason}"}`;
    expect(await refusalOf(`/api/jobs/${jobId}/cancel`, rawBody)).toEqual(refused("#/reason"));
    expect(await refusalOf(`/api/jobs/${jobId}/run-now`, rawBody)).toEqual(refused("#/reason"));
  }
  const rawBody = '{"payload":{"a":9007199254740993}}';
  const replay = await refusalOf(`/api/jobs/${jobId}/replay`, rawBody);
  expect(replay).toEqual(refused("#/payload/a"));
  expect(await world.job(jobId)).toMatchObject({ status: "queued", cancelRequested: false });
});
