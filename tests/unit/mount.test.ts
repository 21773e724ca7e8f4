import { Hono } from "hono";
import { afterEach, describe, expect, expectTypeOf, test, vi } from "vitest";
import * as z from "zod";
import { createClient, type PayloadOf } from "../../src/client/client.js";
import { ConfigError, createAntrean, defineJob, type JobsOf } from "../../src/entry/mount.js";

const greet = defineJob({
  type: "greet",
  payload: z.strictObject({ to: z.string() }),
  run: () => null,
});
const count = defineJob({ type: "count", payload: z.int(), run: () => null });
const jobs = [greet, count];

/** Complete, though nothing listens there: what is asked for here needs no database. */
const env = {
  DATABASE_URL: "postgres://user:password@db.example/antrean",
  QSTASH_URL: "https://qstash.example",
  QSTASH_TOKEN: "token-0000000000000000",
  QSTASH_CURRENT_SIGNING_KEY: "current-00000000000000",
  QSTASH_NEXT_SIGNING_KEY: "next-00000000000000000",
  PUBLIC_URL: "https://shop.example/antrean",
  API_KEYS: "shop:admin:secret-0000000000000",
};

/** Lines that the application logged. */
const log = vi.spyOn(console, "log").mockReturnValue();
afterEach(() => void log.mockClear());

