import { availableParallelism } from "node:os";
import { defineConfig } from "vitest/config";

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

export default defineConfig({
  test: {
    // More than cores: some tests wait for a process or a browser. The default leaves a core idle.
    maxWorkers: Math.ceil(availableParallelism() * 1.5),
    projects: Object.entries(GROUPS).map(([name, tiers]) => ({
      test: {
        name,
        isolate: false,
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
