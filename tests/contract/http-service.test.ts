import { request } from "node:http";
import { expect, onTestFinished, test, vi } from "vitest";
import { createServiceServer, type Service } from "../../dev/http-service.js";
import { close, listen } from "../../dev/listen.js";

async function serve(answer: Service["answer"]): Promise<string> {
  const server = createServiceServer({ bodyBytesMax: 4, answer });
  const port = await listen(server, { port: 0, service: "a service" });
  onTestFinished(() => close(server));
  return `http://127.0.0.1:${port}`;
}

test("a body that is larger than the service takes is read, but not given to it", async () => {
  const url = await serve(async ({ body }) => ({ status: 200, text: body?.toString() ?? "none" }));
  const sent = ["1234", "12345", "1".repeat(1_000_000)];
  const answers = sent.map(async (body) => (await fetch(url, { method: "POST", body })).text());
  expect(await Promise.all(answers)).toEqual(["1234", "none", "none"]);
});

test("a service that fails breaks the connection and says so", async () => {
  const told = vi.spyOn(console, "error").mockImplementation(() => {});
  const failure = new Error("as the test asked");
  const url = await serve(() => Promise.reject(failure));
  await expect(fetch(url)).rejects.toThrow("fetch failed");
  expect(told).toHaveBeenCalledWith(expect.any(String), failure);
});

test("the service is told when its caller goes away", async () => {
  const gone = Promise.withResolvers<void>();
  const url = await serve(({ signal }) => {
    signal.addEventListener("abort", () => gone.resolve());
    caller.abort();
    return gone.promise.then(() => undefined);
  });
  const caller = new AbortController();
  await expect(fetch(url, { signal: caller.signal })).rejects.toThrow("abort");
  await gone.promise;
});

test("an answer names its length in bytes, and none where it has no body", async () => {
  const lengths = [];
  for (const status of [200, 204]) {
    const url = await serve(async () => ({ status, text: "\u00e9" }));
    const answered = Promise.withResolvers<string | undefined>();
    request(url, (answer) => {
      answer.resume();
      answered.resolve(answer.headers["content-length"]);
    }).end();
    lengths.push(await answered.promise);
  }
  expect(lengths).toEqual(["2", undefined]);
});