describe("an application that is mounted under a path", () => {
  const { app, fetch } = createAntrean({ jobs, basePath: "/antrean", env });
  const project = new Hono().get("/", (context) => context.text("the shop")).route("/antrean", app);
  const get = async (path: string) => project.request(`https://shop.example${path}`);

  test("answers there, and leaves the rest to the project", async () => {
    expect(await (await get("/antrean/api/health")).json()).toEqual({ status: "ok" });
    expect(await (await get("/")).text()).toBe("the shop");
    expect((await get("/api/health")).headers.has("x-request-id")).toBe(false);
    expect((await fetch(new Request(`${env.PUBLIC_URL}/api/health?x`))).status).toBe(400);
  });

  test.each([
    ["GET", "/antrean", 404, "not_found"],
    ["GET", "/antrean/", 404, "not_found"],
    ["GET", "/antrean/antrean/api/health", 404, "not_found"],
    ["GET", "/antrean/api/jobs", 401, "unauthorized"],
    ["POST", "/antrean/api/process", 401, "unauthorized"],
    ["DELETE", "/antrean/api/health", 405, "method_not_allowed"],
  ])("refuses %s %s with %i, as everywhere", async (method, path, status, code) => {
    const answer = await project.request(`https://shop.example${path}`, { method });
    expect(answer.status).toBe(status);
    const type = `${env.PUBLIC_URL}/api/docs#${code}`;
    expect(await answer.json()).toMatchObject({ code, type });
  });

  test("has documentation whose links and server address lead to itself", async () => {
    const address = `${env.PUBLIC_URL}/api/docs`;
    const page = await (await fetch(new Request(address))).text();
    const links = [...page.matchAll(/href="([^"#]+)"/g)].map(([, href = ""]) => href);
    expect(links).toHaveLength(2);
    for (const href of links) {
      expect((await fetch(new Request(new URL(href, address)))).status, href).toBe(200);
    }
    const document = new URL("openapi.json", address);
    const { servers } = await (await fetch(new Request(document))).json();
    const root = new URL(servers[0].url, document).href.replace(/\/$/, "");
    expect(root).toBe(env.PUBLIC_URL);
  });

  test("may have a path that looks like its own", async () => {
    const PUBLIC_URL = "https://shop.example/api";
    const inner = createAntrean({ jobs, basePath: "/api", env: { ...env, PUBLIC_URL } });
    const outer = new Hono().route("/api", inner.app);
    expect((await outer.request(`${PUBLIC_URL}/api/health`)).status).toBe(200);
    expect((await outer.request(`${PUBLIC_URL}/health`)).status).toBe(404);
  });

  test("may be the whole of a host", async () => {
    const whole = createAntrean({ jobs, env: { ...env, PUBLIC_URL: "https://jobs.example" } });
    expect((await whole.fetch(new Request("https://jobs.example/api/health"))).status).toBe(200);
  });
});

describe("what cannot work is said by its name", () => {
  const at = (given: Record<string, string | undefined>) =>
    createAntrean({ jobs, basePath: "/antrean", env: { ...env, ...given } });
  const faultsOf = (use: () => unknown): string[] => {
    try {
      use();
    } catch (error) {
      if (error instanceof ConfigError) return error.faults;
    }
    return [];
  };

  test("faulty settings: 503 to requests, an error to code, every fault named", async () => {
    const faulty = at({ PUBLIC_URL: "https://shop.example", API_KEYS: undefined });
    const faults = [
      "API_KEYS is missing",
      "PUBLIC_URL must end in /antrean, where the application is mounted",
    ];
    const answer = await faulty.fetch(new Request("https://shop.example/antrean/api/health"));
    expect(answer.status).toBe(503);
    expect(await answer.json()).toMatchObject({
      code: "misconfigured",
      type: "https://shop.example/antrean/api/docs#misconfigured",
    });
    expect(JSON.parse(String(log.mock.calls[0]))).toMatchObject({ faults });
    expect(faultsOf(() => faulty.jobsOf("shop"))).toEqual(faults);
    await expect(faulty.sweep()).rejects.toThrow(ConfigError);
    expect(faultsOf(() => at({ PUBLIC_URL: "https://shop.example/antrean/" }).jobsOf("a"))).toEqual(
      [],
    );
  });

  test("on Vercel the address of the project and the path are PUBLIC_URL", async () => {
    const vercel = at({
      PUBLIC_URL: undefined,
      VERCEL: "1",
      VERCEL_ENV: "production",
      VERCEL_PROJECT_PRODUCTION_URL: "shop.example",
    });
    const answer = await vercel.fetch(new Request("https://abc.vercel.app/antrean/api/jobs"));
    expect(await answer.json()).toMatchObject({
      type: "https://shop.example/antrean/api/docs#unauthorized",
    });
  });

  test("two jobs of one type, and a base path that is none", () => {
    expect(() => createAntrean({ jobs: [greet, greet], env })).toThrow(
      new TypeError('Two jobs have the type "greet".'),
    );
    for (const basePath of ["antrean", "/antrean/", "/", "//a", "/a?b", "/a/:b", "https://a.b"]) {
      expect(() => createAntrean({ jobs, basePath, env }), basePath).toThrow(TypeError);
    }
  });
});

describe("the compiler knows the jobs by their list", () => {
  /** `npm run types` is what checks here. */
  const onlyCompiled = (_: () => unknown): void => {};
  const code = () => createAntrean({ jobs, env }).jobsOf("shop");

  test("in code of the project", () => {
    onlyCompiled(() => code().enqueue({ type: "greet", payload: { to: "Ada" }, priority: 9 }));
    onlyCompiled(() => code().enqueueStatement({ type: "count", payload: 1 }));
    // @ts-expect-error no such type
    onlyCompiled(() => code().enqueue({ type: "great", payload: { to: "Ada" } }));
    // @ts-expect-error the payload of another type
    onlyCompiled(() => code().enqueue({ type: "greet", payload: 1 }));
    // @ts-expect-error a member too many
    onlyCompiled(() => code().enqueue({ type: "greet", payload: { to: "Ada", cc: "Bob" } }));
    // @ts-expect-error no such type
    onlyCompiled(() => createAntrean({ jobs, env }).work({ types: ["great"] }));
  });

  test("in a client of another project", () => {
    expectTypeOf<keyof JobsOf<typeof jobs>>().toEqualTypeOf<"greet" | "count">();
    expectTypeOf<PayloadOf<JobsOf<typeof jobs>["count"]>>().toEqualTypeOf<number>();
    const client = createClient<JobsOf<typeof jobs>>({ baseUrl: "https://a.example", apiKey: "a" });
    onlyCompiled(() => client.enqueue("count", 1));
    // @ts-expect-error the payload of another type
    onlyCompiled(() => client.enqueue("count", { to: "Ada" }));
  });
});
