import { describe, expect, test } from "vitest";
import { headerIssues } from "../../src/jobs/outbound/header-policy.js";

describe("Q12: a caller's headers cannot change what is sent around them", () => {
  test("values with line breaks or other control characters are refused", () => {
    const values = ["a\r\nX-B: 1", "a\nb", "a\rb", "a\u0000b", "\u0007", "a\u007f", "é", "\u2028"];
    for (const value of values) {
      const issues = headerIssues({ "X-A": value });
      expect(issues, JSON.stringify(value)).toMatchObject([{ path: ["X-A"] }]);
      expect(issues[0]?.message).not.toContain(value);
    }
  });

  test("names that are no tokens are refused", () => {
    const names = [
      "Bad Name",
      "",
      "a:b",
      "a\r\nb",
      "a\u0000",
      "ä",
      "(a)",
      "a,b",
      '"a"',
      "a/b",
      "{}",
    ];
    expect(names.filter((name) => headerIssues({ [name]: "1" }).length === 0)).toEqual([]);
  });

  test("names that belong to the HTTP stack or to us are refused in any case", () => {
    const names = [
      ["Host", "Content-Length", "Transfer-Encoding", "Connection", "Keep-Alive", "Upgrade", "TE"],
      ["Trailer", "Expect", "Via", "Accept-Encoding", "Proxy-Authorization", "Proxy-Connection"],
      ["proxy-x", "Idempotency-Key", "IDEMPOTENCY-KEY", "webhook-id", "Webhook-Signature"],
      ["WEBHOOK-TIMESTAMP", "HTTP2-Settings", "Sec-Fetch-Site"],
    ].flat();
    expect(names.filter((name) => headerIssues({ [name]: "1" }).length === 0)).toEqual([]);
  });

  test("a name that is given twice in different cases is refused", () => {
    expect(headerIssues({ "X-A": "1", "x-a": "2" })).toMatchObject([{ path: ["x-a"] }]);
  });

  test("number and bytes of headers are bounded", () => {
    const many = (count: number) =>
      Object.fromEntries(Array.from({ length: count }, (_, index) => [`x-${index}`, "1"]));
    expect(headerIssues(many(50))).toEqual([]);
    expect(headerIssues(many(51))).toMatchObject([{ path: [] }]);
    expect(headerIssues({ "x-a": "a".repeat(8_189) })).toEqual([]);
    expect(headerIssues({ "x-a": "a".repeat(8_190) })).toMatchObject([{ path: [] }]);
  });

  test("ordinary headers pass, the caller's own credentials among them", () => {
    const headers = {
      Authorization: "Bearer abc",
      Cookie: "a=b",
      Accept: "application/json;q=0.9, */*",
      "Content-Type": "application/xml",
      "X-Empty": "",
      "x-tab": "a\tb",
      "Content-Encoding": "identity",
    };
    expect(headerIssues(headers)).toEqual([]);
  });
});
