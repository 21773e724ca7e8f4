import type { ServerResponse } from "node:http";
import { brotliCompressSync, deflateSync, gzipSync } from "node:zlib";
import { describe, expect, test, vi } from "vitest";
import { createGuardedFetch, type ResolvedAddress } from "../../src/entry/guarded-fetch.js";
import { hungUp, pourForever, rejection, startTarget } from "../support/outbound.js";

const ipv4 = (address: string): ResolvedAddress => ({ address, family: 4 });

describe("Q06: a name is judged by what it resolves to when it is called", () => {
  test("a name that resolves inside is refused before it is connected to", async () => {
    const inside = [
      [ipv4("127.0.0.1")],
      [ipv4("169.254.169.254")],
      [{ address: "::1", family: 6 }],
      [{ address: "::ffff:127.0.0.1", family: 6 }],
      [{ address: "64:ff9b::7f00:1", family: 6 }],
      // One private address among public ones is enough: any of them may be connected to.
      [ipv4("8.8.8.8"), ipv4("127.0.0.1")],
      [{ address: "2606:4700::1111", family: 6 }, ipv4("10.0.0.1")],
    ];
    for (const addresses of inside) {
      const guarded = createGuardedFetch({ allow: undefined, resolve: async () => addresses });
      const error = await rejection(guarded("http://name.example.com:8080/"));
      expect(error).toMatchObject({
        name: "FatalError",
        message: expect.stringContaining("leads inside"),
      });
    }
  });

  test("a name is resolved once a call, and the judged address is the one connected to", async () => {
    await using target = await startTarget((response) => response.end("here"));
    // Only this machine can be connected to in a test, so OUTBOUND_ALLOW vouches for the name.
    const resolve = vi
      .fn<() => Promise<ResolvedAddress[]>>()
      .mockResolvedValueOnce([ipv4("127.0.0.1")])
      .mockRejectedValue(new Error("a second resolution"));
    const name = `pinned.example.com:${target.port}`;
    const guarded = createGuardedFetch({ allow: name, resolve });
    const response = await guarded(`http://${name}/`);
    expect(await response.text()).toBe("here");
    expect(resolve).toHaveBeenCalledTimes(1);
    expect(target.requests[0]?.headers.host).toBe(name);
  });

  test("each call judges anew: a name that was public a moment ago can be refused now", async () => {
    await using target = await startTarget((response) => response.end());
    const name = `moving.example.com:${target.port}`;
    const resolve = async () => [ipv4("127.0.0.1")];
    await createGuardedFetch({ allow: name, resolve })(`http://${name}/`);
    const closed = createGuardedFetch({ allow: undefined, resolve });
    expect(await rejection(closed("http://moving.example.com:8080/"))).toMatchObject({
      name: "FatalError",
    });
    expect(target.requests).toHaveLength(1);
  });

  test("URLs that the policy refuses are refused before anything is resolved", async () => {
    const resolve = vi.fn(async () => [ipv4("8.8.8.8")]);
    const guarded = createGuardedFetch({ allow: undefined, resolve });
    const urls = [
      "http://10.0.0.1/",
      "file:///etc/passwd",
      "http://a.example.com:22/",
      "http://u:secret@a.com/",
    ];
    for (const url of urls) {
      for (const input of [url, ...(url.includes("@") ? [] : [new URL(url), new Request(url)])]) {
        const error = await rejection(guarded(input));
        expect(error).toMatchObject({ name: "FatalError" });
        expect(String(error)).not.toContain("secret");
      }
    }
    expect(resolve).not.toHaveBeenCalled();
  });

  test("control: Node's own fetch goes wherever the name leads", async () => {
    await using target = await startTarget((response) => response.end("inside"));
    const response = await fetch(`http://localhost:${target.port}/`);
    expect(await response.text()).toBe("inside");
  });
});

