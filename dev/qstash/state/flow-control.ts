import type { FlowControlSetting } from "../wire/flow-control-header.js";

/** The live state of one flow-control key; a limit of 0 means "no limit". */
export interface FlowControl {
  readonly key: string;
  parallelismMax: number;
  parallelismCount: number;
  rateMax: number;
  rateCount: number;
  ratePeriodSeconds: number;
  ratePeriodStartAt: number;
  isPaused: boolean;
  isPinnedParallelism: boolean;
  isPinnedRate: boolean;
}

/** The flow-control keys of one tenant; a key exists from its first use on. */
export class FlowControls {
  private readonly byKey = new Map<string, FlowControl>();

  get(key: string): FlowControl | undefined {
    return this.byKey.get(key);
  }

  list(): FlowControl[] {
    return [...this.byKey.values()];
  }

  getOrCreate(key: string): FlowControl {
    const known = this.byKey.get(key);
    if (known) return known;
    const created: FlowControl = {
      key,
      parallelismMax: 0,
      parallelismCount: 0,
      rateMax: 0,
      rateCount: 0,
      ratePeriodSeconds: 1,
      ratePeriodStartAt: 0,
      isPaused: false,
      isPinnedParallelism: false,
      isPinnedRate: false,
    };
    this.byKey.set(key, created);
    return created;
  }

  /** The newest message decides the limits of its key, except those that are pinned. */
  applySetting(setting: FlowControlSetting): void {
    const control = this.getOrCreate(setting.key);
    if (!control.isPinnedParallelism) control.parallelismMax = setting.parallelism ?? 0;
    if (control.isPinnedRate) return;
    control.rateMax = setting.rate ?? 0;
    control.ratePeriodSeconds = setting.periodSeconds;
  }
}

/** When the key lets its next message through: now, at a later instant, or (Infinity) at an event. */
export function flowControlOpensAt(control: FlowControl, now: number): number {
  if (control.isPaused) return Number.POSITIVE_INFINITY;
  if (control.parallelismMax > 0 && control.parallelismCount >= control.parallelismMax) {
    return Number.POSITIVE_INFINITY;
  }
  const periodEndsAt = control.ratePeriodStartAt + control.ratePeriodSeconds * 1000;
  const isFull = control.rateMax > 0 && control.rateCount >= control.rateMax;
  return isFull && now < periodEndsAt ? periodEndsAt : now;
}

/** Counts a delivery that starts now; a period starts with its first delivery. */
export function enterFlowControl(control: FlowControl, now: number): void {
  control.parallelismCount += 1;
  if (now >= control.ratePeriodStartAt + control.ratePeriodSeconds * 1000) {
    resetRate(control, now);
  }
  control.rateCount += 1;
}

export function resetRate(control: FlowControl, now: number): void {
  control.ratePeriodStartAt = now;
  control.rateCount = 0;
}
