/** Asks whether the database and QStash agree about messages, dead letters and schedules. */

import type { Config } from "../../config.js";
import { openSides } from "../reconcile.js";
import type { Session } from "../session.js";
import type { Finding } from "./finding.js";

/** Compares without repairing. */
export async function checkReconcile(session: Session, config: Config): Promise<Finding> {
  const check = "reconcile";
  try {
    const { differences } = await (await openSides(session, config)).compare();
    if (differences.length === 0) {
      return { check, state: "ok", detail: "the database and QStash agree" };
    }
    const kinds = [...new Set(differences.map(({ kind }) => kind))].join(", ");
    const { length } = differences;
    const detail = `${length} difference${length === 1 ? "" : "s"}: ${kinds}`;
    return { check, state: "warning", detail, advice: "Run antrean reconcile." };
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    return { check, state: "fault", detail: `could not be compared: ${reason}` };
  }
}
