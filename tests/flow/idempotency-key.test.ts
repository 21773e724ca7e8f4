import { afterAll, beforeAll, describe, expect, test } from "vitest";
import * as z from "zod";
import { defineJob } from "../../src/core/define-job.js";
import type { Json } from "../../src/core/job.js";
import { createWorld, KEYS, PUBLIC_URL, type World } from "../support/world.js";

const note = defineJob({
  type: "test.note",
  payload: z.looseObject({}),
  run: () => ({ ok: true }),
});
/** Another secret of acme's, as during a rotation. */
const ROTATED = "acme-rotated-0000000";

let world: World;
beforeAll(async () => {
  const apiKeys = `acme:write:${KEYS.acme},acme:write:${ROTATED},globex:write:${KEYS.globex}`;
  world = await createWorld({ jobs: [note], env: { API_KEYS: apiKeys } });
});
afterAll(() => world.close());

/** Both ways to create: what holds for one holds for the other. */
const ENTRIES = [
  { path: "/api/jobs", jobs: 1, bodyOf: (payload: Json): Json => ({ type: note.type, payload }) },
  {
    path: "/api/jobs/batch",
    jobs: 2,
    bodyOf: (payload: Json): Json => ({
      jobs: [
        { type: note.type, payload },
        { type: note.type, payload },
      ],
    }),
  },
];

interface Sent {
  key?: string;
  secret?: string;
  headers?: Record<string, string>;
}

async function post(path: string, body: Json, { key, secret, headers = {} }: Sent) {
  const request = new Request(`${PUBLIC_URL}${path}`, {
    method: "POST",
    headers: {
      authorization: `Bearer ${secret ?? KEYS.acme}`,
      "content-type": "application/json",
      ...(key !== undefined && { "idempotency-key": key }),
      ...headers,
    },
    body: typeof body === "string" ? body : JSON.stringify(body),
  });
  const response = await world.instance.fetch(request);
  const text = await response.text();
  return { status: response.status, headers: response.headers, text, json: JSON.parse(text) };
}

/** How many jobs and remembered requests there are. */
async function stored(): Promise<{ jobs: number; records: number }> {
  const { rows } = await world.database.pg.query(
    `select (select count(*)::int from jobs) as jobs,
       (select count(*)::int from idempotency_records) as records`,
  );
  return rows[0];
}

let lastKey = 0;
const freshKey = (): string => `key-${++lastKey}`;

