import { readFile } from "node:fs/promises";
import { describe, expect, test } from "vitest";
import { PROBLEMS } from "../../src/http/problem.js";
import { setUpFlow } from "../support/flow-world.js";
import { JOB_ERROR_CODES } from "../support/job-error-codes.js";
import { type Entry, entriesOf, play, readEntries } from "../support/runbook.js";
import { DATABASE_SCENARIOS } from "../support/runbook-database.js";
import { DEPLOYMENT_SCENARIOS } from "../support/runbook-deployment.js";
import { JOB_SCENARIOS } from "../support/runbook-jobs.js";
import { OUTAGE_SCENARIOS } from "../support/runbook-outages.js";

const flow = setUpFlow({ fresh: true });
const entries = await readEntries("runbook.md");
const scenarios = {
  ...JOB_SCENARIOS,
  ...OUTAGE_SCENARIOS,
  ...DEPLOYMENT_SCENARIOS,
  ...DATABASE_SCENARIOS,
};
const withBlocks = entries.filter(({ blocks }) => blocks.length > 0);

describe("what the runbook says to do is done here, and does what it promises", () => {
  test.each(withBlocks.map(({ heading }) => heading))("%s", async (heading) => {
    const scenario = scenarios[heading];
    const entry = withBlocks.find((each) => each.heading === heading);
    if (!scenario || !entry) throw new Error(`nobody plays "${heading}"`);
    await play(flow, entry, scenario);
  });

  test("no scenario is without its entry", () => {
    const headings = withBlocks.map(({ heading }) => heading);
    expect(Object.keys(scenarios).filter((each) => !headings.includes(each))).toEqual([]);
  });

  test("control: a block that is not played, not there, or of another kind is a failure", async () => {
    const [entry = entries[0] as Entry] = entriesOf("## A\n```sql\nselect 1;\n```\n");
    await expect(play(flow, entry, async () => {})).rejects.toThrow("select 1");
    await expect(play(flow, entry, async (_, page) => void page.query())).rejects.toThrow();
    await expect(play(flow, entry, async (_, page) => void page.command())).rejects.toThrow("sh");
    await play(flow, entry, async (_, page) => void (await page.query()()));
    const twice = play(flow, entry, async (_, page) => {
      await page.query()();
      page.query();
    });
    await expect(twice).rejects.toThrow("next block");
  });
});

describe("nothing of the runbook is left to chance", () => {
  const PROMISES = ["**Means.**", "**It worked**"];
  /** What looks like something to type: only blocks are run. */
  const TYPED =
    /`(?:npx|curl|npm|antrean|jobs|types|effects|schedules|dead-letters|select|update|insert|delete) [^`]*`/gi;

  test("each entry says what it means and how to know that it worked", () => {
    const lacking = withBlocks
      .filter(({ heading }) => heading !== "Begin here")
      .filter(({ text }) => !PROMISES.every((each) => text.includes(each)));
    expect(lacking.map(({ heading }) => heading)).toEqual([]);
  });

  test("every alerting rule leads to an entry", async () => {
    const rules = await readFile(
      new URL("../../docs/prometheus-rules.yml", import.meta.url),
      "utf8",
    );
    const anchors = [...rules.matchAll(/^ +runbook: docs\/runbook\.md#(.+)$/gm)].map(
      ([, to]) => to,
    );
    expect(anchors).toHaveLength(rules.match(/- alert: /g)?.length ?? 0);
    const headings = entries.map(({ heading }) => heading.toLowerCase().replaceAll(" ", "-"));
    expect(anchors.filter((each) => !headings.includes(each ?? ""))).toEqual([]);
  });

  test("a query or a command stands in a block, and nowhere else", () => {
    const outside = entries.flatMap(({ text }) =>
      text.replaceAll(/^```[\s\S]*?^```$/gm, "").match(TYPED),
    );
    expect(outside.filter(Boolean)).toEqual([]);
    const languages = entries.flatMap(({ blocks }) => blocks.map(({ language }) => language));
    expect(new Set(languages)).toEqual(new Set(["sql", "sh"]));
  });
});

describe("every error code has its line", () => {
  const codes = (heading: string): string[] => {
    const { text = "" } = entries.find((each) => each.heading === "By error code") ?? {};
    const [, part = ""] = text.split(`### ${heading}\n`);
    const rows = part.split("\n### ")[0]?.matchAll(/^\| ((?:`[^`]+`(?:, )?)+) \|/gm) ?? [];
    return [...rows].flatMap(([, cell = ""]) => cell.replaceAll("`", "").split(", "));
  };

  test("of jobs: exactly those that the engine writes", () => {
    expect(codes("Of jobs").toSorted()).toEqual([...JOB_ERROR_CODES, "http_<status>"].toSorted());
  });

  test("of the API: all faults that are not the client's, and none that does not exist", () => {
    const found = codes("Of the API");
    expect(found.filter((code) => !(code in PROBLEMS))).toEqual([]);
    const ours = Object.entries(PROBLEMS).filter(([, { status }]) => status >= 489);
    expect(ours.map(([code]) => code).filter((code) => !found.includes(code))).toEqual([]);
  });
});
