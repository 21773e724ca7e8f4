/** An instant on a page. */

import { formatAgo, formatInstant } from "../format.js";
import type { Html } from "../visit.js";

/** How far away it is; the exact instant is its title. */
export function Ago({ at, nowMs }: { at: string | null; nowMs: number }): Html {
  if (at === null) return <span class="soft">–</span>;
  return (
    <time datetime={at} title={`${formatInstant(at)} UTC`}>
      {formatAgo(at, nowMs)}
    </time>
  );
}

/** The instant and how far away it is. */
export function Instant({ at, nowMs }: { at: string | null; nowMs: number }): Html {
  if (at === null) return <span class="soft">–</span>;
  return (
    <time datetime={at}>
      {formatInstant(at)} <span class="soft">{formatAgo(at, nowMs)}</span>
    </time>
  );
}
