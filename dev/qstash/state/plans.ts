/** The limits of one QStash plan. */
export interface Plan {
  readonly maxDelaySeconds: number;
  readonly maxRetries: number;
  readonly maxMessageBytes: number;
  readonly maxMessagesPerDay: number;
  readonly maxTimeoutSeconds: number;
  readonly maxParallelism: number;
  readonly maxSchedules: number;
  readonly maxQueues: number;
  readonly maxUrlGroups: number;
  readonly maxEndpointsPerGroup: number;
  readonly retentionDays: number;
}

export type Quota = "free" | "payg" | "pro";

const mebibyte = 1024 * 1024;

export const plans: Readonly<Record<Quota, Plan>> = {
  free: {
    maxDelaySeconds: 7 * 86_400,
    maxRetries: 5,
    maxMessageBytes: mebibyte,
    maxMessagesPerDay: 1_000,
    maxTimeoutSeconds: 15 * 60,
    maxParallelism: 10,
    maxSchedules: 10,
    maxQueues: 10,
    maxUrlGroups: 1,
    maxEndpointsPerGroup: 100,
    retentionDays: 3,
  },
  payg: {
    maxDelaySeconds: 365 * 86_400,
    maxRetries: 5,
    maxMessageBytes: 10 * mebibyte,
    maxMessagesPerDay: Number.POSITIVE_INFINITY,
    maxTimeoutSeconds: 2 * 3_600,
    maxParallelism: 100,
    maxSchedules: 1_000,
    maxQueues: 100,
    maxUrlGroups: 100,
    maxEndpointsPerGroup: 100,
    retentionDays: 7,
  },
  pro: {
    maxDelaySeconds: Number.POSITIVE_INFINITY,
    maxRetries: 20,
    maxMessageBytes: 50 * mebibyte,
    maxMessagesPerDay: 1_000_000,
    maxTimeoutSeconds: 2 * 3_600,
    maxParallelism: 200,
    maxSchedules: Number.POSITIVE_INFINITY,
    maxQueues: Number.POSITIVE_INFINITY,
    maxUrlGroups: Number.POSITIVE_INFINITY,
    maxEndpointsPerGroup: 100,
    retentionDays: 30,
  },
};
