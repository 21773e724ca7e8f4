import { describe, expect, test, vi } from "vitest";
import { createGuardedFetch } from "../../src/entry/guarded-fetch.js";
import httpRequest from "../../src/jobs/http_request.js";
import {
  answering,
  call,
  createIssues,
  failure,
  OPERATION_ID,
  runJob,
  startTarget,
} from "../support/outbound.js";

describe("what is sent and kept", () => {
  test("a JSON body arrives as it was given, with the job's id as Idempotency-Key", async () => {
    await using target = await answering(
      201,
      { "content-type": "text/plain", "x-request-id": "r1" },
      "ok",
    );
    const json = JSON.parse('{"b":1,"a":[null,"é"],"__proto__":{"x":1}}');
    const result = await call(target, {
      json,
      headers: { "X-Trace": "t", "content-TYPE": "application/x+json" },
    });
    expect(result).toEqual({
      status: 201,
      headers: { "content-type": "text/plain", "x-request-id": "r1" },
      body: "ok",
      truncated: false,
    });
    const [request] = target.requests;
    expect(request).toMatchObject({ method: "POST", url: "/hook", body: JSON.stringify(json) });
    expect(request?.headers).toMatchObject({
      "idempotency-key": OPERATION_ID,
      "content-type": "application/x+json",
      "x-trace": "t",
    });
    expect(request?.headers).not.toHaveProperty("webhook-id");
  });

  test("text, JSON null, and no body at all", async () => {
    await using target = await answering(200);
    await call(target, { method: "PUT", text: "héllo" });
    await call(target, { method: "PATCH", json: null });
    await call(target, { method: "DELETE" });
    await call(target, { method: "GET" });
    expect(target.requests.map(({ method, body }) => [method, body])).toEqual([
      ["PUT", "héllo"],
      ["PATCH", "null"],
      ["DELETE", ""],
      ["GET", ""],
    ]);
    expect(target.requests[0]?.headers["content-type"]).toMatch(/^text\/plain/);
  });

  test("a caller's own trace wins over the one that the job was created under; none is sent without", async () => {
    await using target = await answering(200);
    const traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    await call(target);
    await call(target, {}, { traceparent });
    await call(target, { headers: { Traceparent: "mine" } }, { traceparent });
    expect(target.requests.map(({ headers }) => headers.traceparent)).toEqual([
      undefined,
      traceparent,
      "mine",
    ]);
  });

  test("headers of the answer that are nobody's business are not kept", async () => {
    await using target = await answering(200, { "set-cookie": "session=secret", etag: '"1"' });
    expect(await call(target)).toMatchObject({ headers: { etag: '"1"' } });
    expect(JSON.stringify(await call(target))).not.toContain("secret");
  });

  test("expectStatus decides what a success is", async () => {
    await using missing = await answering(404);
    expect(await call(missing, { expectStatus: [200, 404] })).toMatchObject({ status: 404 });
    await using accepted = await answering(202);
    expect(await failure(call(accepted, { expectStatus: [201] }))).toMatchObject({
      kind: "fatal",
      code: "http_202",
    });
  });

  test("the schema refuses unknown members and impossible combinations", () => {
    const url = "https://example.com/";
    const bad = [
      { url, method: "POST", extra: 1 },
      { url, method: "TRACE" },
      { url, method: "CONNECT" },
      { url, method: "post" },
      { url, method: "POST", json: 1, text: "a" },
      { url, method: "GET", json: {} },
      { url, method: "HEAD", text: "" },
      { url, method: "GET", timeoutSeconds: 0 },
      { url, method: "GET", timeoutSeconds: 1_000 },
      { url, method: "GET", responseBytesMax: -1 },
      { url, method: "GET", expectStatus: [] },
      { url, method: "GET", expectStatus: [100] },
      { method: "GET" },
      { url: `${url}${"a".repeat(2_048)}`, method: "GET" },
    ];
    expect(bad.filter((payload) => createIssues(httpRequest, payload).length === 0)).toEqual([]);
    expect(createIssues(httpRequest, { url, method: "GET" })).toEqual([]);
  });
});

describe("Q01, Q09: what must not be called is refused at create and again at call time", () => {
  const inside = [
    [
      "http://169.254.169.254/",
      "http://localhost:3000/",
      "http://10.0.0.1/",
      "http://192.168.1.1/",
    ],
    ["http://172.16.0.1/", "http://100.64.0.1/", "http://[::1]/", "http://[fd00::1]/"],
    ["http://[fe80::1]/", "http://2130706433/", "http://0x7f.1/", "http://127.0.0.1.nip.io/"],
    ["file:///etc/passwd", "data:text/plain,a", "ftp://example.com/", "gopher://example.com/"],
    ["http://example.com:22/", "http://example.com:25/", "http://example.com:6379/"],
    ["http://u:p@example.com/", "not a URL", ""],
  ].flat();

  test("each with a pointer to the URL, and without a connection", async () => {
    const outboundFetch = vi.fn<typeof fetch>();
    for (const url of inside) {
      expect(createIssues(httpRequest, { url, method: "GET" }), url).toMatchObject([
        { path: ["url"] },
      ]);
      const run = runJob(httpRequest, { url, method: "GET" }, { outboundFetch });
      expect(await failure(run), url).toMatchObject({ kind: "fatal" });
    }
    expect(outboundFetch).not.toHaveBeenCalled();
  });

  test("also when the deployment closed a host after the job was accepted", async () => {
    await using target = await answering(200);
    const payload = { url: target.url, method: "GET" };
    expect(createIssues(httpRequest, payload, { OUTBOUND_ALLOW: target.place })).toEqual([]);
    expect(await failure(call(target, {}, { env: { OUTBOUND_ALLOW: "" } }))).toMatchObject({
      kind: "fatal",
    });
    expect(target.requests).toEqual([]);
  });
});

