import { JOB_SCENARIOS, RECOVERY_SCENARIOS } from "../support/crash-scenarios.js";
import { crashControls, crashManyTimes } from "../support/crash-sweep.js";

crashManyTimes("crashes upon crashes", [...JOB_SCENARIOS, ...RECOVERY_SCENARIOS], 12);
crashControls();
