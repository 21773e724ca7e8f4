import type { PreparedMessage } from "../operations/publish.js";
import type { Message } from "./message.js";

/** A recurring publish. */
export interface Schedule {
  readonly scheduleId: string;
  readonly cron: string;
  readonly prepared: PreparedMessage;
  readonly callerIp: string;
  readonly createdAt: number;
  isPaused: boolean;
  nextAt?: number;
  lastAt?: number;
  lastMessages: readonly Message[];
  error?: string;
}
