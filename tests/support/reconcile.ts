/** Worlds in which database and QStash come to differ, and the command that compares them. */

import { Client } from "@upstash/qstash";
import { cli } from "./cli.js";
import { scripted } from "./flow-jobs.js";
import { type World, worldForTest } from "./world.js";

export const TYPE = "test.plain";

/** A difference as `reconcile --json` shows it. */
export interface ShownDifference {
  kind: string;
  isRepaired: boolean;
  isRepairable: boolean;
  jobId?: string;
  scheduleId?: string;
}

/** Builds a world with a client of its account, and runs `reconcile` over its environment. */
export async function setUpReconcile(more: Record<string, string> = {}) {
  // A day, so that sweeps are not missed while messages fail.
  const env = { SWEEP_INTERVAL_SECONDS: "86400", ...more };
  const plain = scripted(() => null, {}, TYPE);
  const heavy = scripted(() => null, { runsOn: "worker" }, "test.heavy");
  const world = await worldForTest({ jobs: [plain, heavy], env });
  await world.sweep();
  const { url: baseUrl, token } = world.qstash;
  const client = new Client({ baseUrl, token, devMode: false, enableTelemetry: false });
  const reconcile = async (...argv: string[]) => {
    const result = await cli(world, ["reconcile", "--json", ...argv], { env });
    const shown = JSON.parse(result.stdout) as {
      differences: ShownDifference[];
      unjudged: string[];
    };
    return { ...result, ...shown, kinds: shown.differences.map(({ kind }) => kind) };
  };
  return { world, client, reconcile };
}

/** Lets every message that waits fail until QStash gives it up. */
export async function failDeliveries(world: World): Promise<void> {
  const { instance } = world;
  world.use({ ...instance, fetch: async () => new Response("gateway", { status: 502 }) });
  await world.runUntilIdle(3 * 3600);
  world.use(instance);
}

/** Creates a job whose process dies between the commit and the publish. */
export async function createAndDie(world: World): Promise<string> {
  const { instance } = world;
  const dying = world.newInstance();
  dying.ports.rule = ({ port }) => (port === "trigger" ? "crash_before" : undefined);
  world.use(dying);
  await world.create(TYPE, {}).catch(() => undefined);
  world.use(instance);
  const { rows } = await world.database.pg.query(
    "select id from jobs order by created_at desc limit 1",
  );
  return (rows[0] as { id: string }).id;
}

/** Everything in the account's dead letter queue. */
export const deadLetters = async (client: Client) => (await client.dlq.listMessages()).messages;
