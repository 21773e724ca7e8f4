import { describe, expect, test } from "vitest";
import { createClient } from "../../src/client/client.js";

const QUEUED = { id: "j1", status: "queued", finishedAt: null };
const ENDED = { ...QUEUED, status: "completed", finishedAt: "2030-01-01T00:00:00.000Z" };

/**
 * A client that asks `answer`, with the number of the request from 1. Waits below 30 seconds pass
 * at once and are written down; longer ones, the limits of tries, last until they are called off.
 */
function clientOf(answer: (url: URL, number: number) => unknown) {
  const urls: string[] = [];
  const sleptMs: number[] = [];
  const client = createClient({
    baseUrl: "https://jobs.example",
    apiKey: "secret",
    async fetch({ url }) {
      urls.push(url.replace("https://jobs.example/api", ""));
      const body = await answer(new URL(url), urls.length);
      return body instanceof Response ? body : Response.json(body);
    },
    sleep: (milliseconds, signal) =>
      new Promise((resolve) => {
        if (milliseconds < 30_000) {
          sleptMs.push(milliseconds);
          resolve();
        } else signal?.addEventListener("abort", () => resolve());
      }),
  });
  return { client, urls, sleptMs };
}

const silence = () => new Promise(() => {});

describe("waitFor", () => {
  test("asks the server to wait, again and again, and ends with the job", async () => {
    const { client, urls, sleptMs } = clientOf((_, number) => (number < 4 ? QUEUED : ENDED));
    expect(await client.waitFor("j1")).toEqual(ENDED);
    expect(urls).toEqual(Array.from({ length: 4 }, () => "/jobs/j1?wait=25"));
    // A proxy that drops the query would answer at once.
    expect(sleptMs).toEqual([500, 500, 500]);
  });

  test.each(["completed", "dead_letter", "cancelled"])(
    "ends when the job is %s",
    async (status) => {
      const { client } = clientOf(() => ({ ...ENDED, status }));
      expect((await client.waitFor("j1")).status).toBe(status);
    },
  );

  test("survives an outage of 30 tries, and not one that does not end", async () => {
    const outage = (tries: number) =>
      clientOf((_, number) => {
        if (number <= tries) throw new TypeError("fetch failed");
        return ENDED;
      }).client.waitFor("j1");
    expect(await outage(30)).toEqual(ENDED);
    await expect(outage(31)).rejects.toMatchObject({ code: "network_error", tries: 31 });
  });

  test("ends with wait_timeout, and does not ask the server to wait for longer", async () => {
    const { client, urls } = clientOf(silence);
    const wait = client.waitFor("j1", { timeoutSeconds: 4.5 });
    await expect(wait).rejects.toMatchObject({ code: "wait_timeout", status: undefined });
    expect(urls).toEqual(["/jobs/j1?wait=5"]);
  });

  test("ends at once when it is aborted, with the signal's reason", async () => {
    const controller = new AbortController();
    const { client } = clientOf(() => {
      queueMicrotask(() => controller.abort(new Error("enough")));
      return silence();
    });
    const wait = client.waitFor("j1", { signal: controller.signal });
    await expect(wait).rejects.toThrow("enough");
  });

  test("gives up at once on a job that is not there", async () => {
    const body = { code: "not_found", detail: "Nothing is here that you may see." };
    const headers = { "Content-Type": "application/problem+json" };
    const { client, urls } = clientOf(
      () => new Response(JSON.stringify(body), { status: 404, headers }),
    );
    await expect(client.waitFor("j1")).rejects.toMatchObject({ code: "not_found", status: 404 });
    expect(urls).toHaveLength(1);
  });
});

describe("list", () => {
  /** Three pages; the middle one is empty, as pages of a rare filter may be. */
  const pages = (url: URL) => {
    const cursor = url.searchParams.get("cursor");
    if (cursor === null) return { items: [{ id: "5" }, { id: "4" }], nextCursor: "c/1=" };
    if (cursor === "c/1=") return { items: [], nextCursor: "c2" };
    return { items: [{ id: "3" }], nextCursor: null };
  };

  test("gives every job of every page, also beyond an empty one", async () => {
    const { client, urls } = clientOf(pages);
    const ids: string[] = [];
    for await (const { id } of client.list({ status: "failed" })) ids.push(id);
    expect(ids).toEqual(["5", "4", "3"]);
    expect(urls).toEqual([
      "/jobs?status=failed",
      "/jobs?status=failed&cursor=c%2F1%3D",
      "/jobs?status=failed&cursor=c2",
    ]);
  });

  test("asks for a page when the loop gets there, and for no more", async () => {
    const { client, urls } = clientOf(pages);
    for await (const { id } of client.list()) if (id === "4") break;
    expect(urls).toEqual(["/jobs"]);
  });

  test("writes each member of its filter as the API reads it", async () => {
    const { client, urls } = clientOf(() => ({ items: [], nextCursor: null }));
    await client.listPage({
      status: ["failed", "dead_letter"],
      type: ["send_email", "http_request"],
      dedupeKey: "a&b",
      createdAfter: new Date("2030-01-01T00:00:00Z"),
      createdBefore: "2030-02-01T00:00:00+01:00",
      pageSize: 200,
      cursor: undefined,
    });
    expect(urls).toEqual([
      "/jobs?status=failed&status=dead_letter&type=send_email&type=http_request&dedupeKey=a%26b" +
        "&createdAfter=2030-01-01T00%3A00%3A00.000Z&createdBefore=2030-02-01T00%3A00%3A00%2B01%3A00" +
        "&limit=200",
    ]);
  });

  test("ends with its signal, between two pages as well", async () => {
    const controller = new AbortController();
    const { client } = clientOf(pages);
    const walk = async () => {
      for await (const { id } of client.list({}, { signal: controller.signal })) {
        if (id === "4") controller.abort(new Error("enough"));
      }
    };
    await expect(walk()).rejects.toThrow("enough");
  });
});
