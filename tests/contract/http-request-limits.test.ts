import type { ServerResponse } from "node:http";
import { createGzip, gzipSync } from "node:zlib";
import { afterEach, expect, test, vi } from "vitest";
import { createGuardedFetch } from "../../src/entry/guarded-fetch.js";
import { call, failure, hungUp, pourForever, rejection, startTarget } from "../support/outbound.js";

const fetches: [string, (place: string) => typeof fetch][] = [
  ["the platform's fetch", () => fetch],
  ["the guarded fetch of Node", (place) => createGuardedFetch({ allow: place })],
];

afterEach(() => {
  vi.useRealTimers();
});

test.each(fetches)(
  "Q11: the time limit covers a body that trickles, and the failure is retryable, with %s",
  async (_, fetchFor) => {
    const headersSeen = Promise.withResolvers<void>();
    const answered = Promise.withResolvers<ServerResponse>();
    await using target = await startTarget((response) => {
      response.writeHead(200).write("a");
      answered.resolve(response);
    });
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    const outboundFetch: typeof fetch = async (...parameters) => {
      const response = await fetchFor(target.place)(...parameters);
      headersSeen.resolve();
      return response;
    };
    const failed = failure(call(target, { timeoutSeconds: 10 }, { outboundFetch }));
    const response = await answered.promise;
    await headersSeen.promise;
    vi.advanceTimersByTime(9_999);
    response.write("b");
    vi.advanceTimersByTime(1);
    expect(await failed).toMatchObject({
      kind: "retry",
      message: expect.stringMatching(/ in 10 s$/),
    });
    await hungUp(response);
  },
);

test.each(fetches)(
  "Q11: the time limit covers a target that never answers, with %s",
  async (_, fetchFor) => {
    const asked = Promise.withResolvers<ServerResponse>();
    await using target = await startTarget((response) => asked.resolve(response));
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    const failed = failure(
      call(target, { timeoutSeconds: 10 }, { outboundFetch: fetchFor(target.place) }),
    );
    const response = await asked.promise;
    vi.advanceTimersByTime(10_000);
    expect(await failed).toMatchObject({ kind: "retry" });
    await hungUp(response);
  },
);

test.each(fetches)(
  "Q11: an endless body is cut at the cap, marked, and left, with %s",
  async (_, fetchFor) => {
    const answered = Promise.withResolvers<ServerResponse>();
    await using target = await startTarget((response) => {
      answered.resolve(response);
      pourForever(response);
    });
    const result = await call(
      target,
      { responseBytesMax: 1_000 },
      { outboundFetch: fetchFor(target.place) },
    );
    expect(result).toMatchObject({ status: 200, body: "a".repeat(1_000), truncated: true });
    await hungUp(await answered.promise);
  },
);

test.each(fetches)(
  "Q11: an endless gzip bomb is cut at the cap too: it is unpacked as it is read, with %s",
  async (_, fetchFor) => {
    await using target = await startTarget((response) => {
      const gzip = createGzip();
      gzip.pipe(response.writeHead(200, { "content-encoding": "gzip" }));
      response.on("close", () => gzip.destroy());
      pourForever(gzip);
    });
    const result = await call(
      target,
      { responseBytesMax: 1_000 },
      { outboundFetch: fetchFor(target.place) },
    );
    expect(result).toMatchObject({ body: "a".repeat(1_000), truncated: true });
  },
);

test.each(fetches)(
  "Q11: the body of an unwanted answer is not waited for, with %s",
  async (_, fetchFor) => {
    const answered = Promise.withResolvers<ServerResponse>();
    await using target = await startTarget((response) => {
      response.writeHead(404).write("a");
      answered.resolve(response);
    });
    expect(
      await failure(call(target, {}, { outboundFetch: fetchFor(target.place) })),
    ).toMatchObject({ code: "http_404" });
    await hungUp(await answered.promise);
  },
);

test.each(fetches)(
  "Q11: a told attempt stops at once, with the engine's own reason, with %s",
  async (_, fetchFor) => {
    const asked = Promise.withResolvers<ServerResponse>();
    await using target = await startTarget((response) => asked.resolve(response));
    const stop = new AbortController();
    const failed = rejection(
      call(
        target,
        {},
        {
          outboundFetch: fetchFor(target.place),
          signal: stop.signal,
        },
      ),
    );
    const response = await asked.promise;
    const reason = new Error("cancelled");
    stop.abort(reason);
    expect(await failed).toBe(reason);
    await hungUp(response);
  },
);

test.each(fetches)(
  "Q11: a packed answer of ordinary size comes out whole, with %s",
  async (_, fetchFor) => {
    await using target = await startTarget((response) => {
      response.writeHead(200, { "content-encoding": "gzip" }).end(gzipSync("hello".repeat(100)));
    });
    const result = await call(target, {}, { outboundFetch: fetchFor(target.place) });
    expect(result).toMatchObject({ body: "hello".repeat(100), truncated: false });
  },
);

test("a result always fits what is kept of one, whatever the target answers", async () => {
  await using target = await startTarget((response) => {
    response.writeHead(200, { etag: '"'.repeat(5_000), location: "\\".repeat(5_000) });
    response.end("\u0001".repeat(49_152));
  });
  const result = await call(target, { responseBytesMax: 49_152 });
  expect(Buffer.byteLength(JSON.stringify(result))).toBeLessThan(65_536);
  expect(result).toMatchObject({ truncated: true });
});
