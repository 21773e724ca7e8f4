/** Bars over time or over classes, as SVG that stretches to its place; words stand around it. */

import type { Html } from "../visit.js";

export interface Series {
  name: string;
  /** The class that colors it. */
  tone: string;
}

export interface BarChartProps {
  title: string;
  /** What the picture says, for whoever does not see it. */
  summary: string;
  series: Series[];
  /** One value a series; null where nothing is known. */
  bars: { label: string; values: (number | null)[] }[];
  /** Upon each other, or the smaller ones before the larger ones. */
  stacked: boolean;
  format: (value: number) => string;
  /** Names each bar below it, instead of the first and the last. */
  named?: boolean;
  empty: string;
}

const BAR = 10;
const GAP = 1.5;
const HEIGHT = 100;

/** A chart with its legend and its numbers. */
export function BarChart(props: BarChartProps): Html {
  const { title, summary, series, bars, format } = props;
  const top = topOf(bars, props.stacked);
  return (
    <figure class="chart">
      <figcaption>
        <h3>{title}</h3>
        <ul class="legend">
          {series.map(({ name, tone }) => (
            <li class={tone}>
              <span class="dot" />
              {name}
            </li>
          ))}
        </ul>
      </figcaption>
      <div class="plot">
        <span class="top">{top > 0 ? format(top) : ""}</span>
        <svg
          role="img"
          aria-label={top > 0 ? summary : props.empty}
          viewBox={`0 0 ${bars.length * BAR} ${HEIGHT}`}
          preserveAspectRatio="none"
        >
          <path class="grid" d={`M0 0H${bars.length * BAR}M0 50H${bars.length * BAR}`} />
          {top > 0 && bars.map((bar, at) => <Bar bar={bar} at={at} top={top} {...props} />)}
          <path class="base" d={`M0 ${HEIGHT}H${bars.length * BAR}`} />
        </svg>
        {top === 0 && <p class="soft none">{props.empty}</p>}
      </div>
      <p class="axis" aria-hidden="true">
        {(props.named ? bars : [bars[0], bars.at(-1)]).map((bar) => (
          <span>{bar?.label}</span>
        ))}
      </p>
      {top > 0 && <Numbers {...props} />}
    </figure>
  );
}

function Bar(
  props: BarChartProps & { bar: BarChartProps["bars"][number]; at: number; top: number },
) {
  const { bar, at, top, series, stacked, format } = props;
  const x = at * BAR;
  let below = 0;
  const said = series.map(({ name }, nth) => {
    const value = bar.values[nth] ?? null;
    return `${name} ${value === null ? "–" : format(value)}`;
  });
  return (
    <g>
      <title>{`${bar.label}: ${said.join(", ")}`}</title>
      <rect class="hit" x={x} y={0} width={BAR} height={HEIGHT} />
      {series.map(({ tone }, nth) => {
        const height = rounded(((bar.values[nth] ?? 0) / top) * HEIGHT);
        const y = rounded(HEIGHT - height - (stacked ? below : 0));
        below += height;
        if (height === 0) return null;
        return <rect class={tone} x={x + GAP} y={y} width={BAR - 2 * GAP} height={height} />;
      })}
    </g>
  );
}

/** The same as a table, for whoever wants numbers. */
function Numbers({ title, series, bars, format }: BarChartProps): Html {
  return (
    <details class="numbers">
      <summary>Numbers</summary>
      <section class="scroll" tabindex={0} aria-label={`${title}: numbers`}>
        <table>
          <thead>
            <tr>
              <th scope="col" />
              {series.map(({ name }) => (
                <th scope="col" class="number">
                  {name}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {bars
              .filter(({ values }) => values.some(Boolean))
              .map(({ label, values }) => (
                <tr>
                  <th scope="row">{label}</th>
                  {values.map((value) => (
                    <td class="number">{value === null ? "–" : format(value)}</td>
                  ))}
                </tr>
              ))}
          </tbody>
        </table>
      </section>
    </details>
  );
}

function topOf(bars: BarChartProps["bars"], stacked: boolean): number {
  const heights = bars.map(({ values }) => {
    const known = values.map((value) => value ?? 0);
    return stacked ? known.reduce((sum, value) => sum + value, 0) : Math.max(...known);
  });
  return Math.max(0, ...heights);
}

/** A tenth of a unit is finer than any screen shows. */
function rounded(value: number): number {
  return Math.round(value * 10) / 10;
}
