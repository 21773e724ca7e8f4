/** The frame of every page. */

import type { Child } from "hono/jsx";
import { assetPath } from "../assets.js";
import { noticeOf } from "../notices.js";
import type { Html, Section, Visit } from "../visit.js";

const SECTIONS: readonly [Section, string][] = [
  ["", "Overview"],
  ["jobs", "Jobs"],
  ["dead-letters", "Dead letters"],
  ["schedules", "Schedules"],
  ["types", "Types"],
];

/** How soon the script looks again at what has just changed; the charts cost more than a list. */
const POLL_SECONDS = { list: 3, overview: 10 } as const;

/** A page around its content, without anything that needs a session. */
export function Document(props: { base: string; title: string; children?: Child }): Html {
  const { base, title } = props;
  return (
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="color-scheme" content="light dark" />
        <title>{`${title} · Antrean`}</title>
        <link rel="icon" href={assetPath(base, "icon")} />
        <link rel="stylesheet" href={assetPath(base, "style")} />
        <script src={assetPath(base, "script")} defer />
      </head>
      <body>{props.children}</body>
    </html>
  );
}

/** A page of somebody who is signed in; the script keeps `main` up to date. */
export function Layout(props: {
  visit: Visit;
  title: string;
  section: Section;
  children?: Child;
}): Html {
  const { visit, section } = props;
  const { base, query, actor, role } = visit;
  const notice = noticeOf(query);
  return (
    <Document base={base} title={props.title}>
      <a class="skip" href="#main">
        Skip to content
      </a>
      <header>
        <a class="brand" href={base}>
          Antrean
        </a>
        <nav class="tabs" aria-label="Dashboard">
          {SECTIONS.map(([path, name]) => (
            <a
              href={path ? `${base}/${path}` : base}
              aria-current={path === section ? "page" : undefined}
            >
              {name}
            </a>
          ))}
        </nav>
        <div class="who">
          <button type="button" id="live" class="quiet" hidden aria-pressed="true">
            Live
          </button>
          <span class="soft">
            {actor.keyName} <span class="tag">{role}</span>
          </span>
          <form method="post" action={`${base}/logout`}>
            <input type="hidden" name="csrf" value={visit.csrfToken} />
            <button type="submit" class="quiet">
              Sign out
            </button>
          </form>
        </div>
      </header>
      <p id="trouble" role="status" />
      {notice && (
        <p class={`notice ${notice.tone}`} role="status">
          {notice.text}
        </p>
      )}
      <main id="main" tabindex={-1} data-poll={section ? POLL_SECONDS.list : POLL_SECONDS.overview}>
        {props.children}
      </main>
    </Document>
  );
}
