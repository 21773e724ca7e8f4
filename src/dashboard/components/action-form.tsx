/** The form of a change: its token, its action id, and a step in between where it matters. */

import type { Child } from "hono/jsx";
import type { Html, Visit } from "../visit.js";
import { ReasonField } from "./field.js";

interface ActionFormProps {
  visit: Visit;
  /** Below the base. */
  path: string;
  label: string;
  /** Looks like what cannot be taken back, or like what one came for. */
  tone?: "danger" | "main";
  /** More fields. */
  children?: Child;
}

/** One button that changes something; without a script as well. */
export function ActionForm({ visit, path, label, tone, children }: ActionFormProps): Html {
  return (
    <form method="post" action={visit.base + path}>
      <input type="hidden" name="csrf" value={visit.csrfToken} />
      <input type="hidden" name="action" value={crypto.randomUUID()} />
      {children}
      <button type="submit" class={tone}>
        {label}
      </button>
    </form>
  );
}

/** The same behind a click, with what it means, and with a reason for the history. */
export function ReasonedForm(props: ActionFormProps & { hint: string; required?: true }): Html {
  const { hint, required, children, ...form } = props;
  return (
    <details class="more">
      <summary class="button">{form.label}…</summary>
      <div class="pop">
        <p>{hint}</p>
        <ActionForm {...form}>
          {children}
          <ReasonField required={required} />
        </ActionForm>
      </div>
    </details>
  );
}
