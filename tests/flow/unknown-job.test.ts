import { describe, expect, test } from "vitest";
import { scripted, succeed } from "../support/flow-jobs.js";
import { setUpFlow } from "../support/flow-world.js";

const flow = setUpFlow();

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
