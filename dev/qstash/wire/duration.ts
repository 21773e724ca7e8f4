const unitMs: Readonly<Record<string, number>> = {
  ns: 1e-6,
  us: 1e-3,
  µs: 1e-3, // U+00B5, the micro sign
  μs: 1e-3, // U+03BC, the Greek letter, which Go accepts too
  ms: 1,
  s: 1000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000, // not in Go's own grammar, but QStash reads "1d10h30m"
};

const part = /(\d+(?:\.\d+)?|\.\d+)(ns|us|µs|μs|ms|s|m|h|d)/gy;

/** Reads a Go-like duration ("90s", "1d10h30m") as whole milliseconds; undefined when it is none. */
export function parseDurationMs(text: string): number | undefined {
  const source = text.trim();
  if (source === "0") return 0;
  if (source === "") return undefined;
  part.lastIndex = 0;
  let totalMs = 0;
  while (part.lastIndex < source.length) {
    const found = part.exec(source);
    if (!found) return undefined;
    totalMs += Number(found[1]) * (unitMs[found[2] ?? ""] ?? Number.NaN);
  }
  return Number.isFinite(totalMs) ? Math.round(totalMs) : undefined;
}

/** Like parseDurationMs, but a bare number counts as seconds. */
export function parseSecondsOrDurationMs(text: string): number | undefined {
  const source = text.trim();
  return /^\d+(\.\d+)?$/.test(source) ? Math.round(Number(source) * 1000) : parseDurationMs(source);
}
