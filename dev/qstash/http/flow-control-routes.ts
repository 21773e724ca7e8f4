import { type FlowControl, resetRate } from "../state/flow-control.js";
import { ApiError } from "../wire/api-error.js";
import { type ApiAnswer, type Context, ok, type Route } from "./router.js";

/** Flow control. A key may hold slashes, so it is the rest of the path up to the known suffix. */
export const flowControlRoutes: readonly Route[] = [
  { method: "GET", pattern: "/v2/globalParallelism", handle: showGlobal },
  { method: "GET", pattern: "/v2/flowControl", handle: list },
  { method: "GET", pattern: "/v2/flowControl/*key", handle: show },
  { method: "POST", pattern: "/v2/flowControl/*key/pause", handle: (c) => pause(c, true) },
  { method: "POST", pattern: "/v2/flowControl/*key/resume", handle: (c) => pause(c, false) },
  { method: "POST", pattern: "/v2/flowControl/*key/resetRate", handle: reset },
  { method: "POST", pattern: "/v2/flowControl/*key/pin", handle: pin },
  { method: "POST", pattern: "/v2/flowControl/*key/unpin", handle: unpin },
];

function showGlobal({ state, tenant }: Context): ApiAnswer {
  const { maxParallelism } = state.plan;
  const body = { parallelismMax: maxParallelism, parallelismCount: tenant.activeCount };
  return { status: 200, body };
}

function list(context: Context): ApiAnswer {
  const search = context.request.query.get("search") ?? "";
  const found = context.tenant.flowControls.list().filter(({ key }) => key.includes(search));
  return { status: 200, body: found.map((control) => view(context, control)) };
}

function show(context: Context): ApiAnswer {
  const key = keyOf(context);
  const control = context.tenant.flowControls.get(key);
  if (!control) throw new ApiError(404, `flow control key ${key} not found`);
  return { status: 200, body: view(context, control) };
}

function pause(context: Context, isPaused: boolean): ApiAnswer {
  return change(context, (control) => {
    control.isPaused = isPaused;
  });
}

function reset(context: Context): ApiAnswer {
  return change(context, (control) => resetRate(control, context.state.clock.now()));
}

/** Fixes limits for a key: until they are unpinned, those of new messages are ignored. */
function pin(context: Context): ApiAnswer {
  const parallelism = positive(context, "parallelism");
  const rate = positive(context, "rate");
  const periodSeconds = positive(context, "period");
  return change(context, (control) => {
    if (parallelism !== undefined) {
      control.parallelismMax = parallelism;
      control.isPinnedParallelism = true;
    }
    if (rate === undefined && periodSeconds === undefined) return;
    control.rateMax = rate ?? control.rateMax;
    control.ratePeriodSeconds = periodSeconds ?? 1;
    control.isPinnedRate = true;
    resetRate(control, context.state.clock.now());
  });
}

/** Keeps the last values until the next message brings its own. */
function unpin(context: Context): ApiAnswer {
  const { query } = context.request;
  return change(context, (control) => {
    if (query.get("parallelism") === "true") control.isPinnedParallelism = false;
    if (query.get("rate") === "true") control.isPinnedRate = false;
  });
}

function change(context: Context, apply: (control: FlowControl) => void): ApiAnswer {
  apply(context.tenant.flowControls.getOrCreate(keyOf(context)));
  context.state.onChange();
  return ok;
}

function view({ state, tenant }: Context, control: FlowControl): object {
  const now = state.clock.now();
  const isPeriodOver = now >= control.ratePeriodStartAt + control.ratePeriodSeconds * 1000;
  const waiting = state.mailbox
    .all()
    .filter(
      ({ dueAt, options, ...each }) =>
        dueAt <= now && each.tenant === tenant && options.flowControl?.key === control.key,
    );
  return {
    flowControlKey: control.key,
    waitListSize: waiting.length,
    parallelismMax: control.parallelismMax,
    parallelismCount: control.parallelismCount,
    rateMax: control.rateMax,
    rateCount: isPeriodOver ? 0 : control.rateCount,
    ratePeriod: control.ratePeriodSeconds,
    ratePeriodStart: Math.floor(control.ratePeriodStartAt / 1000),
    isPaused: control.isPaused,
    isPinnedParallelism: control.isPinnedParallelism,
    isPinnedRate: control.isPinnedRate,
  };
}

function keyOf({ params }: Context): string {
  return decodeURIComponent(params.key ?? "");
}

function positive({ request }: Context, name: string): number | undefined {
  const text = request.query.get(name);
  if (text === null) return undefined;
  if (!/^[1-9]\d{0,8}$/.test(text)) throw new ApiError(400, `invalid ${name}: ${text}`);
  return Number(text);
}
