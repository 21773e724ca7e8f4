import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { DueSchedule } from "../../src/core/schedule.js";
import { planSlots } from "../../src/engine/plan-slots.js";
import { type Slots, scheduleSlots } from "../../src/engine/schedule-slots.js";
import { intlSlots, type ZoneOffsets, zoneOffsets } from "../support/intl-slots.js";

function slotsOf(cron: string, timeZone = "UTC"): Slots {
  const slots = scheduleSlots(cron, timeZone);
  if ("part" in slots) throw new Error(`${cron}: ${slots.reason}`);
  return slots;
}

function take(slots: Slots, fromMs: number, toMs: number, max = Number.POSITIVE_INFINITY) {
  const taken: number[] = [];
  for (const slotMs of slots.from(fromMs)) {
    if (slotMs >= toMs || taken.length === max) break;
    taken.push(slotMs);
  }
  return taken;
}

const list = (cron: string, timeZone: string, from: string, to: string): string[] =>
  take(slotsOf(cron, timeZone), Date.parse(from), Date.parse(to)).map((slotMs) =>
    new Date(slotMs).toISOString().slice(0, 16),
  );

describe("hours that the clock skips or repeats", () => {
  test("a fixed time in the spring gap comes once, at the end of the gap (P01)", () => {
    const spring = ["America/New_York", "2026-03-07T00:00:00Z", "2026-03-10T00:00:00Z"] as const;
    expect(list("30 2 * * *", ...spring)).toEqual([
      "2026-03-07T07:30",
      "2026-03-08T07:00",
      "2026-03-09T06:30",
    ]);
    // Two times in the gap are one.
    expect(list("0,30 2 8 3 *", ...spring)).toEqual(["2026-03-08T07:00"]);
  });

  test("a fixed time in the repeated autumn hour comes once, the first time", () => {
    const autumn = ["America/New_York", "2026-11-01T00:00:00Z", "2026-11-03T00:00:00Z"] as const;
    expect(list("30 1 * * *", ...autumn)).toEqual(["2026-11-01T05:30", "2026-11-02T06:30"]);
  });

  test("an interval skips the gap and goes on through the repeated hour", () => {
    const zone = "America/New_York";
    expect(list("*/30 * * * *", zone, "2026-03-08T06:00:00Z", "2026-03-08T08:00:00Z")).toHaveLength(
      4,
    );
    expect(list("*/30 * * * *", zone, "2026-11-01T05:00:00Z", "2026-11-01T07:00:00Z")).toHaveLength(
      4,
    );
    expect(list("*/30 2 8 3 *", zone, "2026-03-08T00:00:00Z", "2026-03-09T00:00:00Z")).toEqual([]);
  });
});

describe("what is not a schedule is refused with the reason, at once (P05)", () => {
  test.each(["0 0 30 2 *", "0 0 31 4 *", "0 0 31 2,4,6 *", "0 0 30,31 FEB *", "* * 31 4-4 *"])(
    "a day that no month has: %s",
    (cron) => {
      const began = performance.now();
      expect(scheduleSlots(cron, "UTC")).toMatchObject({
        part: "cron",
        reason: expect.stringMatching("never comes"),
      });
      expect(performance.now() - began).toBeLessThan(100);
    },
  );

  test.each([
    ...["", "* * * *", "0 * * * * *", "@daily", "60 * * * *", "* 24 * * *", "* * 0 * *"],
    ...["* * * 13 *", "* * * * 8", "5/15 * * * *", "*/0 * * * *", "5-1 * * * *", "a * * * *"],
    ...["0 0 15W * *", "0 0 LW * *", "0 0 30 2 +1", "? ? * * *", "* * * * *\n", "1".repeat(300)],
  ])("what cannot be read: %j", (cron) => {
    expect(scheduleSlots(cron, "UTC")).toMatchObject({
      part: "cron",
      reason: expect.stringMatching(/./),
    });
  });

  test.each(["", "Mars/Olympus", "+02:00", "GMT+2", "UTC ", "Europe/Berlin\u0000", "x".repeat(99)])(
    "a time zone that nobody has: %j",
    (timeZone) => {
      expect(scheduleSlots("0 0 * * *", timeZone)).toMatchObject({ part: "timeZone" });
    },
  );

  test.each([
    "0 0 29 2 *",
    "0 0 31 2 1",
    "0 0 L 2 *",
    "0 0 * * 5#5",
    "0 0 1 JAN SUN",
    "0  0 * * 7",
  ])("what is rare or unusual is not: %s", (cron) => {
    expect(
      slotsOf(cron)
        .from(Date.UTC(2026, 2, 1))
        [Symbol.iterator]()
        .next().done,
    ).toBe(false);
  });
});

