import { availableParallelism } from "node:os";
import { defineConfig } from "vitest/config";

interface Tier {
  name: string;
  timeoutSeconds: number;
  /** Files of a tier that changes nothing global share one module graph, which saves its import. */
  isolate: boolean;
}

const TIERS: Tier[] = [
  { name: "unit", timeoutSeconds: 20, isolate: false },
  { name: "tidy", timeoutSeconds: 60, isolate: false },
  { name: "contract", timeoutSeconds: 60, isolate: false },
  { name: "flow", timeoutSeconds: 60, isolate: false },
  { name: "race", timeoutSeconds: 60, isolate: false },
  { name: "runtime", timeoutSeconds: 90, isolate: true },
  { name: "e2e", timeoutSeconds: 90, isolate: false },
];

export default defineConfig({
  test: {
    // More than cores: some tests wait for a process or a browser. The default leaves a core idle.
    maxWorkers: Math.ceil(availableParallelism() * 1.5),
    projects: TIERS.map(({ name, timeoutSeconds, isolate }) => ({
      test: {
        name,
        isolate,
        include: [`tests/${name}/**/*.test.ts`],
        // Bounds for a machine that is busy with other things; nothing waits for them.
        testTimeout: timeoutSeconds * 1000,
        hookTimeout: 90_000,
        expect: { poll: { timeout: 30_000, interval: 20 } },
        globalSetup: ["tests/support/global-setup.ts"],
      },
    })),
  },
});
