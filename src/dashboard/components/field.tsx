/** Fields of forms with their labels. */

import { REASON_LENGTH_MAX } from "../../core/operations.js";
import type { Html } from "../visit.js";

interface FieldProps {
  label: string;
  name: string;
  value?: string | null;
  type?: "text" | "number" | "datetime-local";
  min?: number;
  max?: number;
  maxlength?: number;
  required?: boolean;
}

/** Why somebody does it, for the job's history. */
export function ReasonField({ required }: Pick<FieldProps, "required">): Html {
  return (
    <Field
      label={required ? "Reason" : "Reason (optional)"}
      name="reason"
      maxlength={REASON_LENGTH_MAX}
      required={required}
    />
  );
}

/** One line of text, a number, or an instant. */
export function Field({ label, value, ...input }: FieldProps): Html {
  return (
    <label>
      {label}
      <input value={value ?? ""} autocomplete="off" {...input} />
    </label>
  );
}

/** One of some names, or all. */
export function Choice(props: {
  label: string;
  name: string;
  value: string | null;
  names: readonly string[];
}): Html {
  const { label, name, value } = props;
  const names = [...new Set([...props.names, value ?? ""])].filter(Boolean).sort();
  return (
    <label>
      {label}
      <select name={name}>
        <option value="">All</option>
        {names.map((each) => (
          <option selected={each === value}>{each}</option>
        ))}
      </select>
    </label>
  );
}

/** From when until when something was created. */
export function CreatedFields({ query }: { query: URLSearchParams }): Html {
  const type = "datetime-local";
  return (
    <>
      <Field label="Created from (UTC)" name="after" type={type} value={query.get("after")} />
      <Field label="until" name="before" type={type} value={query.get("before")} />
    </>
  );
}

/** What could not be understood. */
export function Faults({ faults }: { faults: string[] }): Html {
  return (
    <>
      {faults.map((fault) => (
        <p class="notice bad" role="alert">
          {fault}
        </p>
      ))}
    </>
  );
}
