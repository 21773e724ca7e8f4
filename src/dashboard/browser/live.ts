/** Keeps the page up to date by asking for it again, less and less often while nothing changes. */

import { morph } from "./morph.js";

const POLL_MS = { first: 3000, max: 30_000 } as const;
const STORED = "antrean-live";

/** Starts, unless the reader has stopped it before. */
export function keepUpToDate(): void {
  const main = document.querySelector<HTMLElement>("main[data-live]");
  const button = document.querySelector<HTMLButtonElement>("#live");
  if (!main || !button) return;
  let pauseMs: number = POLL_MS.first;
  let timer: ReturnType<typeof setTimeout> | undefined;
  let on = sessionStorage.getItem(STORED) !== "off";
  const plan = (): void => {
    clearTimeout(timer);
    button.setAttribute("aria-pressed", String(on));
    if (on && !document.hidden) timer = setTimeout(look, pauseMs);
  };
  const look = async (): Promise<void> => {
    const outcome = await refresh(main);
    tell(outcome === "trouble" ? "No answer from the server; trying again." : "");
    pauseMs = outcome === "changed" ? POLL_MS.first : Math.min(pauseMs * 1.5, POLL_MS.max);
    plan();
  };
  button.hidden = false;
  button.addEventListener("click", () => {
    on = !on;
    sessionStorage.setItem(STORED, on ? "on" : "off");
    pauseMs = POLL_MS.first;
    plan();
  });
  document.addEventListener("visibilitychange", () => {
    if (document.hidden) {
      clearTimeout(timer);
      return;
    }
    pauseMs = POLL_MS.first;
    if (on) void look();
  });
  plan();
}

/** Whoever fills in a form or answers a dialog is not disturbed. */
function isBusy(main: HTMLElement): boolean {
  const { activeElement } = document;
  const isTyping =
    activeElement?.matches("input, select, textarea") && main.contains(activeElement);
  return Boolean(isTyping || document.querySelector("dialog[open], .more[open]"));
}

async function refresh(main: HTMLElement): Promise<"changed" | "same" | "trouble"> {
  if (isBusy(main)) return "same";
  try {
    const response = await fetch(location.href, { headers: { Accept: "text/html" } });
    if (response.status === 401) {
      location.reload();
      return "same";
    }
    if (!response.ok) return "trouble";
    const page = new DOMParser().parseFromString(await response.text(), "text/html");
    const fresh = page.querySelector("main[data-live]");
    if (!fresh || isBusy(main)) return "same";
    document.title = page.title;
    return morph(main, fresh) ? "changed" : "same";
  } catch {
    return "trouble";
  }
}

/** Said aloud once, since the region is only written when its text changes. */
function tell(text: string): void {
  const place = document.querySelector("#trouble");
  if (place && place.textContent !== text) place.textContent = text;
}
