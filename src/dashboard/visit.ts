/** What every page and action of the dashboard is handed, and what it gives back. */

import type { JSX } from "hono/jsx/jsx-runtime";
import type { Role } from "../core/access.js";
import type { Actor } from "../core/operations.js";
import type { Ports } from "../core/ports.js";

export type Html = JSX.Element;

/** One look of somebody who is signed in. */
export interface Visit {
  ports: Ports;
  actor: Actor;
  role: Role;
  csrfToken: string;
  /** Where the dashboard is mounted, without a trailing slash; every link begins with it. */
  base: string;
  /** Values of the path, decoded. */
  params: Readonly<Record<string, string>>;
  query: URLSearchParams;
  /** The instance's clock, for "3 min ago" only. */
  nowMs: number;
}

export interface Rendered {
  title: string;
  body: Html;
  /** 200 if absent. */
  status?: number;
}

/** The parts of the dashboard that its navigation names. */
export type Section = "" | "jobs" | "dead-letters" | "schedules" | "types";

/** A page: it changes nothing. */
export interface Page {
  /** Below the base, in Hono's syntax. */
  path: string;
  section: Section;
  /** Gives nothing where nothing is that the visitor may see, or the path where to look instead. */
  render(visit: Visit): Promise<Rendered | string | undefined>;
}

/** A change, which only a POST with a token makes. */
export interface Action {
  path: string;
  role: Role;
  /** Gives the path below the base where the reader goes on; nothing for what they may not see. */
  act(visit: Visit, form: ActionForm): Promise<string | Refusal | undefined>;
}

/** What the reader has to change in the form before anything is done. */
export interface Refusal {
  detail: string;
}

/** The fields of a form. */
export interface ActionForm {
  fields: URLSearchParams;
  /** The same for the same form, so that a second submit repeats the first. */
  actionId: string;
  /** Null for an empty one. */
  reason: string | null;
}