describe("the arithmetic agrees with a second one over five years and ten time zones", () => {
  const FROM_MS = Date.UTC(2026, 0, 1);
  const TO_MS = Date.UTC(2031, 0, 1);
  const DAY_MS = 86_400_000;
  const ZONES = [
    ...["America/New_York", "America/Santiago", "America/Sao_Paulo", "Europe/Berlin"],
    ...["Europe/London", "Africa/Casablanca", "Africa/Cairo", "Asia/Kolkata"],
    ...["Australia/Lord_Howe", "Pacific/Chatham"],
  ];
  const offsets = new Map(ZONES.map((zone) => [zone, zoneOffsets(zone, FROM_MS, TO_MS + DAY_MS)]));
  const offsetsOf = (zone: string): ZoneOffsets => {
    const found = offsets.get(zone);
    if (!found) throw new Error(`no offsets of ${zone}`);
    return found;
  };

  function compare(cron: string, zone: string, fromMs: number, toMs: number, max: number): void {
    const expected = intlSlots(cron, offsetsOf(zone), fromMs, toMs).slice(0, max);
    const found = take(slotsOf(cron, zone), fromMs, toMs, max);
    expect(found, `${cron} in ${zone} from ${new Date(fromMs).toISOString()}`).toEqual(expected);
  }

  test.each(ZONES)("around every change of the clock in %s", (zone) => {
    for (const { atMs } of offsetsOf(zone).transitions) {
      for (const cron of ["30 2 * * *", "0 0 * * *", "15,45 0-3 * * *", "*/20 */2 * * *"]) {
        compare(cron, zone, atMs - DAY_MS / 2, atMs + DAY_MS, 40);
      }
    }
  });

  test("at any time, whatever the expression", () => {
    const field = (low: number, high: number) => {
      const value = fc.integer({ min: low, max: high });
      const range = fc.tuple(value, value).map(([a, b]) => `${Math.min(a, b)}-${Math.max(a, b)}`);
      const several = fc.uniqueArray(value, { minLength: 1, maxLength: 3 });
      return { value: value.map(String), range, list: several.map((each) => each.join(",")) };
    };
    const timeField = (low: number, high: number) => {
      const { value, range, list } = field(low, high);
      const step = fc.integer({ min: 2, max: high }).map((each) => `*/${each}`);
      return fc.oneof(value, range, list, step, fc.constant("*"));
    };
    const dayField = (low: number, high: number) =>
      fc.oneof({ arbitrary: fc.constant("*"), weight: 3 }, field(low, high).list);
    const cron = fc
      .tuple(timeField(0, 59), timeField(0, 23), dayField(1, 28), fc.constant("*"), dayField(0, 6))
      .map((fields) => fields.join(" "));
    const minute = fc.integer({ min: 0, max: (TO_MS - FROM_MS - 3 * DAY_MS) / 60_000 });
    fc.assert(
      fc.property(cron, fc.constantFrom(...ZONES), minute, (expression, zone, at) => {
        const fromMs = FROM_MS + at * 60_000;
        compare(expression, zone, fromMs, fromMs + 3 * DAY_MS, 20);
      }),
      { numRuns: 200 },
    );
  });
});

describe("which slots a sweep plans", () => {
  const bounds = { intervalSeconds: 900, slotsMax: 100 };
  const due = (more: Partial<DueSchedule>): DueSchedule => ({
    id: "",
    cron: "",
    timeZone: "UTC",
    missedRunPolicy: "skip",
    revision: 1,
    planFrom: "2026-06-01T12:00:00.000Z",
    readAt: "2026-06-01T12:00:00.000Z",
    ...more,
  });
  const times = (slots: string[]) => slots.map((slot) => slot.slice(11, 16));

  test("those of two intervals, both ends included", () => {
    const planned = planSlots(due({}), slotsOf("*/15 * * * *"), bounds);
    expect(times(planned.slots)).toEqual(["12:00", "12:15", "12:30"]);
    expect(planned).toMatchObject({ missed: null, nextPlanFrom: "2026-06-01T12:45:00.000Z" });
  });

  test("a slot that is late by an interval is made, one minute more is missed", () => {
    const readAt = "2026-06-01T12:15:00.000Z";
    const late = planSlots(due({ readAt }), slotsOf("0 12 * * *"), bounds);
    expect(times(late.slots)).toEqual(["12:00"]);
    const over = planSlots(
      due({ readAt: "2026-06-01T12:16:00.000Z" }),
      slotsOf("0 12 * * *"),
      bounds,
    );
    expect(over.slots).toEqual([]);
    expect(over.missed).toMatchObject({ count: 1, first: over.missed?.last, capped: false });
    expect(over.nextPlanFrom).toBe("2026-06-02T12:00:00.000Z");
  });

  test("run_once gives the last missed slot a job, within the bound", () => {
    const schedule = due({ readAt: "2026-06-01T22:00:00.000Z", missedRunPolicy: "run_once" });
    const planned = planSlots(schedule, slotsOf("*/5 * * * *"), { ...bounds, slotsMax: 4 });
    expect(times(planned.slots)).toEqual(["21:40", "21:45", "21:50", "21:55"]);
    expect(planned.missed).toMatchObject({ count: 117, last: "2026-06-01T21:40:00.000Z" });
    expect(planned.nextPlanFrom).toBe("2026-06-01T22:00:00.000Z");
  });
});
