/** The form that asks which dead letters a replay is for, and counts them. */

import type { Html, Visit } from "../visit.js";
import { Choice, CreatedFields, Field } from "./field.js";

/** A GET: it changes nothing. */
export function ReplayFields({ visit: { base, ports, query } }: { visit: Visit }): Html {
  return (
    <form class="filters" action={`${base}/dead-letters/replay`}>
      <Choice
        label="Type"
        name="type"
        value={query.get("type")}
        names={[...ports.registry.keys()]}
      />
      <Field label="Error code" name="code" value={query.get("code")} />
      <CreatedFields query={query} />
      <div class="row">
        <button type="submit">Count first…</button>
      </div>
    </form>
  );
}
