/** What the entries share; web standards only, since one of them runs in workerd. */

import type { Antrean, Platform } from "../compose.js";
import { ConfigError } from "../config.js";

/** Everything that a platform gives, except its way out to other hosts. */
export const webPlatform: Omit<Platform, "outboundFetch"> = {
  timers: { sleep },
  random: Math.random,
  writeLog: (line) => console.log(line),
};

/** What a platform calls. */
export interface Served extends Pick<Antrean, "fetch" | "sweep"> {
  /** Gives the application itself, or throws the `ConfigError`. */
  use(): Antrean;
}

/**
 * Composes the application with its first use, since not every platform has an environment before.
 *
 * Errors: while the configuration has faults, requests are answered with 503 and a sweep throws
 *         the `ConfigError`; both try again the next time.
 *
 * @param basePath where the application is mounted
 */
export function onFirstUse(start: () => Antrean, basePath = ""): Served {
  let running: Antrean | undefined;
  const use = (): Antrean => {
    running ??= start();
    return running;
  };
  return {
    use,
    async fetch(request, requestPlatform) {
      let antrean: Antrean;
      try {
        antrean = use();
      } catch (error) {
        if (error instanceof ConfigError) return misconfigured(request, basePath, error);
        throw error;
      }
      return antrean.fetch(request, requestPlatform);
    },
    sweep: async (requestPlatform) => use().sweep(requestPlatform),
  };
}

/** Nobody mends a configuration sooner. */
const RETRY_AFTER_SECONDS = 60;

/** The faults go to the log and not to the client: they tell how this deployment is set up. */
function misconfigured(request: Request, basePath: string, { faults }: ConfigError): Response {
  const requestId = crypto.randomUUID();
  const at = new Date().toISOString();
  webPlatform.writeLog(JSON.stringify({ event: "misconfigured", at, requestId, faults }));
  const problem = {
    // Not PUBLIC_URL, which may be what is missing.
    type: new URL(`${basePath}/api/docs#misconfigured`, request.url).href,
    title: "The deployment is misconfigured",
    status: 503,
    detail: "Settings are missing or wrong; the log names them.",
    code: "misconfigured",
    requestId,
  };
  return new Response(JSON.stringify(problem), {
    status: problem.status,
    headers: {
      "content-type": "application/problem+json",
      "cache-control": "no-store",
      "retry-after": String(RETRY_AFTER_SECONDS),
      "x-request-id": requestId,
    },
  });
}

/** Leaves neither a timer nor a listener behind: a signal may outlive many sleeps. */
function sleep(milliseconds: number, signal?: AbortSignal): Promise<void> {
  if (signal?.aborted) return Promise.resolve();
  return new Promise((resolve) => {
    const wake = () => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", wake);
      resolve();
    };
    const timer = setTimeout(wake, milliseconds);
    signal?.addEventListener("abort", wake);
  });
}
