import { createHash, createHmac } from "node:crypto";
import { beforeEach, describe, expect, test } from "vitest";
import { type HandMade, handMade, send } from "../support/flow-delivery.js";
import { type Handler, scripted, TYPE } from "../support/flow-jobs.js";
import { setUpFlow } from "../support/flow-world.js";
import { PUBLIC_URL } from "../support/world.js";

const flow = setUpFlow();
const URL = `${PUBLIC_URL}/api/process`;
let runs = 0;
const count: Handler = () => {
  runs += 1;
};
let jobId = "";

beforeEach(async () => {
  runs = 0;
  flow.start([scripted(count)]);
  jobId = await flow.create(TYPE, {});
});

const encode = (value: unknown) =>
  Buffer.from(typeof value === "string" ? value : JSON.stringify(value)).toString("base64url");
const hashOf = (body: string) => createHash("sha256").update(body).digest("base64url");
const messageOf = (id: string) => JSON.stringify({ v: 1, jobId: id, type: TYPE, seq: 1 });

/** Signs any claims with any header and key, right or wrong. */
function token(claims: Record<string, unknown>, options: { key?: string; header?: object } = {}) {
  const now = Math.floor(Date.now() / 1000);
  const good = { iss: "Upstash", sub: URL, exp: now + 300, iat: now, nbf: 0 };
  const key = options.key ?? flow.qstash.keys().current;
  const head = encode(options.header ?? { alg: "HS256", typ: "JWT" });
  const body = encode({ ...good, body: hashOf(messageOf(jobId)), ...claims });
  return `${head}.${body}.${createHmac("sha256", key).update(`${head}.${body}`).digest("base64url")}`;
}

/** Demands that a delivery is refused before anything is asked of the database. */
async function expectRefused(given: HandMade): Promise<void> {
  const before = await flow.row(jobId);
  flow.database.neon.requests = 0;
  const { status, body, headers } = await send(flow, { jobId, ...given });
  expect({ status, code: body.code }).toEqual({ status: 401, code: "unauthorized" });
  expect(headers.get("content-type")).toBe("application/problem+json");
  expect(flow.database.neon.requests).toBe(0);
  expect(await flow.row(jobId)).toEqual(before);
  expect(runs).toBe(0);
}

const expectRun = async (given: HandMade): Promise<void> => {
  expect(await send(flow, { jobId, ...given })).toMatchObject({
    status: 200,
    body: { outcome: "completed", ranJobId: jobId },
  });
  expect(runs).toBe(1);
};

describe("a call that QStash did not sign runs nothing", () => {
  test("the hand-made signature of this file is accepted where it is right (control)", async () => {
    await expectRun({ signature: token({}) });
  });

  test.each([
    ["missing", null],
    ["empty", ""],
    ["blank", "   "],
    ["three letters", "x.y.z"],
    ["dots", ".."],
    ["a word", "undefined"],
    ["a bearer token", "Bearer abc"],
    ["not base64", "!!.??.**"],
    ["huge", `${"a".repeat(7000)}.${"b".repeat(7000)}.c`],
    ["an object for a header", `${encode({})}.${encode({})}.${encode("")}`],
  ])("signature: %s (G01)", async (_, signature) => expectRefused({ signature }));

  test("signature: cut, lengthened, or with parts of another one (G01)", async () => {
    const good = token({});
    const [head = "", body = "", mac = ""] = good.split(".");
    const other = token({ jti: "jwt_other" }).split(".");
    for (const signature of [
      good.slice(0, -1),
      `${good}A`,
      `${head}.${body}`,
      `${head}.${body}.`,
      `${head}..${mac}`,
      `${head}.${other[1]}.${mac}`,
      `${head}.${body}.${other[2]}`,
      `${good}.${mac}`,
    ]) {
      await expectRefused({ signature });
    }
  });

  test("signature: unsigned or with another algorithm (G01)", async () => {
    for (const alg of ["none", "None", "HS1", "RS256", "ES256", "", null]) {
      await expectRefused({ signature: token({}, { header: { alg, typ: "JWT" } }) });
    }
    const [head, body] = token({}, { header: { alg: "none" } }).split(".");
    await expectRefused({ signature: `${head}.${body}.` });
  });

  test("two signature headers, even if both are right, are no signature (G01)", async () => {
    const request = handMade(flow, { jobId });
    request.headers.append("upstash-signature", request.headers.get("upstash-signature") ?? "");
    expect((await flow.instance.fetch(request)).status).toBe(401);
    expect(runs).toBe(0);
  });

  test("an API key or the cron secret in its place is no signature (G01)", async () => {
    for (const secret of ["admin-secret-0000000", "cron-secret-00000000"]) {
      const request = handMade(flow, { jobId, signature: null });
      request.headers.set("authorization", `Bearer ${secret}`);
      expect((await flow.instance.fetch(request)).status).toBe(401);
    }
    expect(runs).toBe(0);
  });

  test("the other way round, a signed body for the sweep runs no job (G01)", async () => {
    await expectRefused({ url: `${PUBLIC_URL}/api/sweep` });
  });
});

