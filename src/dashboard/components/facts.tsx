/** Names with their values. */

import type { Child } from "hono/jsx";
import type { Html } from "../visit.js";

/** A list in columns; what is null is left out. */
export function Facts({ facts }: { facts: [name: string, value: Child | null][] }): Html {
  return (
    <dl class="facts">
      {facts
        .filter(([, value]) => value !== null)
        .map(([name, value]) => (
          <div>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
    </dl>
  );
}
