/** A JSON value, as text and nothing else. */

import type { Json } from "../../core/job.js";
import type { Html } from "../visit.js";

/** Longer ones are opened by a click. */
const OPEN_LENGTH_MAX = 3000;

/** A titled value. */
export function JsonBlock({ title, value }: { title: string; value: Json }): Html {
  const text = JSON.stringify(value, null, 2);
  return (
    <details class="json" open={text.length <= OPEN_LENGTH_MAX}>
      <summary>{title}</summary>
      <Text label={title}>{text}</Text>
    </details>
  );
}

/** Text as it is; focusable, so that its overflow can be scrolled by keyboard. */
export function Text({ label, children }: { label: string; children: string }): Html {
  return (
    <section class="text" tabindex={0} aria-label={label}>
      <pre>{children}</pre>
    </section>
  );
}
