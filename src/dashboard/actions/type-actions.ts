/** Holds a job type back, or lets it go on. */

import { setPaused } from "../../engine/pause.js";
import { withNotice } from "../notices.js";
import type { Action } from "../visit.js";

const typeSwitch = (verb: "pause" | "resume"): Action => ({
  path: `/types/:type/${verb}`,
  role: "admin",
  async act({ ports, actor, params }, { reason }) {
    const { type = "" } = params;
    if (!ports.registry.has(type)) return undefined;
    await setPaused(ports, actor, type, verb === "pause", reason);
    return withNotice("/types", verb === "pause" ? "paused" : "resumed");
  },
});

export const TYPE_ACTIONS: readonly Action[] = [typeSwitch("pause"), typeSwitch("resume")];