describe("Q02: a redirect is never followed and ends the job", () => {
  test.each([301, 302, 303, 307, 308, 304, 300])("%i", async (status) => {
    await using target = await answering(status, { location: "http://169.254.169.254/latest" });
    expect(await failure(call(target, { json: { a: 1 } }))).toMatchObject({
      kind: "fatal",
      code: `http_${status}`,
    });
    expect(target.requests).toHaveLength(1);
  });

  test("not even to a host that may be called, nor in chains, nor with the body", async () => {
    await using second = await answering(200);
    await using first = await startTarget((response, { url }) => {
      const location = url === "/hook" ? "/next" : second.url;
      response.writeHead(307, { location }).end();
    });
    const env = { OUTBOUND_ALLOW: `${first.place},${second.place}` };
    expect((await failure(call(first, { text: "secret" }, { env }))).kind).toBe("fatal");
    expect(first.requests).toHaveLength(1);
    expect(second.requests).toHaveLength(0);
    // Control: without the guard the chain is followed to its end, body and all.
    await fetch(`${first.url}/hook`, { method: "POST", body: "secret" });
    expect(second.requests).toMatchObject([{ body: "secret" }]);
  });
});

test("Q06: a name that resolves inside at call time ends the job without a request", async () => {
  await using target = await answering(200);
  const outboundFetch = createGuardedFetch({
    allow: undefined,
    resolve: async () => [{ address: "127.0.0.1", family: 4 }],
  });
  const payload = { url: "http://rebound.example.com:8080/", method: "GET" } as const;
  expect(createIssues(httpRequest, payload)).toEqual([]);
  expect(await failure(runJob(httpRequest, payload, { outboundFetch }))).toMatchObject({
    kind: "fatal",
    message: expect.stringContaining("127.0.0.1"),
  });
  expect(target.requests).toEqual([]);
});

describe("Q12: headers that would change the request are refused", () => {
  test("each at create with its own pointer, and at call time without a connection", async () => {
    const outboundFetch = vi.fn<typeof fetch>();
    const bad: Record<string, string>[] = [
      { "X-A": "a\r\nX-B: 1" },
      { "Bad Name": "x" },
      { Host: "evil" },
      { "Content-Length": "1" },
      { "Transfer-Encoding": "chunked" },
      { "Idempotency-Key": "mine" },
      { "webhook-id": "mine" },
    ];
    for (const headers of bad) {
      const payload = { url: "https://example.com/", method: "POST", headers } as const;
      const path = ["headers", ...Object.keys(headers)];
      expect(createIssues(httpRequest, payload)).toMatchObject([{ path }]);
      expect(await failure(runJob(httpRequest, payload, { outboundFetch }))).toMatchObject({
        kind: "fatal",
      });
    }
    expect(outboundFetch).not.toHaveBeenCalled();
    const number = { url: "https://example.com/", method: "POST", headers: { "X-N": 1 } };
    expect(createIssues(httpRequest, number)).toMatchObject([{ path: ["headers", "X-N"] }]);
  });
});

test("R06: error texts hold no query, path, credentials, header or body", async () => {
  const marker = "s3cr3t";
  const payload = {
    url: "",
    headers: { authorization: `Bearer ${marker}`, "x-key": marker },
    json: { marker },
  };
  await using broken = await startTarget((response) => response.destroy());
  await using cases = await startTarget((response, { url }) => {
    response.writeHead(Number(url.slice(1, 4)), { location: `/${marker}`, "x-echo": marker });
    response.end(marker);
  });
  const texts: string[] = [];
  for (const status of [302, 400, 429, 500]) {
    const url = `${cases.url}/${status}/${marker}?token=${marker}#${marker}`;
    texts.push((await failure(call(cases, { ...payload, url }))).message);
  }
  for (const url of [
    `${broken.url}/?t=${marker}`,
    `http://u:${marker}@${broken.place}/`,
    `http://10.0.0.1/${marker}`,
  ]) {
    texts.push((await failure(call(broken, { ...payload, url }))).message);
  }
  const headers = { "x-key": `${marker}\n` };
  texts.push((await failure(call(broken, { headers }))).message);
  expect(texts).toHaveLength(8);
  expect(texts.filter((text) => text.includes(marker))).toEqual([]);
});
