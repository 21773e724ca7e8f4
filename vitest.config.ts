import { availableParallelism } from "node:os";
import { defineConfig } from "vitest/config";
import { BaseSequencer, type TestSpecification } from "vitest/node";

/** They take longest; begun last, one of them would run alone at the end. */
const LONGEST = ["local-mode", "crash-sweep-recovery", "dashboard-everybody", "sweep-storm"];

class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    const isLong = ({ moduleId }: TestSpecification) =>
      LONGEST.some((name) => moduleId.endsWith(`/${name}.test.ts`));
    return [...sorted.filter(isLong), ...sorted.filter((file) => !isLong(file))];
  }
}

export default defineConfig({
  test: {
    include: ["tests/{contract,e2e,flow,race,runtime,tidy,unit}/**/*.test.ts"],
    sequence: { sequencer: LongestFirst },
    // The default leaves a core idle. A third worker on two cores, for tests that wait, cost more
    // (486 CPU s against 395 and 449, on a machine that varies by a fifth): modules, compiled code,
    // databases and sessions are its own.
    maxWorkers: availableParallelism(),
    // A worker keeps the modules that it has loaded, which are seconds of work for each.
    isolate: false,
    // Node's young generation begins small, and is then collected so often that it costs 6 % of a run.
    execArgv: ["--min-semi-space-size=16", "--max-semi-space-size=16"],
    // Bounds for a machine that is busy with other things; nothing waits for them.
    testTimeout: 90_000,
    hookTimeout: 90_000,
    expect: { poll: { timeout: 30_000, interval: 20 } },
    globalSetup: ["tests/support/global-setup.ts"],
    setupFiles: ["tests/support/after-file.ts"],
  },
});
