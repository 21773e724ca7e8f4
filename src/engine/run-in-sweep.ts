/** Runs jobs in the sweep itself, where no message can. */

import type { SweepRun } from "./begin-sweep.js";
import { execute } from "./execute.js";

/** Claim, finish and the mark of the next message. */
export const CALLS_PER_RUN = 3;

/** While the trigger refuses messages, a sweep is the only thing that runs jobs: one at a time. */
export async function runInSweep(run: SweepRun): Promise<void> {
  const { ports } = run;
  // Types take turns from a random one on, so that none waits for the end of another's backlog.
  const first = Math.floor(ports.entropy.random() * run.types.length);
  let turns = [...run.types.slice(first), ...run.types.slice(0, first)];
  while (run.callsLeft >= CALLS_PER_RUN) {
    const fitting = turns.filter(({ type, publish: published }) => {
      const timeoutSeconds = ports.registry.get(type)?.timeoutSeconds ?? Number.POSITIVE_INFINITY;
      return published && timeoutSeconds <= run.secondsLeft();
    });
    if (fitting.length === 0) {
      run.report.more = true;
      return;
    }
    const attempt = await ports.store.claimDue(fitting, ports.entropy.newId());
    run.callsLeft -= 1;
    if (!attempt) return;
    await execute(ports, attempt, ports.settings.maxRunSeconds, { leaveUnpublished: true });
    run.callsLeft -= CALLS_PER_RUN - 1;
    run.report.ranInSweep += 1;
    turns = turns.toSorted(
      (a, b) => Number(a.type === attempt.type) - Number(b.type === attempt.type),
    );
  }
  run.report.more = true;
}
