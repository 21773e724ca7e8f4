import { JOB_SCENARIOS } from "../support/crash-scenarios.js";
import { crashSweep } from "../support/crash-sweep.js";

crashSweep("crash sweep of the path of a job", JOB_SCENARIOS);
