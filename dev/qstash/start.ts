import type { Server } from "node:http";
import { createServiceServer, type Service } from "../http-service.js";
import { close, listen } from "../listen.js";
import { manualClock, runningClock } from "./clock.js";
import { createDeliveryControls, type DeliveryControls } from "./control/delivery-controls.js";
import { createFaultControls, type FaultControls } from "./control/fault-controls.js";
import { DeliveryLoop } from "./delivery/loop.js";
import { runLive } from "./delivery/run-live.js";
import { type Deliver, sendOverHttp } from "./delivery/send-over-http.js";
import { createApi } from "./http/server.js";
import type { Quota } from "./state/plans.js";
import { createState, defaultTenant, type State } from "./state/state.js";
import type { StrictChecks } from "./wire/destination.js";

export type { IdleReport, PendingMessage } from "./control/delivery-controls.js";
export type { DeliveryResult } from "./delivery/loop.js";

/** How to start the stand-in; everything has a default. */
export interface QstashOptions {
  /** 0, the default, takes any free port. */
  readonly port?: number;
  /** Named when the port is taken. */
  readonly portVariable?: string;
  /** "live" (the default) delivers by itself; in "manual" nothing happens unless it is asked for. */
  readonly mode?: "live" | "manual";
  readonly quota?: Quota;
  /** How many times faster than real time the clock of live mode runs. */
  readonly speed?: number;
  /** Where the virtual clock starts; default: now. */
  readonly startAt?: Date | number;
  /** Called in place of the network; tests pass their application's own `fetch`. */
  readonly deliver?: Deliver;
  /** Destination prefix → what is called instead; signatures keep the destination. */
  readonly rewrite?: Readonly<Record<string, string>>;
  /** The `nbf` claim: 0, as the service signs today, or the same as `iat`. */
  readonly nbf?: "zero" | "iat";
  readonly region?: "EU-CENTRAL-1" | "US-EAST-1";
  readonly strict?: StrictChecks;
  /** Makes faults by chance repeatable. */
  readonly seed?: number;
}

/** A running stand-in: where it is, its credentials, and control over time and faults. */
export interface Qstash extends DeliveryControls, FaultControls {
  readonly url: string;
  readonly port: number;
  /** What answers at the URL, for callers without a socket. */
  readonly service: Service;
  /** The first user's token; those of the other users are in `users`. */
  readonly token: string;
  keys(): { current: string; next: string };
  users(): { token: string; keys: { current: string; next: string } }[];
  /** Ends running deliveries and the server. */
  close(): Promise<void>;
}

/** Starts a QStash stand-in on 127.0.0.1. */
export async function startQstash(options: QstashOptions = {}): Promise<Qstash> {
  const mode = options.mode ?? "live";
  const state = createStateFor(options, mode);
  const loop = new DeliveryLoop(state, options.deliver ?? sendOverHttp);
  const controls = { ...createDeliveryControls(state, loop), ...createFaultControls(state) };
  const service = createApi({ state, controls });
  const server = createServiceServer(service);
  const port = await listen(server, {
    port: options.port ?? 0,
    service: "the QStash stand-in",
    variable: options.portVariable,
  });
  const stopLoop = mode === "live" ? runLive(state, loop) : () => {};
  return {
    url: `http://127.0.0.1:${port}`,
    port,
    service,
    token: defaultTenant(state).token,
    keys: () => shownKeys(state, 0),
    users: () =>
      state.tenants.map(({ token }, index) => ({ token, keys: shownKeys(state, index) })),
    ...controls,
    close: () => stop(server, loop, stopLoop),
  };
}

function createStateFor(options: QstashOptions, mode: "live" | "manual"): State {
  const startAt = Number(options.startAt ?? Date.now());
  const clock =
    mode === "manual" ? manualClock(startAt) : runningClock(startAt, options.speed ?? 1);
  const settings = {
    quota: options.quota ?? "payg",
    region: options.region ?? "EU-CENTRAL-1",
    nbf: options.nbf ?? "zero",
    strict: options.strict ?? {},
    rewrites: Object.entries(options.rewrite ?? {}),
    seed: options.seed ?? 1,
  };
  return createState(settings, clock);
}

function shownKeys(state: State, user: number): { current: string; next: string } {
  const { current, next } = (state.tenants[user] ?? defaultTenant(state)).keys;
  return { current, next };
}

async function stop(server: Server, loop: DeliveryLoop, stopLoop: () => void): Promise<void> {
  stopLoop();
  loop.abortAll();
  await close(server);
}
