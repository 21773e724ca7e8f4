/** Holds an application's answers to the OpenAPI document that it gives out. */

import { getPath } from "hono/utils/url";
import * as z from "zod";
import { OPENAPI_JSON } from "../../src/http/openapi.gen.js";

type Fetch = (request: Request) => Promise<Response>;
type JsonSchema = Parameters<typeof z.fromJSONSchema>[0];

interface DocumentedHeader {
  required?: boolean;
  schema: Exclude<JsonSchema, boolean>;
}

interface DocumentedResponse {
  description: string;
  headers?: Record<string, DocumentedHeader | Reference>;
  content?: Record<string, { schema: JsonSchema }>;
}

interface Reference {
  $ref: string;
}

export interface Operation {
  parameters?: { name: string; in: string; required: boolean }[];
  requestBody?: { required: boolean; content: Record<string, { example?: unknown }> };
  responses: Record<string, DocumentedResponse | Reference>;
}

export interface OpenapiDocument {
  paths: Record<string, Record<string, Operation>>;
  components: Record<"responses" | "schemas" | "headers", Record<string, unknown>>;
}

export const DOCUMENT = JSON.parse(OPENAPI_JSON) as OpenapiDocument;

/** What any answer may carry; everything else is part of an operation. */
const COMMON_HEADERS =
  /^(?:content-type|content-length|cache-control|x-content-type-options|vary|access-control-.+|content-security-policy|allow)$/;

/** Pages for people, which are no part of the API. */
const PAGES = /^\/dashboard(?:\/|$)/;

/** Paths without parameters come first, as the router has it. */
const PATHS = Object.entries(DOCUMENT.paths)
  .map(([path, operations]) => ({
    pattern: new RegExp(`^${path.replace(/[.]/g, "\\.").replace(/\{\w+\}/g, "[^/]+")}$`),
    parameters: path.split("{").length,
    operations,
  }))
  .sort((a, b) => a.parameters - b.parameters);

/** Answers to requests that are no operation. */
const UNMATCHED = problem("not_found", ["X-Request-Id"]);
const WRONG_METHOD = problem("method_not_allowed", ["X-Request-Id", "Allow"]);
const OPTIONS: DocumentedResponse = { ...WRONG_METHOD, content: {} };

function problem(code: string, names: string[]): DocumentedResponse {
  const header: DocumentedHeader = { required: true, schema: { type: "string" } };
  const schema = { $ref: "#/components/schemas/Problem" };
  return {
    description: `\`${code}\``,
    headers: Object.fromEntries(names.map((name) => [name, header])),
    content: { "application/problem+json": { schema } },
  };
}

/** Wraps an application; what the document does not say of an answer is added to `faults`. */
export function heldToDocument(fetch: Fetch, faults: Set<string>): Fetch {
  return async (request) => {
    const { method, url } = request;
    const response = await fetch(request);
    const found = await faultsOf(method, getPath({ url } as Request), response.clone());
    for (const fault of found) faults.add(`${method} ${url} ${response.status}: ${fault}`);
    return response;
  };
}

async function faultsOf(method: string, path: string, response: Response): Promise<string[]> {
  if (PAGES.test(path)) return [];
  const documented = documentedResponse(method, path, response.status);
  if (!documented) return ["the document has no such status"];
  return [
    ...headerFaults(documented, response.headers),
    ...(await contentFaults(documented, method, response)),
  ];
}

function documentedResponse(
  method: string,
  path: string,
  status: number,
): DocumentedResponse | undefined {
  const operations = PATHS.find(({ pattern }) => pattern.test(path))?.operations;
  if (!operations) return status === 404 ? UNMATCHED : undefined;
  if (method === "OPTIONS") return status === 204 ? OPTIONS : undefined;
  const operation = operations[(method === "HEAD" ? "GET" : method).toLowerCase()];
  if (!operation) return status === 405 ? WRONG_METHOD : undefined;
  const response = operation.responses[status];
  return response && resolve(response);
}

function headerFaults({ headers = {} }: DocumentedResponse, given: Headers): string[] {
  const faults: string[] = [];
  const known = Object.entries(headers).map(([name, each]) => [name, resolve(each)] as const);
  for (const [name, { required, schema }] of known) {
    const value = given.get(name);
    if (value === null && required) faults.push(`${name} is missing`);
    if (value === null) continue;
    const read = schema.type === "integer" ? Number(value) : value;
    faults.push(...schemaFaults(schema, read).map((fault) => `${name}: ${fault}`));
  }
  const names = known.map(([name]) => name.toLowerCase());
  for (const name of given.keys()) {
    if (!names.includes(name) && !COMMON_HEADERS.test(name)) faults.push(`${name} is undocumented`);
  }
  return faults;
}

async function contentFaults(
  { content = {}, description }: DocumentedResponse,
  method: string,
  response: Response,
): Promise<string[]> {
  const text = await response.text();
  const mediaType = response.headers.get("content-type")?.split(";")[0] ?? "";
  const documented = content[mediaType];
  if (!documented) {
    const isNothing = Object.keys(content).length === 0 && text === "" && mediaType === "";
    return isNothing ? [] : [`content of the type "${mediaType}" is undocumented`];
  }
  // What answers for the platform leaves the body of a HEAD away.
  if (method === "HEAD" && text === "") return [];
  const value: unknown = /json$/.test(mediaType) ? JSON.parse(text) : text;
  const faults = schemaFaults(documented.schema, value);
  if (mediaType !== "application/problem+json") return faults;
  return [...faults, ...problemFaults(value as Record<string, unknown>, description, response)];
}

/** A problem's code is one of those in the description of its status. */
function problemFaults(
  { code, status, requestId }: Record<string, unknown>,
  description: string,
  response: Response,
): string[] {
  const faults: string[] = [];
  if (!description.includes(`\`${code}\``)) faults.push(`the code ${code} is undocumented here`);
  if (status !== response.status) faults.push(`the status in the body is ${status}`);
  if (requestId !== response.headers.get("x-request-id")) faults.push("the requestId is another");
  return faults;
}

const compiled = new Map<unknown, z.ZodType>();

function schemaFaults(schema: JsonSchema, value: unknown): string[] {
  const made = compiled.get(schema) ?? compile(schema);
  compiled.set(schema, made);
  const { error } = made.safeParse(value);
  return error ? [z.prettifyError(error)] : [];
}

/** References are told apart by their last word, which is unique among schemas. */
function compile(schema: JsonSchema): z.ZodType {
  const whole = { ...(schema as object), $defs: DOCUMENT.components.schemas };
  const text = JSON.stringify(whole).replaceAll('"#/components/schemas/', '"#/$defs/');
  return z.fromJSONSchema(JSON.parse(text) as JsonSchema);
}

function resolve<Part extends object>(part: Part | Reference): Part {
  if (!("$ref" in part)) return part;
  const [, , group = "", name = ""] = part.$ref.split("/");
  return DOCUMENT.components[group as "responses"][name] as Part;
}
