import { execFile } from "node:child_process";
import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { promisify } from "node:util";
import vm from "node:vm";
import { transform } from "esbuild";
import { afterAll, beforeAll, expect, test } from "vitest";
import { checkBundle } from "../../dev/build/check-bundle.js";
import { buildClient } from "../../dev/build/client.js";

const TSC = path.resolve(import.meta.dirname, "../../node_modules/typescript/bin/tsc");

/** A project that has installed the package, and nothing else. */
let project: string;
let client: Awaited<ReturnType<typeof buildClient>>;

beforeAll(async () => {
  project = await mkdtemp(path.join(tmpdir(), "antrean-consumer-"));
  const installed = path.join(project, "node_modules/antrean");
  client = await buildClient(path.join(installed, "dist/client"));
  const exports = {
    "./client": { types: "./dist/client/client.d.ts", default: "./dist/client/client.js" },
  };
  const manifest = { name: "antrean", version: "0.0.0", type: "module", exports };
  await writeFile(path.join(installed, "package.json"), JSON.stringify(manifest));
  await writeFile(path.join(project, "package.json"), '{ "type": "module" }');
});

afterAll(() => rm(project, { recursive: true }));

test("the client is one module without imports, under 4 KB minified and gzipped", async () => {
  const { gzipBytes, faults } = await checkBundle(client);
  expect(faults).toEqual([]);
  expect(gzipBytes).toBeLessThan(4_000);
  expect(client.metafile.outputs).toSatisfy((outputs: typeof client.metafile.outputs) =>
    Object.values(outputs).every(({ imports }) => imports.length === 0),
  );
});

test("it needs only what browsers, Node and Workers have in common", async () => {
  const code = await readFile(client.file, "utf8");
  const { code: script } = await transform(code, { format: "iife", globalName: "antrean" });
  const shared = { AbortController, Headers, Request, Response, TextEncoder, URLSearchParams };
  const sent: Request[] = [];
  const fetch = async (request: Request) => {
    sent.push(request);
    return Response.json({ jobs: [{ jobId: "j1" }], items: [], nextCursor: null });
  };
  const context = vm.createContext({ ...shared, crypto, fetch, setTimeout, clearTimeout });
  const work = vm.runInContext(
    `${script}
    (async () => {
      const client = antrean.createClient({ baseUrl: "https://jobs.example", apiKey: "secret" });
      await client.enqueueMany([{ type: "greet", payload: { to: "Ada" } }]);
      for await (const job of client.list({ createdAfter: new Date(0) })) throw job;
    })()`,
    context,
  );
  await work;
  expect(sent.map(({ method }) => method)).toEqual(["POST", "GET"]);
});

test.each([
  ["nodenext", "nodenext"],
  ["esnext", "bundler"],
])(
  "its declarations need no other package and no settings (%s, %s)",
  async (module, resolution) => {
    const consumer = `
    import { AntreanError, createClient, type Job } from "antrean/client";
    const client = createClient<{ greet: { to: string } }>({ baseUrl: "", apiKey: "" });
    export const accepted: Promise<{ jobId: string }> = client.enqueue("greet", { to: "Ada" });
    export const job: Promise<Job> = client.get("id");
    // @ts-expect-error no such type
    client.enqueue("great", { to: "Ada" });
    // @ts-expect-error the payload of another type
    client.enqueue("greet", { too: "Ada" });
    export function isGone(error: unknown): boolean {
      return error instanceof AntreanError && error.code === "not_found";
    }
    // @ts-expect-error no such code
    export const never = (error: AntreanError): boolean => error.code === "gone";
  `;
    const file = path.join(project, "consumer.ts");
    await writeFile(file, consumer);
    const { stdout } = await promisify(execFile)(
      process.execPath,
      [
        ...[
          TSC,
          file,
          "--ignoreConfig",
          "--singleThreaded",
          "--noEmit",
          "--strict",
          "--exactOptionalPropertyTypes",
        ],
        ...["--module", module, "--moduleResolution", resolution, "--target", "es2022"],
        ...["--lib", "es2022,dom", "--types", "", "--skipLibCheck", "false"],
      ],
      { cwd: project },
    ).catch((error: { stdout: string }) => error);
    expect(stdout).toBe("");
  },
);

test("the map leads to the sources, and there is no file that nothing leads to", async () => {
  const folder = path.dirname(client.file);
  const map = JSON.parse(await readFile(`${client.file}.map`, "utf8")) as { sources: string[] };
  expect(map.sources.every((source) => /src\/client\/[\w-]+\.ts$/.test(source))).toBe(true);
  expect((await readdir(folder, { recursive: true })).sort()).toEqual([
    "client.d.ts",
    "client.js",
    "client.js.map",
    "core",
    "core/job.d.ts",
    "error.d.ts",
    "jobs.d.ts",
    "methods.d.ts",
    "time.d.ts",
    "transport.d.ts",
  ]);
});
