import { describe, expect, test } from "vitest";
import { scripted, succeed, TYPE } from "../support/flow-jobs.js";
import { setUpFlow } from "../support/flow-world.js";
import { KEYS } from "../support/world.js";

const flow = setUpFlow();
const UNKNOWN_ID = "01890a5d-ac96-774b-bcce-b302099a8057";

describe("an id that names no job", () => {
  test.each([
    "abc",
    "1",
    "00000000-0000-0000-0000-000000000000",
    "%00",
    "%2e%2e",
    "x".repeat(10_240),
  ])("is a 404 for every verb: %.40s (E06)", async (id) => {
    flow.start([scripted(succeed())]);
    const verbs: [string, string][] = [
      ["GET", ""],
      ["HEAD", ""],
      ["GET", "/timeline"],
      ["POST", "/cancel"],
      ["POST", "/replay"],
      ["POST", "/run-now"],
    ];
    for (const [method, rest] of verbs) {
      const { status } = await flow.request(method, `/api/jobs/${id}${rest}`);
      expect(`${method} ${rest} ${status}`).toBe(`${method} ${rest} 404`);
    }
  });
});

test.each([
  ["GET", "", undefined],
  ["GET", "?wait=1", undefined],
  ["GET", "/timeline", undefined],
  ["POST", "/cancel", {}],
  ["POST", "/replay", {}],
  ["POST", "/replay", { payload: 1 }],
  ["POST", "/run-now", {}],
  ["POST", "/effects/charge/settle", { outcome: "not_done", reason: "seen" }],
] as const)(
  "another tenant's job is to %s %s %j as one that is not there: same answer, same work (R04)",
  async (method, rest, body) => {
    flow.start([scripted(succeed())]);
    const jobId = await flow.create(TYPE, {});
    const asked = async (id: string) => {
      flow.database.neon.requests = 0;
      const path = `/api/jobs/${id}${rest}`;
      const response = await flow.request(method, path, { secret: KEYS.globex, body });
      const { requestId, ...problem } = (await response.json()) as Record<string, unknown>;
      const headers = [...response.headers].filter(([name]) => name !== "x-request-id");
      const { requests } = flow.database.neon;
      return { status: response.status, headers, problem, requests };
    };
    const before = await flow.row(jobId);
    const foreign = await asked(jobId);
    expect(foreign).toEqual(await asked(UNKNOWN_ID));
    expect(foreign).toMatchObject({ status: 404, requests: 1 });
    expect(await flow.row(jobId)).toEqual(before);
  },
);
