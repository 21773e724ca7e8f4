import { Client } from "@upstash/qstash";
import { beforeEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { type QstashOptions, startQstash } from "../../dev/qstash/start.js";

const url = "https://example.com/work";

/** A stand-in whose destination answers as the test says, by the body of the message. */
async function setup(
  answer: (body: string) => Response | Promise<Response> = () => new Response(),
  options: QstashOptions = {},
) {
  const received: string[] = [];
  const qstash = await startQstash({
    mode: "manual",
    deliver: async (request) => {
      const body = request.url === url ? await request.text() : request.url;
      received.push(body);
      return answer(body);
    },
    ...options,
  });
  onTestFinished(() => qstash.close());
  const client = new Client({ baseUrl: qstash.url, token: qstash.token, devMode: false });
  const queue = client.queue({ queueName: "orders" });
  return { qstash, client, queue, received };
}

beforeEach(() => {
  vi.spyOn(console, "error").mockImplementation(() => {});
});

describe("managing queues", () => {
  test("upsert makes and changes a queue; get, list and delete see it", async () => {
    const { client, queue } = await setup();
    await queue.upsert({ parallelism: 2 });
    const made = await queue.get();
    expect(made).toEqual({
      name: "orders",
      parallelism: 2,
      createdAt: expect.any(Number),
      updatedAt: expect.any(Number),
      lag: 0,
      paused: false,
    });
    await queue.upsert({ parallelism: 5, paused: true });
    expect(await client.queue().list()).toMatchObject([{ parallelism: 5, paused: true }]);
    await queue.delete();
    await expect(queue.get()).rejects.toMatchObject({ status: 404 });
  });

  test("the first message makes its queue, with parallelism 1", async () => {
    const { queue } = await setup();
    await queue.enqueueJSON({ url, body: 1 });
    expect(await queue.get()).toMatchObject({ parallelism: 1, lag: 1 });
  });

  test("a bad name is refused with 400, a queue beyond the plan with 412", async () => {
    const { client } = await setup(undefined, { quota: "free" });
    await expect(client.queue({ queueName: "a%20b" }).upsert({})).rejects.toMatchObject({
      status: 400,
    });
    for (let made = 0; made < 10; made += 1)
      await client.queue({ queueName: `q${made}` }).upsert({});
    await expect(client.queue({ queueName: "q10" }).upsert({})).rejects.toMatchObject({
      status: 412,
    });
    await expect(client.queue({ queueName: "q10" }).enqueue({ url })).rejects.toMatchObject({
      status: 412,
    });
  });

  test("deleting a queue cancels what waits in it", async () => {
    const { qstash, client, queue } = await setup();
    const { messageId } = await queue.enqueueJSON({ url, body: 1 });
    await queue.delete();
    expect(qstash.pending()).toEqual([]);
    await expect(client.messages.get(messageId)).rejects.toMatchObject({ status: 404 });
  });
});

describe("order", () => {
  test("at parallelism 1 a message starts when the one before it is finished, retries included", async () => {
    let failures = 2;
    const { qstash, queue, received } = await setup((body) => {
      const fails = body === "1" && failures > 0;
      if (fails) failures -= 1;
      return new Response("", { status: fails ? 500 : 200 });
    });
    for (const body of ["1", "2", "3"]) await queue.enqueue({ url, body });
    await qstash.deliverDue();
    expect(received).toEqual(["1"]);
    await qstash.runUntilIdle();
    expect(received).toEqual(["1", "1", "1", "2", "3"]);
  });

  test("the next message also waits for the callback of the one before", async () => {
    const { qstash, queue, received } = await setup((body) => {
      const isFirstCallback = body.endsWith("/callback") && received.length === 2;
      return new Response("", { status: isFirstCallback ? 500 : 200 });
    });
    const callback = "https://example.com/callback";
    await queue.enqueue({ url, body: "1", callback });
    await queue.enqueue({ url, body: "2", callback });
    await qstash.deliverDue();
    expect(received).toEqual(["1", callback]);
    await qstash.runUntilIdle();
    expect(received).toEqual(["1", callback, callback, "2", callback]);
  });

  test("a message that fails for good lets the next one pass", async () => {
    const { qstash, queue, received } = await setup((body) => {
      return new Response("", { status: body === "1" ? 500 : 200 });
    });
    await queue.enqueue({ url, body: "1", retries: 0 });
    await queue.enqueue({ url, body: "2" });
    await qstash.deliverDue();
    expect(received).toEqual(["1", "2"]);
  });

  test("parallelism n starts n at once", async () => {
    const gate = Promise.withResolvers<Response>();
    const { qstash, queue, received } = await setup(() => gate.promise.then(() => new Response()));
    await queue.upsert({ parallelism: 2 });
    for (const body of ["1", "2", "3"]) await queue.enqueue({ url, body });
    const delivering = qstash.deliverDue();
    await expect.poll(() => received.length).toBe(2);
    expect(await queue.get()).toMatchObject({ lag: 1 });
    gate.resolve(new Response());
    await delivering;
    expect(received).toEqual(["1", "2", "3"]);
  });

  test("a paused queue holds its messages until it is resumed", async () => {
    const { qstash, queue, received } = await setup();
    await queue.enqueue({ url, body: "1" });
    await queue.pause();
    expect(await qstash.runUntilIdle()).toMatchObject({ deliveries: [], isIdle: false });
    await queue.resume();
    await qstash.deliverDue();
    expect(received).toEqual(["1"]);
  });

  test("cancelling the waiting head lets the next one be the head", async () => {
    const { qstash, client, queue, received } = await setup();
    const { messageId } = await queue.enqueueJSON({ url, body: 1 });
    await queue.enqueueJSON({ url, body: 2 });
    await client.messages.cancel(messageId);
    await qstash.deliverDue();
    expect(received).toEqual(["2"]);
  });
});

test("a delay is not supported: order of arrival is what a queue promises", async () => {
  const { qstash, queue, received } = await setup();
  await queue.enqueue({ url, body: "1", delay: 60 });
  await queue.enqueue({ url, body: "2" });
  await qstash.deliverDue();
  expect(received).toEqual(["1", "2"]);
});
