/** What is more than the stand-in takes, or than Neon sends, in one request. */

import { type NeonQueryFunction, neon } from "@neondatabase/serverless";
import { afterAll, beforeAll, expect, test } from "vitest";
import { configureEndpoint } from "../../src/storage/client.js";
import { type TestDatabase, takeTestDatabase } from "../support/database.js";

let database: TestDatabase;
let sql: NeonQueryFunction<false, false>;
beforeAll(async () => {
  database = await takeTestDatabase();
  configureEndpoint(database.url, database.neon.endpoint);
  sql = neon(database.url);
});
afterAll(() => database.release());

/** Rows of a bit more than 1 MiB each. */
const mebibytes = (count: number) =>
  sql`select repeat('x', 1024 * 1024 + 1) from generate_series(1, ${count}::int)`;

test("a body of more than 10 MiB is refused", async () => {
  await expect(sql`select ${"x".repeat(10 * 1024 * 1024)}`).rejects.toThrow("HTTP status 413");
});

test("an answer of more than 64 MiB is refused", async () => {
  expect(await mebibytes(11)).toHaveLength(11);
  await expect(mebibytes(64)).rejects.toThrow(/HTTP status 507.+max is 67108864 bytes/);
});

test("a batch whose answers are more than 64 MiB together is refused and undone", async () => {
  await sql`insert into type_state (job_type) values ('test.kept')`;
  const batch = [sql`delete from type_state`, mebibytes(32), mebibytes(32)];
  await expect(sql.transaction(batch)).rejects.toThrow("HTTP status 507");
  expect(await sql`select job_type from type_state`).toEqual([{ job_type: "test.kept" }]);
});
