/** `antrean migrate`: brings the database to the newest migration of this package. */

import type { Command } from "commander";
import type { Action } from "../session.js";

export function addMigrate(program: Command, action: Action): void {
  program
    .command("migrate")
    .description("Apply the migrations that the database lacks (DATABASE_URL)")
    .action(
      action(async (session) => {
        const applied = await session.io.migrate(session.env);
        session.show({ applied }, () =>
          applied.length > 0 ? `Applied ${applied.join(", ")}.\n` : "Nothing to apply.\n",
        );
      }),
    );
}
