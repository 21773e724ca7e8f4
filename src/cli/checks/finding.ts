/** What one check of `doctor` found. */

export interface Finding {
  check: string;
  state: "ok" | "warning" | "fault";
  detail: string;
  /** What to do about it. */
  advice?: string;
}
