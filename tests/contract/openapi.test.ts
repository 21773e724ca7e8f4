import { readFile } from "node:fs/promises";
import { createConfig, lintFromString } from "@redocly/openapi-core";
import { describe, expect, test } from "vitest";
import { openapiDocument, openapiModule } from "../../dev/build/openapi.js";
import { docsPage } from "../../src/http/docs-page.js";
import { OPENAPI_JSON } from "../../src/http/openapi.gen.js";
import { PROBLEMS } from "../../src/http/problem.js";
import { ROUTES } from "../../src/http/routes.js";

describe("the OpenAPI document", () => {
  test("is the one of today's route declarations", async () => {
    const file = new URL("../../src/http/openapi.gen.ts", import.meta.url);
    const isFresh = (await readFile(file, "utf8")) === openapiModule();
    expect(isFresh, "run npm run openapi").toBe(true);
  });

  test("passes a public linter's recommended rules", async () => {
    const config = await createConfig({ extends: ["recommended"] });
    const problems = await lintFromString({
      source: OPENAPI_JSON,
      absoluteRef: "openapi.json",
      config,
    });
    expect(
      problems.map(
        ({ ruleId, message, location }) => `${ruleId}: ${message} ${location[0]?.pointer}`,
      ),
    ).toEqual([]);
  });

  test("has every route, and an example wherever a body is taken", () => {
    const { paths } = openapiDocument() as {
      paths: Record<
        string,
        Record<string, { requestBody?: { content: Record<string, { example?: unknown }> } }>
      >;
    };
    for (const { method, path, body } of ROUTES) {
      const operation = paths[path.replace(/:(\w+)/g, "{$1}")]?.[method.toLowerCase()];
      expect(operation, `${method} ${path}`).toBeDefined();
      if (body)
        expect(
          operation?.requestBody?.content["application/json"]?.example,
          `${method} ${path}`,
        ).toBeDefined();
    }
  });
});

test("the documentation page has a section for every error code that problems link to", async () => {
  const page = await docsPage();
  for (const code of Object.keys(PROBLEMS)) expect(page).toContain(`id="${code}"`);
  expect(page).not.toMatch(/<script|https?:\/\/[^"]*\.(js|css)/);
});

test("the documentation page shows code as code, without the marks around it", async () => {
  const page = await docsPage();
  expect(page).toContain("<code>not_found</code>");
  const prose = page.replace(/<(pre|style)[\s\S]*?<\/\1>/g, "");
  expect(prose).not.toContain("`");
});
