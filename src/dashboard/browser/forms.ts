/** Forms that change something: asked for in a dialog where they say so, and sent once. */

/** Watches every form of the page, later ones as well. */
export function guardForms(): void {
  document.addEventListener("submit", (event) => {
    const form = event.target;
    if (!(form instanceof HTMLFormElement) || form.method !== "post") return;
    if (form.dataset.sent !== undefined) {
      event.preventDefault();
      return;
    }
    const question = form.dataset.confirm;
    if (question !== undefined && form.dataset.sure === undefined) {
      event.preventDefault();
      ask(question, form);
      return;
    }
    form.dataset.sent = "";
    form.querySelector("button[type=submit]")?.setAttribute("aria-busy", "true");
  });
  // A page from the back-forward cache may be sent again: its action id makes that harmless.
  addEventListener("pageshow", () => {
    for (const form of document.forms) {
      delete form.dataset.sent;
      form.querySelector("[aria-busy]")?.removeAttribute("aria-busy");
    }
  });
}

/** Asks in a modal dialog, which keeps and gives back the focus by itself. */
function ask(question: string, form: HTMLFormElement): void {
  const dialog = document.createElement("dialog");
  const text = document.createElement("p");
  text.id = "question";
  text.textContent = question;
  dialog.setAttribute("aria-labelledby", text.id);
  const label = form.querySelector("button[type=submit]")?.textContent ?? "OK";
  const yes = buttonOf(label, "main", () => {
    form.dataset.sure = "";
    dialog.close();
    form.requestSubmit();
  });
  const row = document.createElement("div");
  row.className = "row";
  row.append(
    buttonOf("Back", "", () => dialog.close()),
    yes,
  );
  dialog.append(text, row);
  dialog.addEventListener("close", () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
}

function buttonOf(label: string, tone: string, onClick: () => void): HTMLButtonElement {
  const button = document.createElement("button");
  button.type = "button";
  button.className = tone;
  button.textContent = label;
  button.addEventListener("click", onClick);
  return button;
}
