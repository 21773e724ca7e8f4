import { describe, expect, test } from "vitest";
import { cyclesIn, graphOf } from "./cycles.js";
import { layerFaults, layerOf, moduleOf, targetOf } from "./layers.js";
import { importsOf, placeOf, usesOf, visit } from "./syntax.js";
import { filesIn, type SourceFile } from "./tree.js";

const src = filesIn(["src"]);
const all = filesIn(["src", "dev", "tests", "bench", "examples"]);

describe("a layer imports only what the architecture puts below it", () => {
  test("in all of src", () => {
    expect(src.flatMap(layerFaults)).toEqual([]);
  });

  test.each([
    ["src/core/a.ts", 'import { sql } from "drizzle-orm";'],
    ["src/core/a.ts", 'import { claim } from "../storage/sql/claim.js";'],
    ["src/engine/a.ts", 'import type { Config } from "../config.js";'],
    ["src/engine/a.ts", 'export { createTrigger } from "../trigger/publish.js";'],
    ["src/storage/a.ts", 'const sweep = await import("../engine/sweep.js");'],
    ["src/trigger/a.ts", 'export * from "../storage/store.js";'],
    ["src/http/a.ts", 'import { createVerify } from "../trigger/verify.js";'],
    ["src/http/a.ts", 'type Trigger = import("../trigger/publish.js").PublishOptions;'],
    ["src/http/a.ts", 'import { Client } from "@upstash/qstash";'],
    ["src/http/a.ts", 'import { ANSWERS } from "./answers.js";'],
    ["src/http/routes/a.ts", 'import { type Answers, getJob } from "../answers/get-job.js";'],
    ["src/telemetry/a.ts", 'import { Hono } from "hono/tiny";'],
    ["src/jobs/a.ts", 'import { errorText } from "../core/errors.js";'],
    ["src/client/a.ts", 'import { defineJob } from "../core/define-job.js";'],
    ["src/cli/a.ts", 'import { createStore } from "../storage/store.js";'],
    ["src/entry/a.ts", 'import { sweep } from "../engine/sweep.js";'],
    ["src/compose.ts", 'import { startQstash } from "../dev/qstash/start.js";'],
    ["src/compose.ts", 'import { world } from "../tests/support/world.js";'],
    ["src/jobs/a.ts", 'import { lookup } from "node:dns";'],
    ["src/entry/cloudflare.ts", 'import { once } from "events";'],
    ["src/entry/platform.ts", 'import type { Server } from "node:http";'],
  ])("control: %s with %s is found", (path, text) => {
    expect(layerFaults({ path, text })).toHaveLength(1);
  });

  test("control: what is allowed is not found", () => {
    const allowed = [
      ["src/core/a.ts", 'import * as z from "zod"; import "./job.js";'],
      ["src/http/a.ts", 'import type { Verify } from "../trigger/verify.js"; import "hono";'],
      ["src/http/routes/a.ts", 'import type { statsSchema } from "../answers/get-stats.js";'],
      ["src/http/answers.ts", 'import "./answers/get-job.js";'],
      ["src/http/answers/a.ts", 'import "./job-view.js";'],
      ["src/jobs/a.ts", 'import "../core/define-job.js"; import "./outbound/call.js"; import "x";'],
      ["src/entry/node.ts", 'import "node:http"; import "../jobs/registry.gen.js";'],
      ["src/index.ts", '// import "../dev/start.js"\nconst text = `import "../dev/start.js"`;'],
    ];
    expect(allowed.flatMap(([path = "", text = ""]) => layerFaults({ path, text }))).toEqual([]);
  });
});

