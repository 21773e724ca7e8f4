import { RECOVERY_SCENARIOS } from "../support/crash-scenarios.js";
import { crashSweep } from "../support/crash-sweep.js";

crashSweep("crash sweep of recovery and operators", RECOVERY_SCENARIOS);
