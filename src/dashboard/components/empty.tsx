/** Where nothing is: what it means, and what to do. */

import type { Child } from "hono/jsx";
import type { Html } from "../visit.js";

/** A short text in the place of a list. */
export function Empty({ title, children }: { title: string; children?: Child }): Html {
  return (
    <div class="empty">
      <p>{title}</p>
      {children && <p class="soft">{children}</p>}
    </div>
  );
}
