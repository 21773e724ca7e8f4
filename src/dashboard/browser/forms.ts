/** Forms that change something are sent once; those behind a click close with Escape. */

/** Watches every form of the page, later ones as well. */
export function guardForms(): void {
  addEventListener("submit", (event) => {
    const form = event.target as HTMLFormElement;
    if (form.method !== "post") return;
    if (form.ariaBusy) event.preventDefault();
    form.ariaBusy = "true";
  });
  addEventListener("keydown", ({ key }) => {
    const open = key === "Escape" && document.querySelector(".more[open]");
    if (!open) return;
    open.removeAttribute("open");
    open.querySelector("summary")?.focus();
  });
  // A page that the browser kept may be sent again: its action id makes that harmless.
  addEventListener("pageshow", () => {
    for (const form of document.forms) form.ariaBusy = null;
  });
}