describe("imports do not run in circles", () => {
  const edgesOf = (file: SourceFile, nameOf: (path: string) => string, withTypes: boolean) =>
    importsOf(file)
      .filter(({ specifier, typeOnly }) => specifier.startsWith(".") && (withTypes || !typeOnly))
      .map(({ specifier }) => [nameOf(file.path), nameOf(targetOf(file, specifier))] as const);

  test("layers, types included", () => {
    const nameOf = (path: string) => layerOf(moduleOf(path));
    const edges = src.flatMap((file) => edgesOf(file, nameOf, true));
    expect(cyclesIn(graphOf(edges.filter(([from, to]) => from !== to)))).toEqual([]);
  });

  test("files, as they are loaded", () => {
    const edges = all.flatMap((file) => edgesOf(file, (path) => path.replace(/\.\w+$/, ""), false));
    expect(cyclesIn(graphOf(edges))).toEqual([]);
  });

  test("control: a planted circle is found", () => {
    const edges = [
      ["a", "b"],
      ["b", "c"],
      ["c", "b"],
      ["c", "d"],
    ] as const;
    expect(cyclesIn(graphOf(edges))).toEqual(["b → c → b"]);
  });
});

describe("relative imports end in .js, since one of our builders changes no specifier", () => {
  const faults = (file: SourceFile): string[] =>
    importsOf(file)
      .filter(({ specifier }) => specifier.startsWith(".") && !specifier.endsWith(".js"))
      .map((each) => `${placeOf(file, each)} ${each.specifier}`);

  test("everywhere", () => {
    expect(all.flatMap(faults)).toEqual([]);
  });

  test("control: other endings are found", () => {
    const text = 'import "./a"; export * from "../b.ts"; void import("./c.jsx");';
    expect(faults({ path: "src/x.ts", text })).toHaveLength(3);
  });
});

describe("zod is imported so that the bundles stay small", () => {
  /** Job types that people add may take either zod; those that are always there count as ours. */
  const isOurs = (path: string): boolean =>
    path.startsWith("src/") &&
    (!path.startsWith("src/jobs/") || /\/(?:http_request|send_email)\.ts$/.test(path));
  const names: Record<string, string> = { zod: "z", "zod/mini": "z", "zod/locales": "locales" };

  function faults(file: SourceFile): string[] {
    const found: string[] = [];
    visit(file, {
      ImportDeclaration: (node) => {
        const { value: specifier } = node.source;
        if (!/^zod(?:\/|$)/.test(specifier)) return;
        const [only, ...rest] = node.specifiers;
        const isWhole =
          only?.type === "ImportNamespaceSpecifier" && only.local.name === names[specifier];
        const isLarge = specifier === "zod" && isOurs(file.path);
        if (!isWhole || rest.length > 0 || isLarge) found.push(placeOf(file, node));
      },
    });
    return found;
  }

  test("whole everywhere, and zod/mini for what every bundle holds", () => {
    expect(all.flatMap(faults)).toEqual([]);
  });

  test("control: named and default imports are found", () => {
    const text = 'import { z } from "zod";\nimport z from "zod";\nimport * as z from "zod";';
    expect(faults({ path: "dev/x.ts", text })).toEqual(["dev/x.ts:1", "dev/x.ts:2"]);
  });

  test("control: zod itself is found in what is always bundled, and not in a job file", () => {
    const text = 'import * as z from "zod";';
    const paths = ["src/http/x.ts", "src/config.ts", "src/jobs/send_email.ts", "src/jobs/hello.ts"];
    expect(paths.flatMap((path) => faults({ path, text }))).toEqual(
      paths.slice(0, 3).map((path) => `${path}:1`),
    );
  });
});

describe("the environment is read where a platform starts, and handed on", () => {
  const faults = (file: SourceFile): string[] =>
    ["entry/node", "entry/mount", "index"].includes(moduleOf(file.path)) ||
    file.path.startsWith("src/cli/")
      ? []
      : usesOf(file)
          .filter(({ use }) => /^(?:globalThis\.)?process\b/.test(use))
          .map((each) => `${placeOf(file, each)} ${each.use}`);

  test("in all of src", () => {
    expect(src.flatMap(faults)).toEqual([]);
  });

  test("control: process is found elsewhere", () => {
    const text = "const a = process.env.A; globalThis.process?.exit();";
    expect(faults({ path: "src/config.ts", text })).toHaveLength(2);
    expect(faults({ path: "src/index.ts", text })).toEqual([]);
  });
});