describe("it is a fetch", () => {
  test("methods, headers and bodies arrive, with a length", async () => {
    await using target = await startTarget((response) => {
      response.writeHead(
        207,
        "Some Text",
        [
          ["Set-Cookie", "a=1"],
          ["Set-Cookie", "b=2"],
          ["X-A", "1"],
        ].flat(),
      );
      response.end("done");
    });
    const guarded = createGuardedFetch({ allow: target.place });
    const response = await guarded(`${target.url}/p?q=1`, {
      method: "PUT",
      headers: { "X-B": "2" },
      body: "héllo",
    });
    expect(response.status).toBe(207);
    expect(response.statusText).toBe("Some Text");
    expect(response.headers.get("x-a")).toBe("1");
    expect(response.headers.getSetCookie()).toEqual(["a=1", "b=2"]);
    expect(await response.text()).toBe("done");
    expect(target.requests).toMatchObject([
      {
        method: "PUT",
        url: "/p?q=1",
        body: "héllo",
        headers: { "x-b": "2", "content-length": "6" },
      },
    ]);
    await guarded(new Request(target.url, { method: "POST", body: new Uint8Array([104, 105]) }));
    expect(target.requests[1]).toMatchObject({ method: "POST", body: "hi" });
  });

  test("answers without a body are answers", async () => {
    await using target = await startTarget((response, { url }) => {
      response.writeHead(Number(url.slice(1)), { "content-encoding": "gzip" }).end();
    });
    const guarded = createGuardedFetch({ allow: target.place });
    for (const status of [204, 205, 304, 200]) {
      const response = await guarded(`${target.url}/${status}`);
      expect([response.status, await response.text()]).toEqual([status, ""]);
    }
    const head = await guarded(`${target.url}/200`, { method: "HEAD" });
    expect([head.status, await head.text()]).toEqual([200, ""]);
  });

  test("gzip, br and deflate are decoded, though only two are asked for; what it cannot decode is left as it is", async () => {
    const text = "hello ".repeat(1_000);
    const packed: Record<string, Buffer> = {
      gzip: gzipSync(text),
      "x-gzip": gzipSync(text),
      deflate: deflateSync(text),
      br: brotliCompressSync(text),
      identity: Buffer.from(text),
      strange: Buffer.from(text),
    };
    await using target = await startTarget((response, { url }) => {
      const coding = url.slice(1);
      response.writeHead(200, { "content-encoding": coding }).end(packed[coding]);
    });
    const guarded = createGuardedFetch({ allow: target.place });
    for (const coding of Object.keys(packed)) {
      const response = await guarded(`${target.url}/${coding}`);
      expect(await response.text(), coding).toBe(text);
    }
    expect(target.requests[0]?.headers["accept-encoding"]).toBe("gzip, br");
  });

  test("a body that is not what its coding says fails the read", async () => {
    await using target = await startTarget((response) => {
      response.writeHead(200, { "content-encoding": "gzip" }).end("not gzip at all");
    });
    const response = await createGuardedFetch({ allow: target.place })(target.url);
    expect(await rejection(response.text())).toBeInstanceOf(Error);
  });

  test("redirects are answers", async () => {
    await using target = await startTarget((response) => {
      response.writeHead(302, { location: "http://127.0.0.1:1/" }).end();
    });
    const response = await createGuardedFetch({ allow: target.place })(target.url);
    expect(response.status).toBe(302);
    expect(target.requests).toHaveLength(1);
  });

  test("an answer that switches protocols is a failure, not a wait", async () => {
    await using target = await startTarget((response) => {
      response.socket?.end(
        "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n",
      );
    });
    const guarded = createGuardedFetch({ allow: target.place });
    expect(await rejection(guarded(target.url))).toBeInstanceOf(Error);
  });

  test("https is really TLS", async () => {
    await using target = await startTarget((response) => response.end());
    const guarded = createGuardedFetch({ allow: target.place });
    expect(await rejection(guarded(`https://${target.place}/`))).toBeInstanceOf(Error);
    expect(target.requests).toEqual([]);
  });
});

describe("it stops when it is told to", () => {
  test("before it starts", async () => {
    await using target = await startTarget((response) => response.end());
    const guarded = createGuardedFetch({ allow: target.place });
    const reason = new Error("stop");
    expect(await rejection(guarded(target.url, { signal: AbortSignal.abort(reason) }))).toBe(
      reason,
    );
    expect(target.requests).toEqual([]);
  });

  test("while the name is resolved", async () => {
    const asked = Promise.withResolvers<void>();
    const guarded = createGuardedFetch({
      allow: undefined,
      resolve: () => {
        asked.resolve();
        return new Promise(() => undefined);
      },
    });
    const stop = new AbortController();
    const failed = rejection(guarded("http://slow.example.com/", { signal: stop.signal }));
    await asked.promise;
    stop.abort("stop");
    expect(await failed).toBe("stop");
  });

  test("while the body comes, and then leaves the connection", async () => {
    const answered = Promise.withResolvers<ServerResponse>();
    await using target = await startTarget((response) => {
      response.writeHead(200).write("first");
      answered.resolve(response);
    });
    const stop = new AbortController();
    const response = await createGuardedFetch({ allow: target.place })(target.url, {
      signal: stop.signal,
    });
    const reading = rejection(response.text());
    const theirs = await answered.promise;
    stop.abort();
    expect(await reading).toBeInstanceOf(Error);
    await hungUp(theirs);
  });

  test("a body after a status that has none is not listened to", async () => {
    const answered = Promise.withResolvers<ServerResponse>();
    await using target = await startTarget((response) => {
      response.writeHead(205);
      pourForever(response);
      answered.resolve(response);
    });
    const response = await createGuardedFetch({ allow: target.place })(target.url);
    expect([response.status, response.body]).toEqual([205, null]);
    await hungUp(await answered.promise);
  });

  test("a cancelled body leaves the connection", async () => {
    const answered = Promise.withResolvers<ServerResponse>();
    await using target = await startTarget((response) => {
      response.writeHead(200).write("first");
      answered.resolve(response);
    });
    const response = await createGuardedFetch({ allow: target.place })(target.url);
    await response.body?.cancel();
    const theirs = await answered.promise;
    await hungUp(theirs);
  });
});

test("connections are not kept: the next call is judged by its own lookup", async () => {
  const clientPorts = new Set<number | undefined>();
  await using target = await startTarget((response) => {
    clientPorts.add(response.socket?.remotePort);
    response.end();
  });
  const guarded = createGuardedFetch({ allow: target.place });
  for (let call = 0; call < 2; call += 1) await (await guarded(target.url)).text();
  expect(clientPorts.size).toBe(2);
});
