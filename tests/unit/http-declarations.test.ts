import { describe, expect, test } from "vitest";
import * as z from "zod";
import { ANSWERS } from "../../src/http/answers.js";
import type { Route } from "../../src/http/route.js";
import { ROUTES } from "../../src/http/routes.js";

const nameOf = ({ method, path }: Route): string => `${method} ${path}`;

describe("the declarations of routes", () => {
  test("name each method of a path once", () => {
    const names = ROUTES.map(nameOf);
    expect(new Set(names).size).toBe(names.length);
  });

  test("have their answers, and no answers are left without a route", () => {
    expect(Object.keys(ANSWERS).toSorted()).toEqual(ROUTES.map(nameOf).toSorted());
  });

  test("give each operation its own name, so that its keys are its own", () => {
    const operations = ROUTES.flatMap(({ operation }) => operation ?? []);
    expect(operations).toEqual(["create_job", "create_batch"]);
  });

  test.each(ROUTES)("can be described: $method $path", (route) => {
    const sent = [route.params, route.query, route.body?.schema].filter(
      (each) => each !== undefined,
    );
    for (const schema of sent) expect(() => z.toJSONSchema(schema, { io: "input" })).not.toThrow();
    for (const { schema } of Object.values(ANSWERS[nameOf(route)] ?? {})) {
      if (schema) expect(() => z.toJSONSchema(schema)).not.toThrow();
    }
    const parameters = [...route.path.matchAll(/:(\w+)/g)].map(([, name]) => name);
    expect(Object.keys(route.params?.shape ?? {})).toEqual(parameters);
  });
});
