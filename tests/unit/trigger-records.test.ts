import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import type { TriggerRecords } from "../../src/core/reconcile.js";
import { createRecords } from "../../src/trigger/records.js";

const JOB_ID = "01981c1e-8d0c-7000-8000-000000000000";
const OURS = "https://app.example.com/api/process";
const MESSAGE = { v: 1, jobId: JOB_ID, type: "send_email", seq: 2 };

/** Each call's query, and the answer that QStash gives to the n-th call. */
const asked: URL[] = [];
let answer: (call: number, url: URL) => unknown = () => ({});
let records: TriggerRecords;

beforeEach(() => {
  asked.length = 0;
  vi.spyOn(globalThis, "fetch").mockImplementation(async (input) => {
    const url = new URL(String(input));
    asked.push(url);
    return Response.json(answer(asked.length - 1, url));
  });
  records = createRecords({
    qstashUrl: "https://qstash.example.com",
    qstashToken: "token",
    publicUrls: ["https://app.example.com", "https://former.example.com"],
    sleep: (_milliseconds, signal) =>
      new Promise((resolve) => signal?.addEventListener("abort", () => resolve())),
  });
});
afterEach(() => vi.restoreAllMocks());

const logged = (time: number, more: object = {}) => ({
  time,
  state: "CREATED",
  messageId: `msg_${time}`,
  url: OURS,
  body: btoa(JSON.stringify(MESSAGE)),
  ...more,
});

describe("the log", () => {
  test("is asked for the destinations of this deployment alone, and read to its end", async () => {
    answer = (call) =>
      call === 0 ? { events: [logged(20)], cursor: "next" } : { events: [logged(10)] };
    const { messages, completeSinceMs } = await records.logged("CREATED", 5.5);
    expect(messages).toEqual([
      { messageId: "msg_20", message: MESSAGE, isReadable: true },
      { messageId: "msg_10", message: MESSAGE, isReadable: true },
    ]);
    expect(completeSinceMs).toBe(5.5);
    const [first, second] = asked.map(({ searchParams }) => searchParams);
    expect(first?.getAll("url")).toEqual([OURS, "https://former.example.com/api/process"]);
    expect(first?.get("fromDate")).toBe("5");
    expect(second?.get("cursor")).toBe("next");
  });

  test("that does not end is read for a bounded time, and is whole since the oldest entry read", async () => {
    answer = (call) => ({ events: [logged(1000 - call)], cursor: "more" });
    const { messages, completeSinceMs } = await records.logged("CREATED", 0);
    expect(asked).toHaveLength(20);
    expect(messages).toHaveLength(20);
    expect(completeSinceMs).toBe(981);
  });

  test("may show somebody else's entries, hide bodies, or hold bodies that are none of ours", async () => {
    answer = () => ({
      events: [
        logged(5, { url: "https://neighbour.example.com/api/process" }),
        logged(4, { body: "REDACTED:0123" }),
        logged(3, { body: undefined }),
        logged(2, { body: btoa('{"hello":1}') }),
      ],
    });
    expect((await records.logged("CREATED", 0)).messages).toEqual([
      { messageId: "msg_4", message: null, isReadable: false },
      { messageId: "msg_3", message: null, isReadable: false },
      { messageId: "msg_2", message: null, isReadable: true },
    ]);
  });
});

describe("dead letters", () => {
  const dead = (dlqId: string, url = OURS) => {
    return { dlqId, messageId: `msg_${dlqId}`, url, createdAt: 1, body: JSON.stringify(MESSAGE) };
  };

  test("are only those of this deployment, whatever QStash gives", async () => {
    answer = () => ({
      messages: [dead("1"), dead("2", "https://neighbour.example.com/api/process")],
    });
    const { messages, isComplete } = await records.deadMessages();
    expect(messages.map(({ dlqId }) => dlqId)).toEqual(["1"]);
    expect(isComplete).toBe(true);
  });

  test("without end are read for a bounded time, and this is said", async () => {
    answer = (call) => ({ messages: [dead(`${call}`)], cursor: "more" });
    expect(await records.deadMessages()).toMatchObject({ isComplete: false });
    expect(asked).toHaveLength(50);
  });

  test("are deleted by their ids, a hundred at a time, and without ids nothing is asked", async () => {
    answer = () => ({ deleted: 1 });
    await records.deleteDeadMessages([]);
    expect(asked).toEqual([]);
    await records.deleteDeadMessages(Array.from({ length: 101 }, (_, n) => `${n}`));
    expect(asked.map(({ searchParams }) => searchParams.getAll("dlqIds").length)).toEqual([100, 1]);
    for (const { searchParams } of asked)
      expect([...new Set(searchParams.keys())]).toEqual(["dlqIds"]);
  });
});
