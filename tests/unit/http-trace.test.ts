import { describe, expect, test } from "vitest";
import { requestIdOf, traceparentOf } from "../../src/http/trace.js";

const TRACE_ID = "0af7651916cd43dd8448eb211c80319c";
const PARENT_ID = "b7ad6b7169203331";

describe("the request id", () => {
  test.each(["1", "a.b-C_1", "x".repeat(128)])("%s is taken over", (id) => {
    expect(requestIdOf(new Headers({ "X-Request-Id": id }))).toBe(id);
  });

  test.each([undefined, "", "a b", "x".repeat(129), "<b>", "a, b"])("for %j one is made", (id) => {
    const headers = new Headers(id === undefined ? {} : { "X-Request-Id": id });
    expect(requestIdOf(headers)).toMatch(/^[0-9a-f-]{36}$/);
  });
});

describe("the trace context", () => {
  test("is taken over if it is well formed", () => {
    const traceparent = `00-${TRACE_ID}-${PARENT_ID}-00`;
    expect(traceparentOf(new Headers({ traceparent }))).toBe(traceparent);
  });

  test.each([
    undefined,
    "",
    `ff-${TRACE_ID}-${PARENT_ID}-01`,
    `00-${TRACE_ID}-${PARENT_ID}-01-more`,
    `00-${TRACE_ID.toUpperCase()}-${PARENT_ID}-01`,
    `00-${"0".repeat(32)}-${PARENT_ID}-01`,
    `00-${TRACE_ID}-${"0".repeat(16)}-01`,
  ])("for %j one is started", (given) => {
    const headers = new Headers(given === undefined ? {} : { traceparent: given });
    const started = traceparentOf(headers);
    expect(started).toMatch(/^00-[0-9a-f]{32}-[0-9a-f]{16}-01$/);
    expect(started).not.toBe(traceparentOf(headers));
  });
});
