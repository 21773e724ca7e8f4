/** Keeps the page up to date by asking for it again, less and less often while nothing changes. */

import { morph } from "./morph.js";

const POLL_MS_MAX = 30_000;
const STORED = "antrean-live";

/** Starts, unless the reader has stopped it before. */
export function keepUpToDate(): void {
  const main = document.querySelector("main");
  const button = document.querySelector<HTMLElement>("#live");
  // The login and failures have nothing to follow.
  if (!main || !button) return;
  const soonMs = Number(main.dataset.poll) * 1000;
  let pauseMs = soonMs;
  let timer: ReturnType<typeof setTimeout> | undefined;
  let isOn = !sessionStorage.getItem(STORED);
  const plan = (): void => {
    clearTimeout(timer);
    button.setAttribute("aria-pressed", String(isOn));
    if (isOn && !document.hidden) timer = setTimeout(look, pauseMs);
  };
  const look = async (): Promise<void> => {
    const outcome = isBusy(main) ? "same" : await refresh(main).catch(() => "trouble" as const);
    tell(outcome === "trouble" ? "No answer from the server; trying again." : "");
    const longer = Math.min(pauseMs * 1.5, POLL_MS_MAX);
    pauseMs = outcome === "changed" ? soonMs : Math.max(longer, soonMs);
    plan();
  };
  button.hidden = false;
  button.onclick = () => {
    isOn = !isOn;
    sessionStorage.setItem(STORED, isOn ? "" : "off");
    pauseMs = soonMs;
    plan();
  };
  document.onvisibilitychange = () => {
    pauseMs = 0;
    plan();
  };
  plan();
}

/** Whoever fills in a form is not disturbed. */
function isBusy(main: Element): boolean {
  return main.querySelector("input:focus, select:focus, textarea:focus, .more[open]") !== null;
}

async function refresh(main: Element): Promise<"changed" | "same" | "trouble"> {
  const response = await fetch(location.href);
  // The session is over: the page itself then asks for the key.
  if (response.status === 401) location.reload();
  if (!response.ok) return "trouble";
  const page = new DOMParser().parseFromString(await response.text(), "text/html");
  const fresh = page.querySelector("main");
  if (!fresh || isBusy(main)) return "same";
  document.title = page.title;
  return morph(main, fresh) ? "changed" : "same";
}

/** Said aloud once, since the region is only written when its text changes. */
function tell(text: string): void {
  const place = document.querySelector("#trouble");
  if (place && place.textContent !== text) place.textContent = text;
}
