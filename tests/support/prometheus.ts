/** A strict reader of Prometheus's text format, for what we write of it. */

import { spawnSync } from "node:child_process";

/** Samples by name and labels, as they stand in the text. */
export type Samples = ReadonlyMap<string, number>;

const NAME = "[a-zA-Z_:][a-zA-Z0-9_:]*";
const LABEL = `[a-zA-Z_][a-zA-Z0-9_]*="(?:[^"\\\\\\n]|\\\\["\\\\n])*"`;
const SAMPLE = new RegExp(`^(${NAME})((?:\\{${LABEL}(?:,${LABEL})*\\})?) (\\d+(?:\\.\\d+)?)$`);
const SUFFIX = /_(?:bucket|sum|count)$/;

/** Reads an exposition; throws where Prometheus would refuse or misread it. */
export function readExposition(text: string): Samples {
  const samples = new Map<string, number>();
  const kinds = new Map<string, string>();
  let family = "";
  if (!text.endsWith("\n")) throw new Error("the last line is not ended");
  for (const line of text.split("\n").slice(0, -1)) {
    const help = new RegExp(`^# HELP (${NAME}) \\S.*$`).exec(line);
    const type = new RegExp(`^# TYPE (${NAME}) (counter|gauge|histogram)$`).exec(line);
    if (help) {
      [, family = ""] = help;
      if (kinds.has(family)) throw new Error(`${family} comes twice`);
      kinds.set(family, "");
    } else if (type) {
      const [, name, kind = ""] = type;
      if (name !== family) throw new Error(`${line} does not follow its HELP`);
      kinds.set(family, kind);
    } else addSample(samples, line, family, kinds.get(family) ?? "");
  }
  for (const [name, kind] of kinds) if (kind === "histogram") checkHistogram(samples, name);
  checkWithPromtool(text);
  return samples;
}

function addSample(samples: Map<string, number>, line: string, family: string, kind: string): void {
  const [, name = "", labels = "", value] = SAMPLE.exec(line) ?? [];
  const belongs = kind === "histogram" ? name.replace(SUFFIX, "") === family : name === family;
  if (!belongs || name === "") throw new Error(`not a sample of ${family}: ${line}`);
  if (kind === "counter" && !family.endsWith("_total")) throw new Error(`${family} is no total`);
  if (samples.has(name + labels)) throw new Error(`${name}${labels} comes twice`);
  samples.set(name + labels, Number(value));
}

/** Buckets are cumulative, and the last one holds everything. */
function checkHistogram(samples: Samples, family: string): void {
  const buckets = [...samples].filter(([key]) => key.startsWith(`${family}_bucket{`));
  for (const [labels, series] of Map.groupBy(buckets, ([key]) => key.replace(/,le="[^"]*"/, ""))) {
    const values = series.map(([, value]) => value);
    if (values.some((value, at) => value < (values[at - 1] ?? 0))) {
      throw new Error(`${labels} is not cumulative`);
    }
    const count = samples.get(labels.replace("_bucket{", "_count{"));
    if (!series.at(-1)?.[0].includes('le="+Inf"') || values.at(-1) !== count) {
      throw new Error(`${labels} does not end with everything`);
    }
  }
}

/** Asks the original as well where it is installed. */
function checkWithPromtool(text: string): void {
  const { error, status, stderr } = spawnSync("promtool", ["check", "metrics"], { input: text });
  if (error) console.log("promtool is missing: its own check is LEFT OUT. Install prometheus.");
  else if (status !== 0) throw new Error(`promtool: ${stderr}`);
}
