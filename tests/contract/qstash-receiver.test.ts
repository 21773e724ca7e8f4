import { Client, Receiver, SignatureError } from "@upstash/qstash";
import { beforeEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { type QstashOptions, startQstash } from "../../dev/qstash/start.js";

const url = "https://example.com/api/process";

/** Publishes a message, delivers it and returns what its receiver must judge. */
async function setup(options: QstashOptions = {}) {
  const received: { signature: string; body: string; headers: Headers }[] = [];
  const qstash = await startQstash({
    mode: "manual",
    deliver: async (request) => {
      const signature = request.headers.get("upstash-signature") ?? "";
      received.push({ signature, body: await request.text(), headers: request.headers });
      return new Response();
    },
    ...options,
  });
  onTestFinished(() => qstash.close());
  const client = new Client({ baseUrl: qstash.url, token: qstash.token, devMode: false });
  const issued = qstash.keys();
  const receiver = new Receiver({
    currentSigningKey: issued.current,
    nextSigningKey: issued.next,
    devMode: false,
  });
  const deliver = async (body = '{"n":1}') => {
    await client.publish({ url, body });
    await qstash.deliverDue();
    const request = received.at(-1);
    if (!request) throw new Error("nothing was delivered");
    return request;
  };
  return { qstash, receiver, deliver };
}

function claims(signature: string): Record<string, unknown> {
  return JSON.parse(Buffer.from(signature.split(".")[1] ?? "", "base64url").toString());
}

async function rejection(verification: Promise<unknown>): Promise<SignatureError> {
  const error = await verification.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  expect(error).toBeInstanceOf(SignatureError);
  return error as SignatureError;
}

beforeEach(() => {
  vi.spyOn(console, "warn").mockImplementation(() => {});
});

describe("the real receiver accepts", () => {
  test("a delivery signed with the current key, with and without the url", async () => {
    const { receiver, deliver } = await setup();
    const { signature, body } = await deliver();
    expect(await receiver.verify({ signature, body, url })).toBe(true);
    expect(await receiver.verify({ signature, body })).toBe(true);
  });

  test("a delivery signed with the next key", async () => {
    const { qstash, receiver, deliver } = await setup();
    qstash.signWith("next");
    const { signature, body } = await deliver();
    expect(await receiver.verify({ signature, body, url })).toBe(true);
  });

  test("an empty body and a body beyond ASCII", async () => {
    const { receiver, deliver } = await setup();
    for (const text of ["", '{"name":"Jörg 🚀"}']) {
      const { signature, body } = await deliver(text);
      expect(body).toBe(text);
      expect(await receiver.verify({ signature, body, url })).toBe(true);
    }
  });

  test("deliveries after one rotation of the keys, without being told", async () => {
    const { qstash, receiver, deliver } = await setup();
    qstash.rotateKeys();
    const { signature, body } = await deliver();
    expect(await receiver.verify({ signature, body, url })).toBe(true);
  });

  test("an expired signature within its clock tolerance", async () => {
    const { qstash, receiver, deliver } = await setup();
    qstash.clockOffset(-303);
    const { signature, body } = await deliver();
    await rejection(receiver.verify({ signature, body, url }));
    expect(await receiver.verify({ signature, body, url, clockTolerance: 30 })).toBe(true);
  });

  test("a clock ahead: nbf 0 always, nbf = iat within the tolerance", async () => {
    const zero = await setup();
    zero.qstash.clockOffset(20);
    const ahead = await zero.deliver();
    expect(claims(ahead.signature)).toMatchObject({ nbf: 0 });
    expect(await zero.receiver.verify({ ...ahead, url })).toBe(true);

    const iat = await setup({ nbf: "iat" });
    iat.qstash.clockOffset(20);
    const strict = await iat.deliver();
    await rejection(iat.receiver.verify({ ...strict, url }));
    expect(await iat.receiver.verify({ ...strict, url, clockTolerance: 30 })).toBe(true);
  });

  test("the public keys of the first user in development mode", async () => {
    const { deliver } = await setup();
    const { signature, body } = await deliver();
    const developer = new Receiver({ devMode: true });
    expect(await developer.verify({ signature, body, url })).toBe(true);
  });
});

describe("the real receiver rejects", () => {
  test("a signature made with a foreign key", async () => {
    const { qstash, receiver, deliver } = await setup();
    qstash.signWith("sig_somebodyElse");
    const { signature, body } = await deliver();
    const error = await rejection(receiver.verify({ signature, body, url }));
    expect(error.message).toBe("signature verification failed");
  });

  test("deliveries after two rotations, until it knows the new keys", async () => {
    const { qstash, receiver, deliver } = await setup();
    qstash.rotateKeys();
    const { current, next } = qstash.rotateKeys();
    const { signature, body } = await deliver();
    await rejection(receiver.verify({ signature, body, url }));
    const updated = new Receiver({
      currentSigningKey: current,
      nextSigningKey: next,
      devMode: false,
    });
    expect(await updated.verify({ signature, body, url })).toBe(true);
  });

  test("a key that was rotated away", async () => {
    const { qstash, deliver } = await setup();
    const { current, next } = qstash.rotateKeys();
    qstash.signWith("previous");
    const { signature, body } = await deliver();
    const updated = new Receiver({
      currentSigningKey: current,
      nextSigningKey: next,
      devMode: false,
    });
    await rejection(updated.verify({ signature, body, url }));
  });

  test("a changed body, however small the change", async () => {
    const { receiver, deliver } = await setup();
    const { signature, body } = await deliver();
    const error = await rejection(receiver.verify({ signature, body: `${body} `, url }));
    expect(error.message).toContain("body hash does not match");
  });

  test("another url, even by a trailing slash", async () => {
    const { receiver, deliver } = await setup();
    const { signature, body } = await deliver();
    for (const other of [`${url}/`, url.replace("https", "http"), `${url}?x=1`]) {
      const error = await rejection(receiver.verify({ signature, body, url: other }));
      expect(error.message).toContain("invalid subject");
    }
  });

  test("a signature from ten minutes ago, and one from far in the future", async () => {
    const old = await setup();
    old.qstash.clockOffset(-600);
    await rejection(old.receiver.verify({ ...(await old.deliver()), url, clockTolerance: 10 }));
    const early = await setup({ nbf: "iat" });
    early.qstash.clockOffset(600);
    await rejection(early.receiver.verify({ ...(await early.deliver()), url, clockTolerance: 10 }));
  });

  test("an empty and a mangled signature", async () => {
    const { receiver, deliver } = await setup();
    const { signature, body } = await deliver();
    const empty = await rejection(receiver.verify({ signature: "", body, url }));
    expect(empty.message).toBe("Invalid Compact JWS");
    await rejection(receiver.verify({ signature: signature.slice(0, -3), body, url }));
  });

  test("everything, with a plain error, when it has no keys", async () => {
    const { deliver } = await setup();
    const { signature, body } = await deliver();
    const keyless = new Receiver({ devMode: false });
    const error = await keyless.verify({ signature, body, url }).catch((reason) => reason);
    expect(error).not.toBeInstanceOf(SignatureError);
    expect(error.message).toContain("No signing keys");
  });
});

test("the claims are those of the service, in its order, with a padded body hash", async () => {
  const { deliver } = await setup();
  const { signature } = await deliver();
  const [header = ""] = signature.split(".");
  expect(JSON.parse(Buffer.from(header, "base64url").toString())).toEqual({
    alg: "HS256",
    typ: "JWT",
  });
  const payload = claims(signature);
  expect(Object.keys(payload)).toEqual(["aud", "body", "exp", "iat", "iss", "jti", "nbf", "sub"]);
  expect(payload).toMatchObject({ aud: "", iss: "Upstash", nbf: 0, sub: url });
  expect(payload.body).toMatch(/^[\w-]{43}=$/);
  expect(Number(payload.exp) - Number(payload.iat)).toBe(300);
  expect(payload.jti).toMatch(/^jwt_/);
});

test("signatures go by the real clock, however far the virtual one has come", async () => {
  const { qstash, receiver, deliver } = await setup();
  qstash.advance("30d");
  const beforeSeconds = Math.floor(Date.now() / 1000);
  const { signature, body } = await deliver();
  const { iat } = claims(signature);
  expect(iat).toBeGreaterThanOrEqual(beforeSeconds);
  expect(iat).toBeLessThanOrEqual(Date.now() / 1000);
  expect(await receiver.verify({ signature, body, url })).toBe(true);
});
