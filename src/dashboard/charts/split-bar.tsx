/** One line, divided by shares. */

import type { Html } from "../visit.js";

export interface Share {
  name: string;
  /** The class that colors it. */
  tone: string;
  value: number;
}

const WIDTH = 100;
const HEIGHT = 6;

/** A line as long as its sum is of `max`; its words are its accessible name. */
export function SplitBar({ shares, max }: { shares: Share[]; max: number }): Html {
  let x = 0;
  const said = shares.filter(({ value }) => value > 0).map(({ name, value }) => `${value} ${name}`);
  return (
    <svg
      class="split"
      role="img"
      aria-label={said.join(", ") || "nothing"}
      viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
      preserveAspectRatio="none"
    >
      <rect class="track" width={WIDTH} height={HEIGHT} />
      {shares.map(({ name, tone, value }) => {
        const width = max > 0 ? Math.round((value / max) * WIDTH * 100) / 100 : 0;
        const from = x;
        x += width;
        if (width === 0) return null;
        return (
          <rect class={tone} x={from} width={width} height={HEIGHT}>
            <title>{`${value} ${name}`}</title>
          </rect>
        );
      })}
    </svg>
  );
}
