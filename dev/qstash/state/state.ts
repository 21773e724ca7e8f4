import type { Clock } from "../clock.js";
import { laneOf } from "../delivery/gates.js";
import type { StrictChecks } from "../wire/destination.js";
import { type Faults, noFaults } from "./faults.js";
import { Mailbox } from "./mailbox.js";
import { type Plan, plans, type Quota } from "./plans.js";
import { Tenant } from "./tenant.js";
import { localUsers } from "./users.js";

/** What cannot change while the stand-in runs. */
export interface Settings {
  readonly quota: Quota;
  readonly region: string;
  readonly nbf: "zero" | "iat";
  readonly strict: StrictChecks;
  /** Destination prefixes and what is called in their place. */
  readonly rewrites: readonly (readonly [from: string, to: string])[];
  readonly seed: number;
}

/** What came in and went out, for assertions on budgets. */
export interface Counts {
  publishRequests: number;
  batchRequests: number;
  refusedPublishes: number;
  messages: number;
  deduplicated: number;
  deliveries: number;
}

/** The one state of the stand-in; every route and the delivery loop work on it. */
export interface State {
  readonly settings: Settings;
  readonly plan: Plan;
  readonly clock: Clock;
  readonly tenants: readonly Tenant[];
  readonly mailbox: Mailbox;
  readonly faults: Faults;
  readonly counts: Counts;
  /** Called when a message may have become deliverable; a running loop then looks again. */
  onChange: () => void;
}

/** Makes the empty state of a stand-in that was just started. */
export function createState(settings: Settings, clock: Clock): State {
  return {
    settings,
    plan: plans[settings.quota],
    clock,
    tenants: localUsers.map((user) => new Tenant(user.token, user.keys)),
    mailbox: new Mailbox(laneOf),
    faults: noFaults(settings.seed),
    counts: {
      publishRequests: 0,
      batchRequests: 0,
      refusedPublishes: 0,
      messages: 0,
      deduplicated: 0,
      deliveries: 0,
    },
    onChange: () => {},
  };
}

/** The account that everything but a multi-user test uses. */
export function defaultTenant(state: State): Tenant {
  const [tenant] = state.tenants;
  if (!tenant) throw new Error("The stand-in has no users.");
  return tenant;
}

/** Logs and dead letters from before this instant are past the plan's retention. */
export function retentionStartAt({ clock, plan }: State): number {
  return clock.now() - plan.retentionDays * 86_400_000;
}
