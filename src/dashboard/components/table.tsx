/** A table that scrolls inside its own frame. */

import type { Child } from "hono/jsx";
import type { Html } from "../visit.js";

export interface Column {
  name: string;
  /** Numbers stand at the right; `wide` ones are left out on a phone. */
  class?: "number" | "wide" | "number wide";
}

/** Rows with named columns; cells bear the classes of their columns. */
export function Table(props: { caption: string; columns: Column[]; children: Child }): Html {
  return (
    <section class="scroll" tabindex={0} aria-label={props.caption}>
      <table>
        <thead>
          <tr>
            {props.columns.map(({ name, class: kind }) => (
              <th scope="col" class={kind}>
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>{props.children}</tbody>
      </table>
    </section>
  );
}
