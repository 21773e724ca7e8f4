import { generateDrizzleJson, generateMigration } from "drizzle-kit/api";
import { describe, expect, test } from "vitest";
import { assetsModule } from "../../dev/build/dashboard-assets.js";
import { composeRegistry } from "../../dev/build/registry.js";
import { LATEST_MIGRATION } from "../../src/storage/migrate.js";
import * as schema from "../../src/storage/schema.js";
import { PATHS, ROOT, readText } from "./tree.js";

const migrations = PATHS.flatMap((path) => /^drizzle\/(.+)\.sql$/.exec(path)?.[1] ?? []).sort();
const newest = migrations.at(-1) ?? "";

test("the registry of jobs is what its generator writes now", async () => {
  expect(await composeRegistry(`${ROOT}src/jobs`)).toMatchObject({ stale: false });
});

test("the dashboard's style and script are what their sources make now", async () => {
  const isFresh = readText("src/dashboard/assets.gen.ts") === (await assetsModule());
  expect(isFresh, "run npm run assets").toBe(true);
});

describe("migrations make the schema that the code knows", () => {
  const snapshot = JSON.parse(readText(`drizzle/meta/${newest.slice(0, 4)}_snapshot.json`));

  test("nothing is left to generate", async () => {
    expect(await generateMigration(snapshot, generateDrizzleJson(schema, snapshot.id))).toEqual([]);
  });

  test("control: a table more is found", async () => {
    const [anyTable] = Object.values(snapshot.tables);
    const known = { ...snapshot, tables: { "public.jobs": anyTable } };
    const missing = await generateMigration(known, generateDrizzleJson(schema, snapshot.id));
    expect(missing.join("\n")).toContain("CREATE TABLE");
  });

  test("the journal lists the files, and readiness asks for the newest", () => {
    const { entries } = JSON.parse(readText("drizzle/meta/_journal.json"));
    expect(entries.map(({ tag }: { tag: string }) => tag)).toEqual(migrations);
    expect(LATEST_MIGRATION).toBe(newest);
  });
});
