/** The documentation page's style sheet. */

export const DOCS_CSS = `
:root { color-scheme: light dark; --paper: #fff; --ink: #15181d; --line: #d8dade; --soft: #5b616b; --code: #f3f4f6; --accent: #0b5cad; }
@media (prefers-color-scheme: dark) {
  :root { --paper: #12151a; --ink: #e8eaed; --line: #363b44; --soft: #a2a9b4; --code: #1d2128; --accent: #7db7f5; }
}
body { font: 16px/1.55 system-ui, sans-serif; max-width: 60rem; margin: 0 auto; padding: 1.5rem; background: var(--paper); color: var(--ink); }
h1 { margin: 0 0 .25rem; } h2 { margin: 2.5rem 0 .5rem; border-bottom: 1px solid var(--line); }
h3 { margin: 1.5rem 0 .25rem; font-size: 1rem; }
p, li { overflow-wrap: anywhere; } a { color: var(--accent); }
code, pre { font: 13px/1.5 ui-monospace, monospace; background: var(--code); border-radius: 4px; }
code { padding: .1em .35em; overflow-wrap: anywhere; } pre { padding: .75rem; white-space: pre-wrap; overflow-wrap: anywhere; }
.soft { color: var(--soft); } .method { display: inline-block; min-width: 4rem; font-weight: 700; }
table { border-collapse: collapse; width: 100%; }
td, th { text-align: left; overflow-wrap: break-word; vertical-align: top; padding: .3rem .75rem .3rem 0; border-bottom: 1px solid var(--line); }
td:first-child { font-variant-numeric: tabular-nums; }
:target { background: color-mix(in srgb, var(--accent) 15%, transparent); }
`;
