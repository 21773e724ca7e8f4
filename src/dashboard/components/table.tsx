/** A table that scrolls inside its own frame. */

import type { Child } from "hono/jsx";
import type { Html } from "../visit.js";

/** A heading, and of what kind its column is: `#` for numbers, `~` for what a phone leaves out. */
export type Column = readonly [name: string, kind?: "#" | "~" | "#~"];

export interface Row {
  /** Unique in the page, so that the row is known again after a refresh. */
  id: string;
  /** One a column; the first names the row. */
  cells: Child[];
}

const CLASSES = { "#": "number", "~": "wide", "#~": "number wide" } as const;

/** Rows with named columns. */
export function Table(props: { caption: string; columns: readonly Column[]; rows: Row[] }): Html {
  const { caption, columns, rows } = props;
  const classes = columns.map(([, kind]) => kind && CLASSES[kind]);
  return (
    <section class="scroll" tabindex={0} aria-label={caption}>
      <table>
        <thead>
          <tr>
            {columns.map(([name], at) => (
              <th scope="col" class={classes[at]}>
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map(({ id, cells: [first, ...rest] }) => (
            <tr id={id}>
              <th scope="row">{first}</th>
              {rest.map((cell, at) => (
                <td class={classes[at + 1]}>{cell}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}
