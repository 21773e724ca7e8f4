/** Vercel's bundle, called as Vercel calls it. */

import { randomUUID } from "node:crypto";
import { readFile, rm } from "node:fs/promises";
import path from "node:path";
import { pathToFileURL } from "node:url";
import { afterAll, afterEach, beforeAll, expect, test, vi } from "vitest";
import { type Bundle, checkBundle } from "../../dev/build/check-bundle.js";
import { buildVercel, VERCEL_FOLDER } from "../../dev/build/vercel.js";
import {
  apiRequest,
  type Call,
  CRON_SECRET,
  expectDashboard,
  expectWholeJob,
  startWorld,
  type World,
} from "./world.js";

const ROOT = path.resolve(import.meta.dirname, "../..");
/** Inside the repository, since the bundle finds hono as it will at Vercel: in node_modules. */
const FOLDER = path.join(ROOT, "node_modules/.cache/antrean", `vercel-${randomUUID()}`);
const CONTEXT = Symbol.for("@vercel/request-context");

let world: World;
let call: Call;
let bundle: Bundle;

beforeAll(async () => {
  [world, bundle] = await Promise.all([startWorld(() => call), buildVercel(FOLDER)]);
  const entry = (await import(pathToFileURL(bundle.file).href)) as { default: { fetch: Call } };
  call = async (request) => entry.default.fetch(request);
});

afterAll(async () => {
  await world?.close();
  await rm(FOLDER, { recursive: true, force: true });
});

afterEach(() => {
  Reflect.deleteProperty(globalThis, CONTEXT);
});

test("a deployment without its settings answers 503, and works once they are there", async () => {
  const log = vi.spyOn(console, "log").mockReturnValue();
  const refused = await call(apiRequest("/api/health"));
  expect(refused.status).toBe(503);
  expect(refused.headers.get("content-type")).toBe("application/problem+json");
  expect(refused.headers.get("retry-after")).toBe("60");
  expect(await refused.json()).toMatchObject({ code: "misconfigured", status: 503 });
  expect(log.mock.calls.join("\n")).toContain("DATABASE_URL is missing");
  log.mockReturnValue().mockClear();
  for (const [name, value] of Object.entries(world.env)) vi.stubEnv(name, value);
  expect((await call(apiRequest("/api/health"))).status).toBe(200);
});

test("Vercel's handler runs a job from create to completed", async () => {
  await expectWholeJob(call, world);
});

test("Vercel's handler serves the dashboard", async () => {
  await expectDashboard(call, world);
});

test("publishing goes on after the answer where Vercel keeps the instance alive for it", async () => {
  const pending: Promise<unknown>[] = [];
  const context = { waitUntil: (work: Promise<unknown>) => pending.push(work) };
  Reflect.set(globalThis, CONTEXT, { get: () => context });
  await expectWholeJob(call, world);
  expect(pending).toHaveLength(1);
});

test("Vercel's cron reaches the sweep", async () => {
  const { crons } = await vercelJson();
  const cron = apiRequest(crons[0].path, { headers: {} });
  cron.headers.set("authorization", `Bearer ${CRON_SECRET}`);
  const response = await call(cron);
  expect(response.status).toBe(200);
  expect(await response.json()).toMatchObject({ failedSteps: [], more: false });
});

test("the bundle holds nothing of development and leaves only hono to the builder", async () => {
  expect((await checkBundle(bundle)).faults).toEqual([]);
});

test("Vercel's builder finds the entry by its name, its text and its module type", async () => {
  const { framework, outputDirectory } = await vercelJson();
  expect(framework).toBe("hono");
  expect(path.join(ROOT, outputDirectory)).toBe(VERCEL_FOLDER);
  expect(path.basename(bundle.file)).toBe("index.js");
  // https://github.com/vercel/vercel/blob/main/packages/hono/src/build.ts
  const importsHono = /(?:from|require|import)\s*(?:\(\s*)?["']hono["']\s*(?:\))?/;
  expect(await readFile(bundle.file, "utf8")).toMatch(importsHono);
  expect(await readFile(path.join(ROOT, "src/index.ts"), "utf8")).toMatch(importsHono);
  const manifest = JSON.parse(await readFile(path.join(FOLDER, "package.json"), "utf8"));
  expect(manifest).toEqual({ type: "module" });
});

async function vercelJson() {
  return JSON.parse(await readFile(path.join(ROOT, "vercel.json"), "utf8"));
}
