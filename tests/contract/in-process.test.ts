import { afterEach, expect, test, vi } from "vitest";
import type { ServiceAnswer, ServiceRequest } from "../../dev/http-service.js";
import { mountInProcess } from "../support/in-process.js";

/** Nobody listens there. */
const ORIGIN = "http://127.0.0.1:1";
const BROKEN = { name: "TypeError", message: "fetch failed" };

let unmount = () => {};
afterEach(() => unmount());

function mount(answer: (request: ServiceRequest) => Promise<ServiceAnswer | undefined>) {
  const asked = vi.fn(answer);
  unmount = mountInProcess(`${ORIGIN}/anything`, { bodyBytesMax: 4, answer: asked });
  return asked;
}

const taken = async (): Promise<ServiceAnswer> => ({
  status: 201,
  headers: { "x-seen": "yes" },
  text: "{}",
});

test("a call to a mounted origin needs no server: the request arrives and the answer comes back", async () => {
  const asked = mount(taken);
  const init = { method: "POST", headers: { "X-Name": "1" }, body: "\u00e9" };
  const response = await fetch(`${ORIGIN}/v2/publish/https://a.test//b?c=d`, init);
  expect([response.status, response.headers.get("x-seen"), await response.json()]).toEqual([
    201,
    "yes",
    {},
  ]);
  expect(asked.mock.lastCall?.[0]).toMatchObject({
    method: "POST",
    target: "/v2/publish/https://a.test//b?c=d",
    body: Buffer.from("\u00e9"),
  });
  expect(asked.mock.lastCall?.[0].headers.get("x-name")).toBe("1");
});

test("a call is refused as over a socket, and never throws at once", async () => {
  const asked = mount(taken);
  await expect(fetch(ORIGIN, { method: "GET", body: "no" })).rejects.toThrow(TypeError);
  await expect(fetch(ORIGIN, { method: "TRACE" })).rejects.toThrow(TypeError);
  await expect(fetch("/relative")).rejects.toThrow(TypeError);
  expect(asked).not.toHaveBeenCalled();
  await fetch(ORIGIN, { method: "post", body: "text" });
  expect(asked.mock.lastCall?.[0].method).toBe("POST");
  expect(asked.mock.lastCall?.[0].headers.get("content-type")).toBe("text/plain;charset=UTF-8");
});

test.each([204, 304])(
  "an answer with status %d has no body, whatever the service gave",
  async (status) => {
    mount(async () => ({ status, text: "unseen" }));
    const response = await fetch(ORIGIN);
    expect([response.status, await response.text()]).toEqual([status, ""]);
  },
);

test("calls one after the other leave timers their turn", async () => {
  mount(taken);
  let isOver = false;
  setTimeout(() => {
    isOver = true;
  });
  let calls = 0;
  while (!isOver && calls++ < 100_000) await fetch(ORIGIN);
  expect(isOver).toBe(true);
});

test("the service is not given a body that is larger than it takes", async () => {
  const asked = mount(taken);
  await fetch(ORIGIN, { method: "POST", body: "1234" });
  await fetch(ORIGIN, { method: "POST", body: "12345" });
  expect(asked.mock.calls.map(([{ body }]) => body?.toString())).toEqual(["1234", undefined]);
});

test("a service without an answer is a broken connection", async () => {
  mount(async () => undefined);
  await expect(fetch(ORIGIN)).rejects.toMatchObject(BROKEN);
});

test("a caller that gives up is answered at once, and the service is told", async () => {
  const asked = mount(() => new Promise(() => {}));
  const caller = new AbortController();
  const waiting = fetch(ORIGIN, { signal: caller.signal });
  caller.abort(new Error("given up"));
  await expect(waiting).rejects.toThrow("given up");
  expect(asked.mock.lastCall?.[0].signal.aborted).toBe(true);
  await expect(fetch(ORIGIN, { signal: caller.signal })).rejects.toThrow("given up");
  expect(asked).toHaveBeenCalledTimes(1);
});

test("unmounting breaks calls under way, and later ones find nobody there", async () => {
  const asked = mount(() => new Promise(() => {}));
  const waiting = fetch(ORIGIN);
  unmount();
  await expect(waiting).rejects.toMatchObject(BROKEN);
  expect(asked.mock.lastCall?.[0].signal.aborted).toBe(true);
  await expect(fetch(ORIGIN)).rejects.toMatchObject(BROKEN);
  expect(asked).toHaveBeenCalledTimes(1);
});
