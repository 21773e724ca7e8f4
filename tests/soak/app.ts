/** One application process of a soak: the production application with the soak's job types. */

import { once } from "node:events";
import type { Server } from "node:http";
import type { AddressInfo } from "node:net";
import { serve } from "@hono/node-server";
import { compose } from "../../src/compose.js";
import { readConfig } from "../../src/config.js";
import type { Timers } from "../../src/core/ports.js";
import { webPlatform } from "../../src/entry/platform.js";
import { soakJobs } from "./jobs.js";
import { openJournal } from "./journal.js";
import { witnessed } from "./witness.js";

const { SOAK_JOURNAL = "", SOAK_SPEED = "1", SOAK_PROCESS = "?", ...env } = process.env;
const speed = Number(SOAK_SPEED);

/** Whatever waits for the other clocks goes as fast as they do. */
const timers: Timers = {
  sleep: (milliseconds, signal) => webPlatform.timers.sleep(milliseconds / speed, signal),
};

const journal = openJournal(SOAK_JOURNAL);

function writeLog(line: string): void {
  const { event, ...fields } = JSON.parse(line) as Record<string, unknown>;
  if (event === "request_failed" && fields.code === "internal") {
    journal.write({ is: "complaint", process: SOAK_PROCESS, text: line });
  }
  if (event !== "sweep_finished") return;
  const counts: Record<string, number> = { sweeps: 1 };
  for (const [name, value] of Object.entries(fields)) {
    if (typeof value === "number" && name !== "seconds") counts[name] = value;
  }
  journal.write({ is: "swept", counts });
}

const jobs = soakJobs({ processName: SOAK_PROCESS, journal, timers, speed });
const antrean = compose(readConfig(env, "node"), new Map(jobs.map((job) => [job.type, job])), {
  outboundFetch: fetch,
  timers,
  random: Math.random,
  writeLog,
  wrap: { store: (store) => witnessed(store, journal, SOAK_PROCESS) },
});

process.on("unhandledRejection", (reason) => {
  const text = reason instanceof Error ? (reason.stack ?? reason.message) : String(reason);
  journal.write({ is: "complaint", process: SOAK_PROCESS, text: `unhandled: ${text}` });
});
// Never outlives the soak.
process.once("disconnect", () => process.exit());

const server = serve({
  fetch: (request) => antrean.fetch(request),
  port: 0,
  hostname: "127.0.0.1",
  overrideGlobalObjects: false,
}) as Server;
await once(server, "listening");
journal.write({ is: "boot", process: SOAK_PROCESS });
process.send?.({ port: (server.address() as AddressInfo).port });
