import { isBuiltin } from "node:module";
import { describe, expect, test } from "vitest";
import { importsOf, packageOf } from "./syntax.js";
import { filesIn, PATHS, readText, type SourceFile, sourceOf } from "./tree.js";

interface Manifest {
  dependencies: Record<string, string>;
  devDependencies: Record<string, string>;
}

const manifest = JSON.parse(readText("package.json")) as Manifest;
const src = filesIn(["src"]);
const others = [
  ...filesIn(["dev", "tests", "bench"]),
  ...PATHS.filter((path) => /^[\w.]+\.ts$/.test(path)).map(sourceOf),
];

const packagesOf = (file: SourceFile): string[] =>
  importsOf(file)
    .map(({ specifier }) => specifier)
    .filter((specifier) => !specifier.startsWith(".") && !isBuiltin(specifier))
    .map(packageOf);

describe("what ships depends on dependencies, everything else may use devDependencies too", () => {
  const faults = (file: SourceFile, allowed: object[]): string[] =>
    packagesOf(file)
      .filter((name) => !allowed.some((list) => name in list))
      .map((name) => `${file.path} imports ${name}`);

  test("src imports dependencies only", () => {
    expect(src.flatMap((file) => faults(file, [manifest.dependencies]))).toEqual([]);
  });

  test("dev, tests, bench and settings import what package.json names", () => {
    const named = [manifest.dependencies, manifest.devDependencies, { "(computed)": "" }];
    expect(others.flatMap((file) => faults(file, named))).toEqual([]);
  });

  test("no dependency is there for nothing, or twice", () => {
    const used = new Set(src.flatMap(packagesOf));
    expect(Object.keys(manifest.dependencies).filter((name) => !used.has(name))).toEqual([]);
    const twice = Object.keys(manifest.dependencies).filter(
      (name) => name in manifest.devDependencies,
    );
    expect(twice).toEqual([]);
  });

  test("control: a package for development, and one that only a run could name, are found", () => {
    const text =
      'import pg from "pg"; import "@scope/name/part"; await import(name); import "zod";';
    expect(faults({ path: "src/a.ts", text }, [{ zod: "4.0.0" }])).toEqual([
      "src/a.ts imports pg",
      "src/a.ts imports @scope/name",
      "src/a.ts imports (computed)",
    ]);
  });
});

describe("everybody installs the same", () => {
  const EXACT = /^\d+\.\d+\.\d+(?:-[\w.]+)?$/;
  const faults = (versions: Record<string, string>): string[] =>
    Object.entries(versions)
      .filter(([, version]) => !EXACT.test(version))
      .map(([name, version]) => `${name} ${version}`);

  test("versions are exact", () => {
    expect(faults({ ...manifest.dependencies, ...manifest.devDependencies })).toEqual([]);
  });

  test("the lock file is of this package.json and names no host", () => {
    const lock = JSON.parse(readText("package-lock.json")) as {
      packages: Record<string, Partial<Manifest> & { resolved?: string }>;
    };
    expect(lock.packages[""]).toMatchObject({
      dependencies: manifest.dependencies,
      devDependencies: manifest.devDependencies,
    });
    // npm asks the registry of whoever installs; an address in here would bind all to one.
    const bound = Object.entries(lock.packages).filter(([, { resolved }]) => resolved);
    expect(bound.map(([name]) => name)).toEqual([]);
  });

  test("control: ranges, tags and addresses are found", () => {
    const versions = { a: "^1.0.0", b: "latest", c: "1.x", d: "git+ssh://x/y", e: "1.0.0-rc.1" };
    expect(faults(versions)).toHaveLength(4);
  });
});
