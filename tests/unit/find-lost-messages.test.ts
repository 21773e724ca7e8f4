import { expect, test } from "vitest";
import type { JobTrace, ReconcilePorts, RecordedMessage } from "../../src/core/reconcile.js";
import { findLostMessages } from "../../src/engine/find-lost-messages.js";

const HOUR_MS = 3_600_000;
const NOW_MS = 100 * HOUR_MS;

const job = (jobId: string, sentHoursAgo: number, seq = 1): JobTrace => ({
  jobId,
  type: "test",
  status: "queued",
  seq,
  triggeredAtMs: NOW_MS - sentHoursAgo * HOUR_MS,
});

const message = (
  jobId: string,
  seq: number,
  messageId = `msg_${jobId}_${seq}`,
): RecordedMessage => ({
  messageId,
  message: { v: 1, jobId, type: "test", seq },
  isReadable: true,
});

interface Sides {
  due: JobTrace[];
  /** The due jobs at the second look; the same unless a test says otherwise. */
  later?: JobTrace[];
  created?: RecordedMessage[];
  canceled?: RecordedMessage[];
  completeSinceMs?: number;
  canceledSinceMs?: number;
}

const find = (sides: Sides) =>
  findLostMessages({
    store: {
      findOverdue: async () => ({ nowMs: NOW_MS, jobs: sides.due, tooOld: 0 }),
      traceJobs: async (ids: string[]) =>
        (sides.later ?? sides.due).filter(({ jobId }) => ids.includes(jobId)),
    },
    records: {
      logged: async (state: string, sinceMs: number) => ({
        messages:
          { CREATED: sides.created, CANCELED: sides.canceled }[state] ?? ([] as RecordedMessage[]),
        completeSinceMs:
          { CREATED: sides.completeSinceMs, CANCELED: sides.canceledSinceMs }[state] ?? sinceMs,
      }),
    },
    settings: { sweepMaxSeconds: 20 },
    unpublishedTypes: [],
  } as unknown as ReconcilePorts);

const lostIn = async (sides: Sides) => (await find(sides)).differences.map(({ jobId }) => jobId);

test("a job is without a message when the log has none of its seq that could still come", async () => {
  const due = [job("a", 1), job("b", 1, 2), job("c", 1), job("d", 1)];
  const created = [message("b", 1), message("c", 1), message("d", 1), message("d", 1, "msg_again")];
  const canceled = [message("c", 1), message("d", 1)];
  expect(await lostIn({ due, created, canceled })).toEqual(["a", "b", "c"]);
});

test("a job that changed between the two looks is not one", async () => {
  const due = ["a", "b", "c", "d", "e"].map((id) => job(id, 1));
  const [a, b, c, d] = due as [JobTrace, JobTrace, JobTrace, JobTrace];
  const later: JobTrace[] = [
    a,
    { ...b, seq: 2 },
    { ...c, status: "failed" },
    { ...d, triggeredAtMs: NOW_MS },
  ];
  expect(await lostIn({ due, later })).toEqual(["a"]);
});

test("jobs whose message would be in the unread part of the log are not judged, which is said", async () => {
  const due = [job("old", 10), job("new", 1)];
  const found = await find({ due, completeSinceMs: NOW_MS - 2 * HOUR_MS });
  expect(found.differences.map(({ jobId }) => jobId)).toEqual(["new"]);
  expect(found.unjudged).toEqual([expect.stringContaining("messages of 1 due jobs")]);
});

test("a list of cancelled messages that was too long to read is said to be", async () => {
  const due = [job("a", 1)];
  const found = await find({ due, created: [message("a", 1)], canceledSinceMs: NOW_MS });
  expect(found.differences).toEqual([]);
  expect(found.unjudged).toEqual([expect.stringContaining("more messages than were read")]);
});
