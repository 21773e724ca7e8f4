import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { countDue, Mailbox } from "../../dev/qstash/state/mailbox.js";
import type { Message } from "../../dev/qstash/state/message.js";

/** A mailbox looks at nothing of a message but these members; the lane is the id's first letter. */
function message(messageId: string): Message {
  return { messageId, dueAt: 0, sequence: 0, laneKey: "", isCopy: false } as Message;
}

function mailboxByLetter(): Mailbox {
  return new Mailbox(({ messageId }) => messageId.charAt(0));
}

const idsOf = (messages: readonly Message[]) => messages.map(({ messageId }) => messageId);

describe("the mailbox", () => {
  test("keeps the order of due time, then arrival, in every lane and over all", () => {
    const entries = fc.array(fc.tuple(fc.constantFrom("a", "b", "c"), fc.nat(5)), {
      maxLength: 50,
    });
    fc.assert(
      fc.property(entries, fc.nat(5), (added, now) => {
        const mailbox = mailboxByLetter();
        const sorted = added
          .map(([letter, dueAt], index) => ({ id: `${letter}${index}`, dueAt }))
          .map((entry) => {
            mailbox.add(message(entry.id), entry.dueAt);
            return entry;
          })
          .sort((x, y) => x.dueAt - y.dueAt);
        expect(idsOf(mailbox.all())).toEqual(sorted.map(({ id }) => id));
        expect(mailbox.size).toBe(added.length);
        for (const lane of mailbox.lanes()) {
          const letter = lane[0]?.messageId.charAt(0) ?? "";
          const own = sorted.filter(({ id }) => id.startsWith(letter));
          expect(idsOf(lane)).toEqual(own.map(({ id }) => id));
          expect(countDue(lane, now)).toBe(own.filter(({ dueAt }) => dueAt <= now).length);
        }
      }),
    );
  });

  test("gives out a message once, and an empty lane goes", () => {
    const mailbox = mailboxByLetter();
    const only = message("a");
    mailbox.add(only, 1);
    expect(mailbox.remove(only)).toBe(true);
    expect(mailbox.remove(only)).toBe(false);
    expect(mailbox.lanes()).toEqual([]);
  });

  test("finds the original before its copies", () => {
    const mailbox = mailboxByLetter();
    const original = message("a");
    mailbox.add({ ...original, isCopy: true }, 1);
    mailbox.add(original, 2);
    expect(mailbox.find("a")).toBe(original);
    expect(mailbox.find("b")).toBeUndefined();
  });
});
