/** `antrean jobs create`: one job, or a file of them. */

import { randomUUID } from "node:crypto";
import type { Command } from "commander";
import type { AcceptedJob } from "../../client/client.js";
import { FailedError, UsageError } from "../io.js";
import { jobText } from "../job-text.js";
import { requireJsonText, withJson } from "../json-input.js";
import { loadJobs } from "../load-jobs.js";
import { seconds, wholeNumber } from "../parse-option.js";
import type { Action, Session } from "../session.js";

interface CreateOptions {
  payload?: string;
  file?: string;
  priority?: number;
  runAt?: string;
  delay?: number;
  maxAttempts?: number;
  dedupeKey?: string;
  idempotencyKey?: string;
  wait?: boolean;
  from?: string;
  keyPrefix?: string;
  concurrency?: number;
}

const CONCURRENCY = 8;

const EXAMPLES = `
Examples:
  $ antrean jobs create send_email --file welcome.json --delay 3600
  $ generate-report | antrean jobs create store_report --wait
  $ antrean jobs create --from jobs.ndjson

jobs.ndjson holds one job a line, as the API takes it: {"type":"send_email","payload":{…}}.
Each line is sent under a key made of the file's name (or --key-prefix), the line's number and its
text. So after a fault the same command goes on where it ended, and creates nothing twice, for as
long as the deployment remembers keys (IDEMPOTENCY_TTL_HOURS, a day).`;

export function addCreate(jobs: Command, action: Action): void {
  jobs
    .command("create [type]")
    .description("Create a job, or with --from many")
    .option("--payload <json>", "the payload")
    .option("--file <file>", "the payload's file; without both, standard input is read")
    .option("--priority <number>", "0 to 9; 9 runs first", wholeNumber(0, 9))
    .option("--run-at <instant>", "due then, RFC 3339")
    .option("--delay <seconds>", "due so many seconds from now", seconds)
    .option("--max-attempts <count>", "tries before it is a dead letter", wholeNumber(1, 50))
    .option("--dedupe-key <key>", "at most one active job of the type has it")
    .option("--idempotency-key <key>", "of a create whose outcome is unknown")
    .option("--wait", "until it has ended; exit code 1 unless it completed")
    .option("--from <file>", "create a job for each line of this file")
    .option("--key-prefix <text>", "with --from: stands for the file in place of its name")
    .option(
      "--concurrency <count>",
      "with --from: requests at a time (default: 8)",
      wholeNumber(1, 50),
    )
    .addHelpText("after", EXAMPLES)
    .action(action(createJobs));
}

async function createJobs(
  session: Session,
  type: string | undefined,
  options: CreateOptions,
): Promise<void> {
  const { from, keyPrefix, concurrency, ...ofOne } = options;
  if (from !== undefined) {
    if (type !== undefined) throw new UsageError("With --from, each line names its own type.");
    // Nobody should believe that what is on each line was overruled.
    const [unfit] = Object.keys(ofOne);
    if (unfit) throw new UsageError(`${flagOf(unfit)} does not go with --from.`);
    return loadJobs(session, { file: from, keyPrefix, concurrency: concurrency ?? CONCURRENCY });
  }
  if (type === undefined) throw new UsageError("Name the job's type, or a file with --from.");
  if (keyPrefix !== undefined || concurrency !== undefined) {
    throw new UsageError("--key-prefix and --concurrency go with --from.");
  }
  await createOne(session, type, options);
}

/** `maxAttempts` is the option `--max-attempts`. */
const flagOf = (name: string): string =>
  `--${name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;

async function createOne(session: Session, type: string, options: CreateOptions): Promise<void> {
  const { client, call, signal } = session.api();
  const { priority, runAt, maxAttempts, dedupeKey, idempotencyKey = randomUUID() } = options;
  const job = { type, priority, runAt, delaySeconds: options.delay, maxAttempts, dedupeKey };
  const body = withJson(job, "payload", await requireJsonText(session.io, options));
  const create = { method: "POST", path: "/api/jobs", body, idempotencyKey } as const;
  const accepted = await call<AcceptedJob>(create);
  if (!options.wait) {
    session.show(accepted, ({ jobId, status, deduplicated }) => {
      const note = deduplicated ? "  (an active job has this dedupe key)" : "";
      return `${jobId}  ${status}${note}\n`;
    });
    return;
  }
  session.say(`Created ${accepted.jobId}; waiting for its end.`);
  const ended = await client.waitFor(accepted.jobId, { signal });
  session.show(ended, (shown) => jobText(session.paint, shown));
  if (ended.status !== "completed") throw new FailedError(`The job ended as ${ended.status}.`);
}