describe("the body that is checked is the one that came", () => {
  test("one changed byte is refused (G02)", async () => {
    const body = messageOf(jobId);
    const signature = token({});
    for (const changed of [
      body.replace('"seq":1', '"seq":2'),
      body.replace('"seq":1', '"seq": 1'),
      `${body} `,
      `${body}\n`,
      body.slice(0, -1),
      "",
      JSON.stringify({ type: TYPE, v: 1, jobId, seq: 1 }),
    ]) {
      await expectRefused({ body: changed, signature });
    }
  });

  test.each([
    [
      "odd spacing",
      (id: string) => `\n{ "v" : 1 ,\t"jobId":"${id}",\r\n "type":"${TYPE}","seq": 1 }  `,
    ],
    [
      "non-ASCII and unknown members",
      (id: string) =>
        `{"v":1,"jobId":"${id}","type":"${TYPE}","seq":1,"né":"日本語 🚀 \u0065\u0301"}`,
    ],
    [
      "escapes",
      (id: string) => `{"\\u0076":1,"jobId":"${id}","type":"test\\u002escript","seq":1e0}`,
    ],
  ])("%s that is validly signed is accepted (G02)", async (_, body) => {
    await expectRun({ body: body(jobId) });
  });

  test("the same text in another Unicode form is another body (G02)", async () => {
    const body = `{"v":1,"jobId":"${jobId}","type":"${TYPE}","seq":1,"n":"é"}`;
    const signature = token({ body: hashOf(body) });
    await expectRefused({ body: body.normalize("NFD"), signature });
    await expectRun({ body: body.normalize("NFC"), signature });
  });

  test("bytes that are not UTF-8 are refused however they are signed (G02)", async () => {
    const body = new Uint8Array([...new TextEncoder().encode(messageOf(jobId)), 0xff]);
    await expectRefused({ body });
  });

  test("a missing or wrong body hash is refused (G02)", async () => {
    for (const body of [undefined, "", null, hashOf("other"), 5, [hashOf(messageOf(jobId))]]) {
      await expectRefused({ signature: token({ body }) });
    }
  });

  test("a padded hash is as good as a bare one, as QStash's are (G02)", async () => {
    await expectRun({ signature: token({ body: `${hashOf(messageOf(jobId))}=` }) });
  });
});

describe("the address that is signed is one of ours", () => {
  test.each([
    "http://antrean.test/api/process/",
    "http://antrean.test/api/process?x=1",
    "https://antrean.test/api/process",
    "http://ANTREAN.test/api/process",
    "http://antrean.test:80/api/process",
    "http://evil.test/api/process",
    "http://antrean.test/api/sweep",
    "/api/process",
    "",
  ])("signed for %j it is refused (G02)", async (url) => expectRefused({ url }));

  test("the host that the request names has no say (G02)", async () => {
    const request = handMade(flow, { jobId, url: "http://evil.test/api/process" });
    const forwarded = new Request("http://evil.test/api/process", request);
    forwarded.headers.set("host", "antrean.test");
    forwarded.headers.set("x-forwarded-host", "antrean.test");
    expect((await flow.instance.fetch(forwarded)).status).toBe(401);
    expect(runs).toBe(0);
  });
});

describe("times in the signature", () => {
  test.each([
    ["expired ten minutes ago", { issuedAgoSeconds: 900 }],
    ["expired twelve seconds ago", { issuedAgoSeconds: 312 }],
    ["valid only in ten minutes", { issuedAgoSeconds: -600, nbf: "iat" as const }],
  ])("%s: refused (G05)", async (_, given) => expectRefused(given));

  test.each([
    ["valid in two seconds", { issuedAgoSeconds: -2, nbf: "iat" as const }],
    ["expired three seconds ago", { issuedAgoSeconds: 303 }],
    ["issued ten minutes ahead, valid since ever", { issuedAgoSeconds: -600 }],
  ])("%s: an honest skew is accepted (G05)", async (_, given) => expectRun(given));

  test("times that are no numbers are refused (G05)", async () => {
    for (const claims of [{ exp: "soon" }, { exp: null }, { nbf: "0" }, { exp: -1 }]) {
      await expectRefused({ signature: token(claims) });
    }
  });
});
