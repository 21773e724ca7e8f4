import { availableParallelism } from "node:os";
import { defineConfig } from "vitest/config";
import { BaseSequencer, type TestSpecification } from "vitest/node";

/**
 * Tiers that share their workers: a worker that goes from file to file keeps the modules it has
 * loaded, which for each worker are seconds of work. Files run in the order of these names.
 */
const GROUPS = {
  database: ["contract", "flow", "race", "e2e"],
  deployment: ["runtime"],
  /** Without a database; see tests/support/global-setup.ts. */
  pure: ["tidy", "unit"],
};

/** They take longest; begun last, one of them would run alone at the end. */
const LONGEST = ["crash-sweep-recovery", "local-mode", "dashboard-act", "sweep-storm", "outage"];

class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    const projects = [...new Set(sorted.map(({ project }) => project.name))];
    const isLong = ({ moduleId }: TestSpecification) =>
      LONGEST.some((name) => moduleId.endsWith(`/${name}.test.ts`));
    return projects.flatMap((name) => {
      const own = sorted.filter(({ project }) => project.name === name);
      return [...own.filter(isLong), ...own.filter((file) => !isLong(file))];
    });
  }
}

export default defineConfig({
  test: {
    sequence: { sequencer: LongestFirst },
    // More than cores: some tests wait for a process or a browser. The default leaves a core idle.
    maxWorkers: Math.ceil(availableParallelism() * 1.5),
    projects: Object.entries(GROUPS).map(([name, tiers]) => ({
      test: {
        name,
        isolate: false,
        // Node's default young generation is collected so often that it costs 6 % of a run.
        execArgv: ["--min-semi-space-size=16", "--max-semi-space-size=64"],
        include: tiers.map((tier) => `tests/${tier}/**/*.test.ts`),
        // Bounds for a machine that is busy with other things; nothing waits for them.
        testTimeout: 90_000,
        hookTimeout: 90_000,
        expect: { poll: { timeout: 30_000, interval: 20 } },
        globalSetup: ["tests/support/global-setup.ts"],
      },
    })),
  },
});
