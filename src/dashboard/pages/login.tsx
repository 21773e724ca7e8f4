/** What somebody sees who is not signed in: nothing but the way in. */

import { Document } from "../components/layout.js";
import type { Html } from "../visit.js";

export interface LoginProps {
  base: string;
  /** Where to go on, below the base. */
  next: string;
  fault?: string;
}

/** The form that takes an API key. */
export function Login({ base, next, fault }: LoginProps): Html {
  return (
    <Document base={base} title="Sign in">
      <main class="login">
        <h1>Antrean</h1>
        <form method="post" action={`${base}/login`}>
          <input type="hidden" name="next" value={next} />
          <label>
            API key
            <input
              type="password"
              name="key"
              required
              autofocus
              autocomplete="current-password"
              aria-describedby="about"
              aria-invalid={fault ? "true" : undefined}
            />
          </label>
          {fault && (
            <p class="notice bad" role="alert">
              {fault}
            </p>
          )}
          <button type="submit" class="main">
            Sign in
          </button>
          <p id="about" class="soft">
            The secret of an entry in API_KEYS. What you may see and change is what that key may.
          </p>
        </form>
      </main>
    </Document>
  );
}
