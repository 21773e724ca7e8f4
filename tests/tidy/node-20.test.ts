import { expect, test } from "vitest";
import { usesOf } from "./syntax.js";
import { filesIn } from "./tree.js";

/** What Node 20 lacks, which `engines` promises to run on; development has a newer one. */
const NEWER = [
  ...["Map.groupBy", "Object.groupBy", "Promise.withResolvers", "Promise.try", "Array.fromAsync"],
  ...["RegExp.escape", "Iterator.from", "Error.isError"],
];

test("what is deployed uses nothing that Node 20 does not have", () => {
  const used = filesIn(["src"]).flatMap((file) =>
    usesOf(file).flatMap(({ use }) => (NEWER.includes(use) ? [`${file.path}: ${use}`] : [])),
  );
  expect(used).toEqual([]);
});

test("control: it would be seen in development's own files", () => {
  const used = filesIn(["dev"]).flatMap((file) => usesOf(file).map(({ use }) => use));
  expect(used).toContain("Promise.withResolvers");
});
