/** What the dashboard is made of, and how the application that it is mounted in talks to it. */

import type { ApiKey } from "../core/access.js";
import type { Ports } from "../core/ports.js";

export interface DashboardOptions {
  /** Where the application mounts it, without a trailing slash. */
  path: string;
  apiKeys: readonly ApiKey[];
  /** Where browsers find the application; its path is the beginning of every link. */
  publicUrl: string;
}

/** One request as the application hands it on. */
export interface DashboardRequest {
  request: Request;
  /** What follows the dashboard's own path. */
  path: string;
  ports: Ports;
  /** The whole body, already bounded; empty where there is none. */
  body: string;
}

/** The same with the instance's clock: for the end of sessions, and for "3 min ago". */
export interface Exchange extends DashboardRequest {
  nowMs: number;
}

/** A failure as a person is told of it. */
export interface FailureNote {
  status: number;
  title: string;
  detail: string;
  requestId?: string;
}

export interface Dashboard {
  path: string;
  handle(request: DashboardRequest): Promise<Response>;
  /** Shows a failure as a page instead of as problem details. */
  failure(note: FailureNote): Response;
}
