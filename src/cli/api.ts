/** The deployment's API as the commands use it: the package's own client, and what that leaves out. */

import { readAnswer } from "../client/answer.js";
import { type Client, createClient } from "../client/client.js";
import { type Call, createTransport } from "../client/transport.js";
import { type Io, UsageError } from "./io.js";

export interface ApiPlace {
  url: string;
  apiKey: string;
}

type AnyJobs = Record<string, unknown>;
type CallWithoutSignal = Omit<Call, "signal">;

export interface Api {
  client: Client<AnyJobs>;
  /** Aborts with the process; for the client's own methods. */
  signal: AbortSignal;
  call<Answer>(call: CallWithoutSignal): Promise<Answer>;
  get<Answer>(path: string): Promise<Answer>;
  /** Sent once, like everything that must not happen twice. */
  post<Answer>(path: string, body?: unknown): Promise<Answer>;
  delete(path: string): Promise<void>;
}

/** Makes the API; every call ends when the process is asked to stop. */
export function createApi({ url, apiKey }: ApiPlace, io: Io): Api {
  // The platform's own error would show the secret.
  if (!/^[\x21-\x7e\x80-\xff]+$/.test(apiKey)) {
    throw new UsageError("The key holds characters that no header can carry.");
  }
  const { fetch, sleep, stop: signal } = io;
  const options = { baseUrl: url, apiKey, fetch, sleep };
  const transport = createTransport(options);
  const call: Api["call"] = (each) => transport({ ...each, signal });
  return {
    client: createClient(options),
    signal,
    call,
    get: (path) => call({ method: "GET", path }),
    post: (path, body) =>
      call({ method: "POST", path, ...(body !== undefined && { body: JSON.stringify(body) }) }),
    async delete(path) {
      const headers = { Authorization: `Bearer ${apiKey}` };
      const init: RequestInit = { method: "DELETE", headers, signal, redirect: "manual" };
      const response = await fetch(new Request(url.replace(/\/+$/, "") + path, init));
      // The one answer without a body, which the client would not take for one of the API.
      if (response.status !== 204) readAnswer(response, await response.text(), { tries: 1 });
    },
  };
}
