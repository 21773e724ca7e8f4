/**
 * Writes the API's OpenAPI document from the declarations that validate requests.
 *
 * At build time, since making it at run time would bring zod's JSON Schema code into every bundle.
 * Run: npm run openapi [-- --check]
 */

import { readFile, writeFile } from "node:fs/promises";
import { pathToFileURL } from "node:url";
import * as z from "zod";
import { acceptedJobSchema } from "../../src/http/accepted.js";
import { jobRequestSchema } from "../../src/http/job-request.js";
import { jobViewSchema } from "../../src/http/job-view.js";
import { PROBLEMS, type ProblemCode } from "../../src/http/problem.js";
import type { RouteDeclaration } from "../../src/http/route.js";
import { ROUTES } from "../../src/http/routes.js";
import { EXAMPLES } from "./openapi-examples.js";
import { TAGS } from "./openapi-tags.js";
import { shareParts } from "./share-parts.js";

const FILE = new URL("../../src/http/openapi.gen.ts", import.meta.url);

const DESCRIPTION = `Durable background jobs. Every error is an RFC 9457 problem document with a \`code\` of a closed list.
Create requests carry an \`Idempotency-Key\`: the same request under the same key gets the same answer.`;

/** Problems that a declaration implies, besides those that its handler names. */
function impliedProblems(route: RouteDeclaration): ProblemCode[] {
  // Every path refuses query parameters that it does not know.
  const codes: ProblemCode[] = ["internal", "invalid_query"];
  if (route.role !== "none") codes.push("unauthorized", "store_unavailable");
  if (["read", "write", "admin"].includes(route.role)) codes.push("forbidden");
  if (route.params) codes.push("not_found");
  if (route.body) {
    codes.push(
      "malformed_json",
      "payload_too_large",
      "unsupported_media_type",
      "validation_failed",
    );
  }
  if (route.operation) codes.push("idempotency_key_missing", "idempotency_key_invalid");
  return codes;
}

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

function successes(route: RouteDeclaration): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(route.responses).map(([status, { description, schema, headers }]) => [
      status,
      {
        description,
        headers: {
          ...requestIdHeader,
          ...Object.fromEntries(
            Object.entries(headers ?? {}).map(([name, text]) => [
              name,
              { description: text, schema: { type: "string" } },
            ]),
          ),
        },
        ...(schema && {
          content: { "application/json": { schema: jsonSchema(schema, "output") } },
        }),
      },
    ]),
  );
}

/** One response a status; its description lists the codes that it can carry. */
function problems(route: RouteDeclaration): Record<string, unknown> {
  const byStatus = new Map<number, ProblemCode[]>();
  for (const code of new Set([...impliedProblems(route), ...(route.problems ?? [])])) {
    const { status } = PROBLEMS[code];
    byStatus.set(status, [...(byStatus.get(status) ?? []), code]);
  }
  return Object.fromEntries(
    [...byStatus].map(([status, codes]) => [
      String(status),
      {
        description: codes.map((code) => `\`${code}\`: ${PROBLEMS[code].title}.`).join(" "),
        headers: {
          ...requestIdHeader,
          ...(codes.some((code) => "retryAfterSeconds" in PROBLEMS[code]) && {
            "Retry-After": { description: "Seconds to wait.", schema: { type: "integer" } },
          }),
        },
        content: {
          "application/problem+json": { schema: { $ref: "#/components/schemas/Problem" } },
        },
      },
    ]),
  );
}

const requestIdHeader = {
  "X-Request-Id": { description: "Finds the request in the logs.", schema: { type: "string" } },
};

function problemSchema(): unknown {
  return jsonSchema(
    z.object({
      type: z.url().describe("Where this code is described."),
      title: z.string(),
      status: z.int(),
      detail: z.string(),
      code: z.enum(Object.keys(PROBLEMS) as [ProblemCode, ...ProblemCode[]]),
      requestId: z.string(),
      errors: z
        .array(
          z.object({
            pointer: z.string().describe("JSON Pointer as a URI fragment: #/payload/to"),
            detail: z.string(),
          }),
        )
        .optional(),
    }),
    "output",
  );
}

function parametersOf(schema: z.ZodObject | undefined, place: "path" | "query"): unknown[] {
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

function jsonSchema(schema: z.ZodType, io: "input" | "output"): Record<string, unknown> {
  const { $schema: _, ...rest } = z.toJSONSchema(schema, {
    io,
    unrepresentable: "any",
    // A format says it better than its pattern, and every integer here is a safe one.
    override: ({ jsonSchema: made }) => {
      if (made.format !== undefined) delete made.pattern;
      if (made.minimum === Number.MIN_SAFE_INTEGER) delete made.minimum;
      if (made.maximum === Number.MAX_SAFE_INTEGER) delete made.maximum;
    },
  });
  return rest;
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
