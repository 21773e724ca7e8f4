import { defineConfig } from "vitest/config";

const tier = (name: string, options: { maxWorkers?: number; timeoutSeconds?: number } = {}) => ({
  test: {
    name,
    include: [`tests/${name}/**/*.test.ts`],
    testTimeout: (options.timeoutSeconds ?? 20) * 1000,
    hookTimeout: 60_000,
    globalSetup: ["tests/support/global-setup.ts"],
  },
});

export default defineConfig({
  test: {
    projects: ["unit", "contract", "flow", "race", "runtime", "e2e", "tidy"].map((name) =>
      tier(name, { timeoutSeconds: name === "runtime" || name === "e2e" ? 60 : 20 }),
    ),
  },
});
