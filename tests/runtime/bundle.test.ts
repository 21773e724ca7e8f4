/** The check of the bundles; those that are deployed go through it in the tests of their platforms. */

import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { build } from "esbuild";
import { afterAll, beforeAll, expect, test } from "vitest";
import { checkBundle } from "../../dev/build/check-bundle.js";
import { rulesFor } from "../../dev/build/worker.js";

const ROOT = path.resolve(import.meta.dirname, "../..");
let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), "antrean-bundles-"));
});

afterAll(() => rm(folder, { recursive: true }));

test("the check sees what must not be deployed", async () => {
  const entry = path.join(folder, "entry.ts");
  const key = `sig_${"A".repeat(24)}`;
  await writeFile(
    entry,
    `import { readFile } from "node:fs/promises";
     import { startNeon } from ${JSON.stringify(path.join(ROOT, "dev/neon/server.ts"))};
     import pg from "pg";
     console.log(readFile, startNeon, pg, ${JSON.stringify(key)});`,
  );
  const file = path.join(folder, "refused.js");
  const { metafile } = await build({
    absWorkingDir: ROOT,
    nodePaths: [path.join(ROOT, "node_modules")],
    entryPoints: [entry],
    outfile: file,
    bundle: true,
    platform: "node",
    format: "esm",
    external: ["pg-native", "ws"],
    metafile: true,
  });
  const rules = { builtins: false, external: ["ws"], gzipBytesMax: 1_000 };
  const { faults } = await checkBundle({ name: "refused", file, metafile, rules });
  expect(faults).toContain("dev/neon/server.ts is for development");
  expect(faults).toContain("node_modules/pg/lib/index.js is for development");
  expect(faults).toContain("node:fs/promises is missing");
  expect(faults).toContain("pg-native is missing");
  expect(faults).not.toContain("ws is missing");
  expect(faults).toContainEqual(expect.stringMatching(/entry\.ts holds a QStash signing key$/));
  expect(faults).toContainEqual(expect.stringMatching(/bytes gzipped are more than 1000$/));
});

test("the small bound is Antrean's own; one's own job types have what the platform's plan allows", () => {
  const input = { bytes: 1, imports: [] };
  const own = { "src/jobs/send_email.ts": input, "src/jobs/outbound/call.ts": input };
  expect(rulesFor({ inputs: own }).gzipBytesMax).toBe(200_000);
  expect(rulesFor({ inputs: { ...own, "src/jobs/hello.ts": input } }).gzipBytesMax).toBe(3_000_000);
});
