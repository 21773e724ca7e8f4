import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { Mailbox } from "../../dev/qstash/state/mailbox.js";
import type { Message } from "../../dev/qstash/state/message.js";

/** A mailbox looks at nothing of a message but these members. */
function message(messageId: string): Message {
  return { messageId, dueAt: 0, sequence: 0, phase: "waiting", isCopy: false } as Message;
}

describe("the mailbox", () => {
  test("keeps messages in the order of due time, then arrival", () => {
    fc.assert(
      fc.property(fc.array(fc.nat(5), { maxLength: 50 }), fc.nat(5), (dueTimes, now) => {
        const mailbox = new Mailbox();
        dueTimes.forEach((dueAt, index) => {
          mailbox.add(message(String(index)), dueAt);
        });
        const expected = dueTimes
          .map((dueAt, index) => ({ dueAt, id: String(index) }))
          .sort((a, b) => a.dueAt - b.dueAt);
        const ids = (messages: readonly Message[]) => messages.map(({ messageId }) => messageId);
        expect(ids(mailbox.all())).toEqual(expected.map(({ id }) => id));
        const due = expected.filter(({ dueAt }) => dueAt <= now);
        expect(ids(mailbox.dueBy(now))).toEqual(due.map(({ id }) => id));
        expect(mailbox.nextDueAfter(now)).toBe(expected[due.length]?.dueAt);
      }),
    );
  });

  test("gives out a message once", () => {
    const mailbox = new Mailbox();
    const only = message("a");
    mailbox.add(only, 1);
    expect(mailbox.remove(only)).toBe(true);
    expect(mailbox.remove(only)).toBe(false);
    expect(mailbox.size).toBe(0);
  });

  test("finds the original before its copies", () => {
    const mailbox = new Mailbox();
    const original = message("a");
    mailbox.add({ ...original, isCopy: true }, 1);
    mailbox.add(original, 2);
    expect(mailbox.find("a")).toBe(original);
    expect(mailbox.find("b")).toBeUndefined();
  });
});
