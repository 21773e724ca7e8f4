import { describe, expect, test } from "vitest";
import { checkMediaType } from "../../src/http/read-body.js";

const check = (headers: Record<string, string>) => () => checkMediaType(new Headers(headers));
const refusal = expect.objectContaining({ code: "unsupported_media_type" });

describe("the media type of a body", () => {
  test.each([
    "application/json",
    "application/json; charset=UTF-8",
    'application/json;charset="utf-8"',
    "Application/vnd.acme+json; profile=x",
  ])("%s is JSON", (type) => {
    expect(check({ "Content-Type": type })).not.toThrow();
  });

  test.each([
    "text/plain",
    "text/json",
    "application/x-www-form-urlencoded",
    "multipart/form-data; boundary=x",
    "application/jsonp",
    "application/json; charset=latin1",
    "application/json; charset=utf-8, text/plain",
    "application/json, application/json",
    "",
  ])("D11: %j is refused", (type) => {
    expect(check({ "Content-Type": type })).toThrow(refusal);
  });

  test("D11: a missing type and a compressed body are refused", () => {
    expect(check({})).toThrow(refusal);
    const json = { "Content-Type": "application/json" };
    expect(check({ ...json, "Content-Encoding": "gzip" })).toThrow(refusal);
    expect(check({ ...json, "Content-Encoding": "identity" })).not.toThrow();
  });
});
