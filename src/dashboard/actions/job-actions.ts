/** Changes of one job. */

import { JSON_DEPTH_MAX, parseExactJson } from "../../core/exact-json.js";
import { EFFECT_NAME_PATTERN, type Json } from "../../core/job.js";
import type { Settlement } from "../../core/operations.js";
import { cancel } from "../../engine/cancel.js";
import { replay } from "../../engine/replay.js";
import { runNow } from "../../engine/run-now.js";
import { settle } from "../../engine/settle.js";
import { withNotice } from "../notices.js";
import type { Action, Refusal, Visit } from "../visit.js";

const idOf = ({ params }: Visit): string => params.id ?? "";

const cancelJob: Action = {
  path: "/jobs/:id/cancel",
  role: "write",
  async act(visit, { actionId, reason }) {
    const { ports, actor } = visit;
    const { kind } = await cancel(ports, actor, idOf(visit), reason, actionId);
    if (kind === "not_found") return undefined;
    return withNotice(`/jobs/${idOf(visit)}`, kind === "requested" ? "cancel_requested" : kind);
  },
};

const replayJob: Action = {
  path: "/jobs/:id/replay",
  role: "write",
  async act(visit, { fields, actionId, reason }) {
    const { ports, actor } = visit;
    const { payload, faults } = readPayload(fields.get("payload") ?? "");
    if (faults.length > 0) return refusalOf(faults);
    const outcome = await replay(ports, actor, idOf(visit), { reason, payload }, actionId);
    switch (outcome.kind) {
      case "refused":
        return refusalOf(
          outcome.issues.map(({ path, message }) => `${path.join(".")}: ${message}`),
        );
      case "replayed":
      case "not_replayable":
        return withNotice(`/jobs/${idOf(visit)}`, outcome.kind);
      case "dedupe_conflict":
        return withNotice(`/jobs/${outcome.activeJobId}`, "dedupe_conflict");
      default:
        return undefined;
    }
  },
};

/** Reads what replaces the payload; from an empty field nothing. */
function readPayload(text: string): { payload?: Json; faults: string[] } {
  if (text.trim() === "") return { faults: [] };
  const parsed = parseExactJson(text, JSON_DEPTH_MAX);
  if (!parsed.ok) return { faults: [`it is not JSON: ${parsed.detail}`] };
  const faults = parsed.faults.map(({ pointer, detail }) => `${pointer}: ${detail}`);
  return { payload: parsed.value, faults };
}

function refusalOf(faults: string[]): Refusal {
  return {
    detail: `Nothing was changed. Go back and correct the payload: ${faults.join("; ")}.`,
  };
}

const runJobNow: Action = {
  path: "/jobs/:id/run-now",
  role: "write",
  async act(visit, { actionId, reason }) {
    const { ports, actor } = visit;
    const { kind } = await runNow(ports, actor, idOf(visit), reason, actionId);
    return kind === "not_found" ? undefined : withNotice(`/jobs/${idOf(visit)}`, kind);
  },
};

const settleEffect: Action = {
  path: "/jobs/:id/effects/:name/settle",
  role: "write",
  async act(visit, { fields, actionId, reason }) {
    const { ports, actor, params } = visit;
    const name = params.name ?? "";
    const outcome = fields.get("outcome");
    if (!EFFECT_NAME_PATTERN.test(name)) return undefined;
    const page = `/jobs/${idOf(visit)}`;
    if (reason === null || (outcome !== "done" && outcome !== "not_done")) {
      return withNotice(page, "reason_missing");
    }
    const settlement: Settlement = outcome === "done" ? { outcome, result: null } : { outcome };
    const effect = { jobId: idOf(visit), name };
    const { kind } = await settle(ports, actor, effect, settlement, reason, actionId);
    return kind === "not_found" ? undefined : withNotice(page, kind);
  },
};

export const JOB_ACTIONS: readonly Action[] = [cancelJob, replayJob, runJobNow, settleEffect];
