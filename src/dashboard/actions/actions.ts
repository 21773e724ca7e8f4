/** Every change that the dashboard can make. */

import type { Action } from "../visit.js";
import { JOB_ACTIONS } from "./job-actions.js";
import { replayDeadLetters } from "./replay-dead-letters.js";
import { SCHEDULE_ACTIONS } from "./schedule-actions.js";
import { TYPE_ACTIONS } from "./type-actions.js";

export const ACTIONS: readonly Action[] = [
  ...JOB_ACTIONS,
  replayDeadLetters,
  ...SCHEDULE_ACTIONS,
  ...TYPE_ACTIONS,
];