describe.each(ENTRIES)("POST $path", ({ path, jobs, bodyOf }) => {
  test("without a key is refused with a problem that leads to our docs, and writes nothing (A01)", async () => {
    const before = await stored();
    const answer = await post(path, bodyOf({}), {});
    expect(answer.status).toBe(400);
    expect(answer.headers.get("content-type")).toBe("application/problem+json");
    expect(answer.json).toMatchObject({
      code: "idempotency_key_missing",
      type: `${PUBLIC_URL}/api/docs#idempotency_key_missing`,
    });
    expect(await stored()).toEqual(before);
  });

  test.each(["", "   ", "\t", '""', '"   "'])(
    "with the blank key %j is refused as if it had none (A10)",
    async (key) => {
      const before = await stored();
      const answer = await post(path, bodyOf({}), { key });
      expect([answer.status, answer.json.code]).toEqual([400, "idempotency_key_missing"]);
      expect(await stored()).toEqual(before);
    },
  );

  test("takes keys of up to 255 characters whole, and refuses longer ones (A08)", async () => {
    const visible = Array.from(
      { length: 20_000 },
      (_, at) => 0x21 + ((at * 37 + path.length) % 94),
    );
    const keyOf = (length: number) => String.fromCharCode(...visible.slice(0, length));
    const quoted = (key: string) => `"${key.replace(/["\\]/g, "\\$&")}"`;
    const longest = keyOf(255);
    const first = await post(path, bodyOf({}), { key: longest });
    expect(first.status).toBe(202);
    expect((await post(path, bodyOf({}), { key: quoted(longest) })).text).toBe(first.text);
    const before = await stored();
    for (const key of [keyOf(256), quoted(keyOf(256)), keyOf(20_000)]) {
      const answer = await post(path, bodyOf({}), { key });
      expect([answer.status, answer.json.code]).toEqual([400, "idempotency_key_invalid"]);
    }
    expect(await stored()).toEqual(before);
  });

  test.each(["two words", "caf\u00e9", '"open', 'a", "b', '"bad \\escape"', "one, two"])(
    "refuses the unusable key %j, also two headers joined into one",
    async (key) => {
      const before = await stored();
      const answer = await post(path, bodyOf({}), { key });
      expect([answer.status, answer.json.code]).toEqual([400, "idempotency_key_invalid"]);
      expect(await stored()).toEqual(before);
    },
  );

  test.each([
    ["plain", '"plain"'],
    ["a,b;c=d", '"a,b;c=d"'],
    ['in"side', '"in\\"side"'],
    ["back\\slash", '"back\\\\slash"'],
  ])("takes %j and %j as one key", async (bare, quoted) => {
    const first = await post(path, bodyOf({}), { key: bare });
    const second = await post(path, bodyOf({}), { key: `  ${quoted} ` });
    expect([first.status, second.status]).toEqual([202, 202]);
    expect(second.text).toBe(first.text);
    expect(second.headers.get("idempotent-replayed")).toBe("true");
  });

  test("answers a repeated request byte for byte, headers included, and says so", async () => {
    const key = freshKey();
    const first = await post(path, bodyOf({ n: 1 }), { key });
    expect(first.headers.has("idempotent-replayed")).toBe(false);
    const again = await post(path, bodyOf({ n: 1 }), { key });
    expect([again.status, again.text]).toEqual([first.status, first.text]);
    const headersOf = ({ headers }: typeof first) =>
      Object.fromEntries([...headers].filter(([name]) => name !== "x-request-id"));
    expect(headersOf(again)).toEqual({ ...headersOf(first), "idempotent-replayed": "true" });
    expect(again.headers.get("location")).toBe(jobs === 1 ? again.json.statusUrl : null);
  });

  test("refuses the key of another request, and leaves the first as it is (A02)", async () => {
    const key = freshKey();
    const first = await post(path, bodyOf({ n: 1 }), { key });
    const before = await stored();
    const other = await post(path, bodyOf({ n: 2 }), { key });
    expect([other.status, other.json.code]).toEqual([409, "idempotency_key_reused"]);
    expect(other.headers.get("content-type")).toBe("application/problem+json");
    expect(other.text).not.toContain(first.json.jobId ?? first.json.jobs[0].jobId);
    expect(await stored()).toEqual(before);
    expect((await post(path, bodyOf({ n: 1 }), { key })).text).toBe(first.text);
  });

  test("forgets a request that it refused, so that the corrected one succeeds (A11)", async () => {
    const key = freshKey();
    const before = await stored();
    const refused = [
      await post(path, '{"type":', { key }),
      await post(path, {}, { key }),
      await post(path, bodyOf("no object"), { key }),
      await post(path, JSON.stringify(bodyOf({})).replaceAll(note.type, "test.unknown"), { key }),
      await post(path, bodyOf({}), { key, headers: { "content-type": "text/plain" } }),
      await post(path, bodyOf({}), { key, secret: "nobody-knows-this-key" }),
      await post(path, bodyOf("x".repeat(4_000_000)), { key }),
    ];
    expect(refused.map(({ status }) => status)).toEqual([400, 422, 422, 422, 415, 401, 413]);
    expect(await stored()).toEqual(before);
    const good = await post(path, bodyOf({}), { key });
    expect([good.status, good.headers.has("idempotent-replayed")]).toEqual([202, false]);
    expect(await stored()).toEqual({ jobs: before.jobs + jobs, records: before.records + 1 });
    // What is refused later does not take the place of what was accepted.
    expect((await post(path, bodyOf("no object"), { key })).status).toBe(422);
    expect((await post(path, bodyOf({}), { key })).text).toBe(good.text);
  });

  test("keeps the keys of tenants apart, whatever they send (A16)", async () => {
    const key = freshKey();
    const acme = await post(path, bodyOf({ n: 1 }), { key });
    const before = await stored();
    const same = await post(path, bodyOf({ n: 1 }), { key, secret: KEYS.globex });
    expect([same.status, same.headers.has("idempotent-replayed")]).toEqual([202, false]);
    expect(await stored()).toEqual({ jobs: before.jobs + jobs, records: before.records + 1 });
    const idsOf = (text: string): string[] => text.match(/[0-9a-f]{8}-[0-9a-f-]{27}/g) ?? [];
    expect(idsOf(acme.text).filter((id) => same.text.includes(id))).toEqual([]);
    // A tenant may well use a key for a request that is another one for its neighbour.
    const other = freshKey();
    expect((await post(path, bodyOf({ n: 1 }), { key: other })).status).toBe(202);
    const answer = await post(path, bodyOf({ n: 2 }), { key: other, secret: KEYS.globex });
    expect(answer.status).toBe(202);
  });

  test("knows a tenant's key again under each of its secrets", async () => {
    const key = freshKey();
    const first = await post(path, bodyOf({}), { key });
    expect((await post(path, bodyOf({}), { key, secret: ROTATED })).text).toBe(first.text);
  });
});

test("a key of one operation is free for the other", async () => {
  const [single, batch] = ENTRIES;
  const key = freshKey();
  for (const entry of [single, batch, single, batch]) {
    if (!entry) throw new Error("there are two entries");
    const { status } = await post(entry.path, entry.bodyOf({}), { key });
    expect(status).toBe(202);
  }
  const { rows } = await world.database.pg.query(
    "select operation from idempotency_records where idempotency_key = $1 order by operation",
    [key],
  );
  expect(rows).toEqual([{ operation: "create_batch" }, { operation: "create_job" }]);
});
