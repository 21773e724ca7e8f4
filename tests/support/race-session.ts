/** The production statements on a session of the test, so that a race can be stopped half-way. */

import type { SQL } from "drizzle-orm";
import type pg from "pg";
import { nameOf } from "../../dev/neon/sessions.js";
import type { Store } from "../../src/core/ports.js";
import type { Database } from "../../src/storage/client.js";
import { pgRefusalOf, StatementRefusedError } from "../../src/storage/pg-error.js";
import { createStore } from "../../src/storage/store.js";
import { toQuery } from "../../src/storage/to-query.js";

/** Turns a piece of a production statement into something else; a control takes its guard away. */
export interface Edit {
  /** The comment that the statement opens with. */
  statement: string;
  /** Every occurrence of a text, or the first match of a pattern. It must be there. */
  cut?: string | RegExp;
  /** Nothing by default; with a pattern, `$<name>` puts back a part of it. */
  into?: string;
  /** Called before the statement is sent, which waits for it. */
  pause?: () => Promise<unknown>;
}

/** Stops a session before it sends a statement. */
export function pauseBefore(statement: string) {
  const reached = Promise.withResolvers<void>();
  const resumed = Promise.withResolvers<void>();
  const edit: Edit = {
    statement,
    pause() {
      reached.resolve();
      return resumed.promise;
    },
  };
  return { edit, reached: reached.promise, resume: () => resumed.resolve() };
}

/** The production store on sessions of the test; a batch has no transaction of its own. */
export function storeOn(client: pg.ClientBase | pg.Pool, edits: Edit[] = []): Store {
  const run = async <Row>(statement: SQL): Promise<Row[]> => {
    const { sql: text, params } = toQuery(statement);
    try {
      const ownEdits = edits.filter((edit) => text.startsWith(`/* ${edit.statement} */`));
      for (const { pause } of ownEdits) await pause?.();
      const sent = edited(text, ownEdits);
      // Named, it is planned once for each session.
      return (await client.query({ name: nameOf(sent), text: sent, values: params })).rows;
    } catch (error) {
      const refusal = pgRefusalOf(error);
      throw refusal ? new StatementRefusedError(refusal, { cause: error }) : error;
    }
  };
  const database: Database = {
    run,
    async batch(statements) {
      const results: unknown[][] = [];
      for (const statement of statements) results.push(await run(statement));
      return results as never;
    },
  };
  return createStore(database);
}

function edited(text: string, edits: Edit[]): string {
  let result = text;
  for (const { statement, cut, into = "" } of edits) {
    if (cut === undefined) continue;
    const before = result;
    result =
      typeof cut === "string" ? before.replaceAll(cut, () => into) : before.replace(cut, into);
    if (result === before) throw new Error(`${statement} has no "${cut}", so nothing was edited`);
  }
  return result;
}

/** A transaction of the test with the production store in it. */
export interface OpenTransaction {
  store: Store;
  client: pg.ClientBase;
  commit(): Promise<void>;
  rollback(): Promise<void>;
}

/** Begins a transaction; ending it a second time does nothing. */
export async function openTransaction(pool: pg.Pool, edits: Edit[] = []): Promise<OpenTransaction> {
  const client = await pool.connect();
  let open = true;
  const end = async (command: "commit" | "rollback") => {
    if (!open) return;
    open = false;
    await client.query(command);
    client.release();
  };
  await client.query("begin");
  return {
    store: storeOn(client, edits),
    client,
    commit: () => end("commit"),
    rollback: () => end("rollback"),
  };
}
