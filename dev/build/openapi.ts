/**
 * Writes the API's OpenAPI document from the declarations that validate requests, and their answers.
 *
 * At build time, since making it at run time would bring zod's JSON Schema code into every bundle.
 * Run: npm run openapi [-- --check]
 */

import { readFile, writeFile } from "node:fs/promises";
import { pathToFileURL } from "node:url";
import type * as z from "zod";
import type { Answer } from "../../src/http/answer.js";
import { acceptedJobSchema } from "../../src/http/answers/accepted.js";
import { jobViewSchema } from "../../src/http/answers/job-view.js";
import { ANSWERS } from "../../src/http/answers.js";
import { jobRequestSchema } from "../../src/http/job-request.js";
import type { RouteDeclaration } from "../../src/http/route.js";
import { ROUTES } from "../../src/http/routes.js";
import { jsonSchema } from "./json-schema.js";
import { EXAMPLES } from "./openapi-examples.js";
import { problemSchema, problems, SHARED_HEADERS, sharedHeader } from "./openapi-problems.js";
import { TAGS } from "./openapi-tags.js";
import { shareParts } from "./share-parts.js";

const FILE = new URL("../../src/http/openapi.gen.ts", import.meta.url);

const DESCRIPTION = `Durable background jobs. Every error is an RFC 9457 problem document with a \`code\` of a closed list.
Create requests carry an \`Idempotency-Key\`: the same request under the same key gets the same answer.`;

/** Builds the document. */
export function openapiDocument(): Record<string, unknown> {
  const paths: Record<string, Record<string, unknown>> = {};
  for (const route of ROUTES) {
    const path = route.path.replace(/:(\w+)/g, "{$1}");
    paths[path] = { ...paths[path], [route.method.toLowerCase()]: operation(route) };
  }
  const responses = shareParts(
    paths,
    "responses",
    (member, part) => /^[45]\d\d$/.test(member) && "content" in part,
    (part, count) => nameOfResponse(part, count),
  );
  const schemas = shareParts(
    responses,
    "schemas",
    (member) => member === "schema" || member === "items",
    (part, count) => NAMED.get(JSON.stringify(part)) ?? `Part${count}`,
  );
  const shared = schemas.root as typeof responses;
  return {
    openapi: "3.1.0",
    info: {
      title: "Antrean",
      version: "1",
      description: DESCRIPTION,
      license: { name: "MIT", identifier: "MIT" },
    },
    // Relative to the document's own address, since a deployment may be mounted under a path.
    servers: [{ url: "..", description: "This deployment" }],
    tags: [...new Set(ROUTES.map(tagOf))].map((name) => ({ name, description: TAGS[name] })),
    paths: shared.root,
    components: {
      headers: SHARED_HEADERS,
      responses: shared.components,
      securitySchemes: {
        apiKey: { type: "http", scheme: "bearer", description: "An API key's secret." },
        qstash: { type: "apiKey", in: "header", name: "Upstash-Signature" },
        cron: { type: "http", scheme: "bearer", description: "CRON_SECRET." },
      },
      schemas: { Problem: problemSchema(), ...schemas.components },
    },
  };
}

/** Shared schemas that deserve a name. */
const NAMED = new Map([
  [JSON.stringify(jsonSchema(jobViewSchema, "output")), "Job"],
  [JSON.stringify(jsonSchema(jobRequestSchema, "input")), "JobRequest"],
  [JSON.stringify(jsonSchema(acceptedJobSchema, "output")), "AcceptedJob"],
]);

/** Named after its codes, which its description lists. */
function nameOfResponse({ description }: Record<string, unknown>, count: number): string {
  const codes = [...String(description).matchAll(/`(\w+)`/g)].map(([, code]) => code);
  return codes.length > 0 && codes.length <= 3 ? codes.join(".") : `Problems${count}`;
}

