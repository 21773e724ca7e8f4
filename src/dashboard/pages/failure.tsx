/** A page for what went wrong, which says what to do. */

import { Document } from "../components/layout.js";
import type { FailureNote } from "../exchange.js";
import type { Html } from "../visit.js";

type FailureProps = Omit<FailureNote, "status"> & { base: string };

/** The whole page; it needs no session, since that may be what failed. */
export function Failure({ base, title, detail, requestId }: FailureProps): Html {
  return (
    <Document base={base} title={title}>
      <main class="login">
        <h1>{title}</h1>
        <p>{detail}</p>
        {requestId && (
          <p class="soft">
            Request <code>{requestId}</code>
          </p>
        )}
        <p>
          <a href={base}>Go to the overview</a>
        </p>
      </main>
    </Document>
  );
}
