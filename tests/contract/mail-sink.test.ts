import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { type MailSink, startMailSink } from "../../dev/mail/server.js";

const MAIL = {
  from: "Acme <shop@acme.example>",
  to: "ada@example.com",
  subject: "Order 7",
  text: "Thank you",
};

let sink: MailSink;

beforeEach(async () => {
  sink = await startMailSink();
});
afterEach(() => sink.close());

function send(body: unknown, headers: Record<string, string> = {}): Promise<Response> {
  return fetch(`${sink.url}/emails`, {
    method: "POST",
    headers: { Authorization: "Bearer re_any", "Content-Type": "application/json", ...headers },
    body: typeof body === "string" ? body : JSON.stringify(body),
  });
}

async function expectError(answer: Promise<Response>, statusCode: number, name: string) {
  const response = await answer;
  expect(response.status).toBe(statusCode);
  expect(await response.json()).toEqual({ statusCode, name, message: expect.any(String) });
}

describe("sending", () => {
  test("a mail is taken, kept and shown in Resend's shape", async () => {
    const response = await send({ ...MAIL, reply_to: ["help@acme.example"], tags: [] });
    expect(response.status).toBe(200);
    const { id } = await response.json();
    const mail = await (await fetch(`${sink.url}/emails/${id}`)).json();
    expect(mail).toMatchObject({
      object: "email",
      id,
      from: MAIL.from,
      to: ["ada@example.com"],
      cc: [],
      reply_to: ["help@acme.example"],
      subject: "Order 7",
      text: "Thank you",
      tags: [],
    });
    expect(sink.mails).toEqual([mail]);
    expect(await (await fetch(`${sink.url}/emails`)).json()).toMatchObject({ data: [{ id }] });
  });

  test("a mail without a key of the API, or without a User-Agent, is refused", async () => {
    await expectError(send(MAIL, { Authorization: "" }), 401, "missing_api_key");
    const nameless = await send(MAIL, { "User-Agent": "" });
    expect([nameless.status, await nameless.text()]).toEqual([403, "error code: 1010"]);
    expect(sink.mails).toEqual([]);
  });

  test.each([
    ["no sender", { ...MAIL, from: undefined }, "missing_required_field"],
    ["no recipient", { ...MAIL, to: [] }, "missing_required_field"],
    ["no subject", { ...MAIL, subject: "" }, "missing_required_field"],
    ["no content", { ...MAIL, text: undefined }, "missing_required_field"],
    ["a recipient that is no address", { ...MAIL, to: ["ada"] }, "validation_error"],
    ["a sender that is no address", { ...MAIL, from: "Acme <shop>" }, "validation_error"],
    ["51 recipients", { ...MAIL, to: Array(51).fill("a@b.example") }, "validation_error"],
    ["a subject that is no text", { ...MAIL, subject: 7 }, "validation_error"],
  ])("a mail with %s is refused", async (_, mail, name) => {
    await expectError(send(mail), 422, name);
    expect(sink.mails).toEqual([]);
  });

  test.each(["{", "[]", "null", '"text"'])("the body %s is refused", async (body) => {
    await expectError(send(body), 400, "validation_error");
  });

  test("what is not there is answered in Resend's shape too", async () => {
    await expectError(fetch(`${sink.url}/emails/none`), 404, "not_found");
    await expectError(fetch(`${sink.url}/emails`, { method: "PUT" }), 405, "method_not_allowed");
  });
});

describe("the Idempotency-Key", () => {
  const key = { "Idempotency-Key": "order-7" };

  test("the same key and mail give the same id, and one mail", async () => {
    const ids = await Promise.all([send(MAIL, key), send(MAIL, key), send(MAIL, key)]);
    const [first, ...others] = await Promise.all(ids.map((response) => response.json()));
    expect(others).toEqual([first, first]);
    expect(sink.mails).toMatchObject([{ ...first, idempotency_key: "order-7" }]);
  });

  test("the same key with another mail is refused", async () => {
    await send(MAIL, key);
    const other = send({ ...MAIL, subject: "Order 8" }, key);
    await expectError(other, 409, "invalid_idempotent_request");
    expect(sink.mails).toHaveLength(1);
  });

  test("other keys, or none, give a mail each", async () => {
    await send(MAIL, key);
    await send(MAIL, { "Idempotency-Key": "order-8" });
    await send(MAIL);
    await send(MAIL);
    expect(new Set(sink.mails.map(({ id }) => id)).size).toBe(4);
  });

  test("a key of more than 256 characters is refused", async () => {
    const long = send(MAIL, { "Idempotency-Key": "k".repeat(257) });
    await expectError(long, 400, "invalid_idempotency_key");
  });

  test("a mail that failed does not use its key up", async () => {
    sink.failNext(500);
    await expectError(send(MAIL, key), 500, "application_error");
    expect((await send({ ...MAIL, subject: "Order 8" }, key)).status).toBe(200);
  });

  test("after a lost answer the same key brings the id of the mail that was taken", async () => {
    sink.loseNextAnswer();
    await expect(send(MAIL, key)).rejects.toThrow("fetch failed");
    const { id } = await (await send(MAIL, key)).json();
    expect(sink.mails.map((mail) => mail.id)).toEqual([id]);
  });
});

test("failures are given in their order, each to one mail, with their body and headers", async () => {
  sink.failNext(429, { name: "rate_limit_exceeded" }, { "Retry-After": "7" });
  sink.failNext(503, "<h1>Down</h1>", { "Content-Type": "text/html" });
  const limited = await send(MAIL);
  expect([limited.status, limited.headers.get("Retry-After")]).toEqual([429, "7"]);
  expect(await limited.json()).toEqual({ name: "rate_limit_exceeded" });
  const down = await send(MAIL);
  expect([down.status, await down.text()]).toEqual([503, "<h1>Down</h1>"]);
  expect((await send(MAIL)).status).toBe(200);
  expect(sink.mails).toHaveLength(1);
});

test("the page shows a mail without giving its content any power", async () => {
  const script = `<script>alert("1")</script>`;
  await send({ ...MAIL, subject: script, text: script, html: `${script}<a title='&quot;'>` });
  const page = await fetch(sink.url);
  expect(page.headers.get("Content-Security-Policy")).toContain("default-src 'none'");
  const html = await page.text();
  expect(html).not.toContain("<script");
  expect(html).toContain("<h2>&lt;script&gt;alert(&quot;1&quot;)&lt;/script&gt;</h2>");
  expect(html).toMatch(/<iframe sandbox [^<>]*srcdoc="[^"<>]*&amp;quot;'&gt;"><\/iframe>/);
});

test("a port that is taken is named with the variable that moves it", async () => {
  await expect(startMailSink({ port: sink.port })).rejects.toThrow(
    `Port ${sink.port} for the mail sink is taken. Set MAIL_PORT to another port.`,
  );
});
