/** The OpenAPI document as a page; error codes have anchors, since problem documents link to them. */

import { html } from "hono/html";
import { OPENAPI_JSON } from "./openapi.gen.js";
import { PROBLEMS } from "./problem.js";

interface Operation {
  summary: string;
  tags: string[];
  parameters?: {
    name: string;
    in: string;
    required: boolean;
    description?: string;
    schema: unknown;
  }[];
  requestBody?: { content: Record<string, { schema: unknown; example?: unknown }> };
  responses: Record<string, Description | { $ref: string }>;
}

interface Description {
  description: string;
}

interface Document {
  info: { title: string; description: string };
  tags: { name: string }[];
  paths: Record<string, Record<string, Operation>>;
  components: { responses: Record<string, Description>; schemas: Record<string, unknown> };
}

type Html = ReturnType<typeof html>;

/** Renders the page; every value is escaped by the template. */
export async function docsPage(): Promise<string> {
  const { info, tags, paths, components } = JSON.parse(OPENAPI_JSON) as Document;
  const operations = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ method, path, operation })),
  );
  const sections = tags.map(
    ({ name }) => html`<h2 id="${name}">${name}</h2>
      ${operations
        .filter(({ operation }) => operation.tags.includes(name))
        .map(({ method, path, operation }) => operationPart(method, path, operation, components))}`,
  );
  const page = html`<!doctype html>
<html lang="en">
<head>
  <meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
  <title>${info.title} API</title><link rel="stylesheet" href="docs.css">
</head>
<body>
  <main>
    <h1>${info.title} API</h1>
    <p class="soft">${prose(info.description)}</p>
    <p><a href="openapi.json">OpenAPI document</a> · ${tags.map(
      ({ name }) => html`<a href="#${name}">${name}</a> `,
    )}· <a href="#errors">errors</a></p>
    ${sections}
    <h2 id="schemas">schemas</h2>
    ${Object.entries(components.schemas).map(
      ([name, schema]) =>
        html`<details id="${name}"><summary>${name}</summary><pre>${JSON.stringify(schema, null, 2)}</pre></details>`,
    )}
    <h2 id="errors">errors</h2>
    <table>
      <tr><th>Status</th><th>Code</th><th>Meaning</th></tr>
      ${Object.entries(PROBLEMS).map(
        ([code, { status, title }]) =>
          html`<tr id="${code}"><td>${status}</td><td><code>${code}</code></td><td>${title}</td></tr>`,
      )}
    </table>
  </main>
</body>
</html>`;
  return String(await page);
}

function operationPart(
  method: string,
  path: string,
  operation: Operation,
  { responses }: Document["components"],
): Html {
  const body = operation.requestBody?.content["application/json"];
  return html`<h3><span class="method">${method.toUpperCase()}</span> <code>${path}</code></h3>
    <p>${prose(operation.summary)}</p>
    ${operation.parameters && parameterTable(operation.parameters)}
    ${body?.example !== undefined && html`<pre>${JSON.stringify(body.example, null, 2)}</pre>`}
    ${body && html`<details><summary>Body schema</summary><pre>${JSON.stringify(body.schema, null, 2)}</pre></details>`}
    <table>${Object.entries(operation.responses).map(
      ([status, response]) =>
        html`<tr><td>${status}</td><td>${prose(descriptionOf(response, responses))}</td></tr>`,
    )}</table>`;
}

function descriptionOf(
  response: Description | { $ref: string },
  shared: Record<string, Description>,
): string {
  if ("description" in response) return response.description;
  return shared[response.$ref.split("/").at(-1) ?? ""]?.description ?? "";
}

function parameterTable(parameters: NonNullable<Operation["parameters"]>): Html {
  return html`<table>${parameters.map(
    ({ name, in: place, required, description }) =>
      html`<tr><td><code>${name}</code></td><td>${place}${required ? ", required" : ""}</td><td>${prose(description ?? "")}</td></tr>`,
  )}</table>`;
}

/** What stands between backticks is code. */
function prose(text: string): (string | Html)[] {
  return text.split("`").map((part, at) => (at % 2 === 1 ? html`<code>${part}</code>` : part));
}