function operation(route: RouteDeclaration): Record<string, unknown> {
  const parameters = [
    ...parametersOf(route.params, "path"),
    ...parametersOf(route.query, "query"),
    ...(route.operation ? [idempotencyKeyParameter()] : []),
  ];
  const example = EXAMPLES[`${route.method} ${route.path}`];
  return {
    operationId: operationIdOf(route),
    tags: [tagOf(route)],
    summary: route.summary,
    security: securityOf(route),
    ...(parameters.length > 0 && { parameters }),
    ...(route.body && {
      requestBody: {
        required: !route.body.optional,
        content: {
          "application/json": {
            schema: jsonSchema(route.body.schema, "input"),
            ...(example !== undefined && { example }),
          },
        },
      },
    }),
    responses: { ...successes(route), ...problems(route) },
  };
}

function successes({ method, path }: RouteDeclaration): Record<string, unknown> {
  const answers = ANSWERS[`${method} ${path}`];
  if (!answers) throw new Error(`src/http/answers.ts has none for ${method} ${path}`);
  return Object.fromEntries(
    Object.entries(answers).map(([status, answer]) => [
      status,
      {
        description: answer.description,
        headers: { "X-Request-Id": sharedHeader("RequestId"), ...headersOf(answer) },
        ...contentOf(answer),
      },
    ]),
  );
}

function headersOf({ headers = {}, optionalHeaders = {} }: Answer) {
  const described = (texts: Record<string, string>, more: object) =>
    Object.entries(texts).map(([name, description]) => [
      name,
      { description, ...more, schema: { type: "string" } },
    ]);
  return Object.fromEntries([
    ...described(headers, { required: true }),
    ...described(optionalHeaders, {}),
  ]);
}

function contentOf({ schema, mediaType }: Answer) {
  if (schema) return { content: { "application/json": { schema: jsonSchema(schema, "output") } } };
  if (mediaType === undefined) return {};
  const type = mediaType.endsWith("json") ? "object" : "string";
  return { content: { [mediaType]: { schema: { type } } } };
}

function parametersOf(schema: z.core.$ZodType | undefined, place: "path" | "query"): unknown[] {
  if (!schema) return [];
  const { properties = {}, required = [] } = jsonSchema(schema, "input") as {
    properties?: Record<string, { description?: string }>;
    required?: string[];
  };
  return Object.entries(properties).map(([name, { description, ...rest }]) => ({
    name,
    in: place,
    required: place === "path" || required.includes(name),
    ...(description !== undefined && { description }),
    schema: rest,
  }));
}

function idempotencyKeyParameter(): unknown {
  return {
    name: "Idempotency-Key",
    in: "header",
    required: true,
    description: "1 to 255 visible ASCII characters, bare or as a quoted structured-field string.",
    schema: { type: "string", minLength: 1, maxLength: 257 },
  };
}

function securityOf({ role }: RouteDeclaration): Record<string, string[]>[] {
  if (role === "none") return [];
  if (role === "signed") return [{ qstash: [] }];
  if (role === "cron") return [{ qstash: [] }, { cron: [] }];
  return [{ apiKey: [] }];
}

function operationIdOf({ method, path }: RouteDeclaration): string {
  const words = path
    .replace(/^\/api\//, "")
    .split(/[/:._-]+/)
    .filter(Boolean);
  return [
    method.toLowerCase(),
    ...words.map((word) => word[0]?.toUpperCase() + word.slice(1)),
  ].join("");
}

function tagOf({ path }: RouteDeclaration): string {
  return path.split("/")[2] ?? "api";
}

/** Gives the text of the generated module. */
export function openapiModule(): string {
  const text = JSON.stringify(openapiDocument());
  return [
    "// Generated by dev/build/openapi.ts from the route declarations: npm run openapi",
    "",
    "/** The OpenAPI document as it is sent. */",
    `export const OPENAPI_JSON = ${JSON.stringify(text)};`,
    "",
  ].join("\n");
}

async function main(): Promise<void> {
  const text = openapiModule();
  if (!process.argv.includes("--check")) {
    await writeFile(FILE, text);
    return;
  }
  if ((await readFile(FILE, "utf8")) === text) return;
  console.error("src/http/openapi.gen.ts is not that of the route declarations: npm run openapi");
  process.exitCode = 1;
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) await main();
