/** What npm would publish: looked at by two linters, and installed by the examples, which run. */

import { cp, readFile } from "node:fs/promises";
import path from "node:path";
import { pathToFileURL } from "node:url";
import { checkPackage, createPackageFromTarballData } from "@arethetypeswrong/core";
import { build } from "esbuild";
import { publint } from "publint";
import { formatMessage } from "publint/utils";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { type Installed, installPackage, typeFaults } from "./installed.js";
import {
  apiRequest,
  type Call,
  CRON_SECRET,
  deliver,
  expectDashboard,
  startWorld,
  type World,
} from "./world.js";

const ROOT = path.resolve(import.meta.dirname, "../..");
const PUBLIC_URL = "https://shop.example/antrean";

let installed: Installed;
let world: World;
let call: Call;

beforeAll(async () => {
  [installed, world] = await Promise.all([installPackage(), startWorld(() => call)]);
  const examples = path.join(installed.project, "examples");
  await cp(path.join(ROOT, "examples"), examples, { recursive: true });
  vi.spyOn(console, "log").mockReturnValue();
  for (const [name, value] of Object.entries({ ...world.env, PUBLIC_URL })) vi.stubEnv(name, value);
});

afterAll(async () => {
  vi.unstubAllEnvs();
  await Promise.all([installed?.remove(), world?.close()]);
});

test("publint finds nothing to say about the packed package", async () => {
  // What lies there is what npm packed.
  const { messages, pkg } = await publint({ pkgDir: installed.folder, pack: false, strict: true });
  expect(messages.map((message) => formatMessage(message, pkg))).toEqual([]);
});

test("every way of resolving modules that knows ES modules finds types that are right", async () => {
  const analysis = await checkPackage(createPackageFromTarballData(installed.tarball));
  if (!analysis.types) throw new Error("the package has no types");
  expect(Object.keys(analysis.entrypoints)).toEqual([".", "./client", "./package.json"]);
  // Without `exports` (node10) and in CommonJS there is no such package, which is said in its docs.
  const faults = analysis.problems.filter(
    (problem) =>
      !("resolutionKind" in problem && /^node(?:10|16-cjs)$/.test(problem.resolutionKind)),
  );
  expect(faults).toEqual([]);
});

describe("the package holds what it needs", () => {
  test("migrations that its command line applies, and nothing of development", async () => {
    const analysis = createPackageFromTarballData(installed.tarball);
    const files = analysis.listFiles().map((file) => file.replace("/node_modules/antrean/", ""));
    expect(files).toContainEqual(expect.stringMatching(/^drizzle\/0000_.*\.sql$/));
    const others = files.filter(
      (file) =>
        !/^(?:dist\/(?:mount|client|cli)\/|drizzle\/|package\.json$|README\.md$|LICENSE$)/.test(
          file,
        ),
    );
    expect(others).toEqual([]);
  });

  test("source maps whose sources are ours", async () => {
    const map = await readFile(path.join(installed.folder, "dist/mount/mount.js.map"), "utf8");
    const { sources } = JSON.parse(map) as { sources: string[] };
    expect(sources.filter((source) => !/\/src\/[\w./-]+\.tsx?$/.test(source))).toEqual([]);
  });
});

/** Compiles modules of an example as its own builder would, and loads them. */
async function load<Module>(example: string, entries: string[]): Promise<Module[]> {
  const folder = path.join(installed.project, "examples", example);
  const outdir = path.join(folder, "built");
  await build({
    entryPoints: entries.map((entry, at) => ({
      // Brackets in a name would be a pattern to esbuild.
      in: path.join(folder, entry),
      out: String(at),
    })),
    outdir,
    bundle: true,
    // Modules that two routes share are loaded once.
    splitting: true,
    external: ["antrean", "hono", "zod"],
    alias: { "@": folder },
    platform: "node",
    format: "esm",
  });
  return Promise.all(
    entries.map(
      (_, at) => import(pathToFileURL(path.join(outdir, `${at}.js`)).href) as Promise<Module>,
    ),
  );
}

async function hono(): Promise<Call> {
  const [app] = await load<{ default: { fetch: Call } }>("hono", ["app.ts"]);
  return async (request) => app?.default.fetch(request) ?? Response.error();
}

/** As Next.js calls a route: by its folder and method, with the whole address and a second value. */
async function nextjs(): Promise<Call> {
  type Route = Record<string, (request: Request, context: object) => Promise<Response>>;
  const [mounted, orders] = await load<Route>("nextjs", [
    "app/antrean/[[...route]]/route.ts",
    "app/orders/route.ts",
  ]);
  return async (request) => {
    const { pathname } = new URL(request.url);
    const route = pathname === "/orders" ? orders : mounted;
    const params = Promise.resolve({ route: pathname.split("/").slice(2) });
    return route?.[request.method]?.(request, { params }) ?? new Response(null, { status: 405 });
  };
}

describe.each([
  { example: "hono", start: hono },
  { example: "nextjs", start: nextjs },
])("examples/$example", ({ example, start }) => {
  beforeAll(async () => {
    call = await start();
  });

  const get = (url: string) => call(new Request(url));
  const asAdmin = (url: string) => call(new Request(url, apiRequest("/")));

  test("compiles against the declarations of the package", async () => {
    expect(await typeFaults(path.join(installed.project, "examples", example))).toBe("");
  });

  test("runs a job that its own code creates, delivered to the mounted address", async () => {
    const orderId = `order-of-${example}`;
    const order = { method: "POST", body: JSON.stringify({ orderId }) };
    const answer = await call(new Request("https://shop.example/orders", order));
    expect(answer.status).toBe(202);
    const { jobId } = (await answer.json()) as { jobId: string };
    const addresses = new Set(world.qstash.pending().map(({ url }) => url));
    expect(addresses).toEqual(new Set([`${PUBLIC_URL}/api/process`]));
    expect(await deliver(world, jobId)).toEqual({
      status: 200,
      answer: { outcome: "completed", jobId, ranJobId: jobId },
    });
    const job = await asAdmin(`${PUBLIC_URL}/api/jobs/${jobId}`);
    expect(await job.json()).toMatchObject({
      status: "completed",
      result: { orderId, receipt: { operationId: `${jobId}:mail` } },
    });
  });

  test("answers over HTTP with addresses that lead back to it", async () => {
    const created = await call(
      new Request(
        `${PUBLIC_URL}/api/jobs`,
        apiRequest("/", {
          method: "POST",
          headers: { "content-type": "application/json", "idempotency-key": example },
          body: JSON.stringify({ type: "send_receipt", payload: { orderId: example } }),
        }),
      ),
    );
    expect(created.status).toBe(202);
    const location = created.headers.get("location") ?? "";
    expect(location).toMatch(new RegExp(`^${PUBLIC_URL}/api/jobs/`));
    expect((await asAdmin(location)).status).toBe(200);
    expect((await get(location)).status).toBe(401);
    expect((await get(`${PUBLIC_URL}/api/health`)).status).toBe(200);
    const jobId = location.split("/").at(-1) ?? "";
    await expectDashboard(call, world, { publicUrl: PUBLIC_URL, jobId });
    const cron = { headers: { authorization: `Bearer ${CRON_SECRET}` } };
    const swept = await call(new Request(`${PUBLIC_URL}/api/sweep`, cron));
    expect(await swept.json()).toMatchObject({ failedSteps: [] });
  });
});
