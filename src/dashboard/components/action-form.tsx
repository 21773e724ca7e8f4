/** The form of a change: token, action id, and a step in between where it matters. */

import type { Child } from "hono/jsx";
import type { Html, Visit } from "../visit.js";

interface ActionFormProps {
  visit: Visit;
  /** Below the base. */
  path: string;
  label: string;
  /** Looks like what cannot be taken back. */
  tone?: "danger" | "main";
  /** What the script asks before it sends the form. */
  confirm?: string;
  /** More fields. */
  children?: Child;
}

/** One button that changes something; without a script as well. */
export function ActionForm({ visit, path, label, tone, confirm, children }: ActionFormProps): Html {
  return (
    <form method="post" action={visit.base + path} data-confirm={confirm}>
      <input type="hidden" name="csrf" value={visit.csrfToken} />
      <input type="hidden" name="action" value={crypto.randomUUID()} />
      {children}
      <button type="submit" class={tone}>
        {label}
      </button>
    </form>
  );
}

/** The same behind a click, with a reason for the history. */
export function ReasonedForm(props: ActionFormProps & { hint: string; required?: true }): Html {
  const { hint, required, children, ...form } = props;
  return (
    <details class="more">
      <summary class="button">{form.label}…</summary>
      <div class="pop">
        <p>{hint}</p>
        <ActionForm {...form}>
          {children}
          <label>
            {required ? "Reason" : "Reason (optional)"}
            <input name="reason" maxlength={500} required={required} autocomplete="off" />
          </label>
        </ActionForm>
      </div>
    </details>
  );
}
