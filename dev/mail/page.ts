import type { Mail } from "./message.js";

const STYLE = `
  body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem;
         color: #1c1c1c; background: #fafafa; }
  article { background: #fff; border: 1px solid #ddd; border-radius: 6px; padding: 1rem;
            margin: 1rem 0; }
  h2 { font-size: 1.1rem; margin: 0 0 .5rem; }
  dl { display: grid; grid-template-columns: max-content 1fr; gap: 0 1rem; margin: 0 0 1rem;
       color: #555; font-size: .9rem; }
  dd { margin: 0; overflow-wrap: anywhere; }
  pre { white-space: pre-wrap; overflow-wrap: anywhere; margin: 0 0 1rem; }
  iframe { width: 100%; height: 20rem; border: 1px solid #ddd; background: #fff; }
`;

/** The page that shows every mail, the newest first. */
export function renderPage(mails: readonly Mail[]): string {
  const articles = mails.toReversed().map(renderMail).join("");
  return `<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>Mail (${mails.length})</title><style>${STYLE}</style></head>
<body>
<h1>Mail</h1>
<p>Mails sent by this machine's application end here; none leaves it.</p>
${articles || "<p>No mail yet.</p>"}
</body>
</html>`;
}

function renderMail(mail: Mail): string {
  const rows = [
    ["From", mail.from],
    ["To", mail.to.join(", ")],
    ["Cc", mail.cc.join(", ")],
    ["Bcc", mail.bcc.join(", ")],
    ["Reply to", mail.reply_to.join(", ")],
    ["Received", mail.created_at],
    ["Idempotency key", mail.idempotency_key ?? ""],
    ["Id", mail.id],
  ].filter(([, value]) => value);
  const list = rows.map(([name, value]) => `<dt>${name}</dt><dd>${escapeHtml(value)}</dd>`);
  // Without any permission in the sandbox no script of a mail runs, and nothing in it reaches us.
  const html = mail.html
    ? `<iframe sandbox title="HTML body" srcdoc="${escapeHtml(mail.html)}"></iframe>`
    : "";
  return `<article>
<h2>${escapeHtml(mail.subject)}</h2>
<dl>${list.join("")}</dl>
${mail.text ? `<pre>${escapeHtml(mail.text)}</pre>` : ""}${html}
</article>`;
}

function escapeHtml(text = ""): string {
  return text
    .replaceAll("&", "&amp;")
    .replaceAll("<", "&lt;")
    .replaceAll(">", "&gt;")
    .replaceAll('"', "&quot;");
}
