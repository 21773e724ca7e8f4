/**
 * The controls over HTTP, JSON in and out, no token. Same names and meanings as in code.
 *
 *   GET  /__dev/state           clock, waiting messages, counts, faults, keys
 *   POST /__dev/advance         {"by": "10m"} or {"by": 600000}
 *   POST /__dev/deliver         {"messageId", "early"?: true, "twice"?: true}
 *   POST /__dev/deliver-due     everything due now
 *   POST /__dev/run-until-idle  {"maxMs"?}
 *   POST /__dev/duplicate       {"messageId", "copies"?, "afterMs"?}
 *   POST /__dev/drop            {"messageId"}
 *   POST /__dev/lose-answer     {"which": "next" or a message id}
 *   POST /__dev/reorder         {"messageIds"?}
 *   POST /__dev/publishes       {"fault": {"status": 503} | "hang" | "cut" | null, "times"?}
 *   POST /__dev/rotate-keys
 *   POST /__dev/signing         {"signWith"?: "current" | "next" | "previous" | key, "clockOffsetSeconds"?}
 *   POST /__dev/faults          {"duplicateRate"?, "dropRate"?, "loseAnswerRate"?, "earlySeconds"?, "shuffle"?}
 */
import * as z from "zod";
import type { DeliveryControls } from "../control/delivery-controls.js";
import type { FaultControls } from "../control/fault-controls.js";
import { defaultTenant, type State } from "../state/state.js";
import { parseBody } from "./request-body.js";
import type { ApiAnswer, ApiRequest, Route } from "./router.js";

/** What the controls over HTTP work with. */
export interface DevContext {
  readonly state: State;
  readonly controls: DeliveryControls & FaultControls;
}

type Controls = DevContext["controls"];
type DevRoute = Route<DevContext & { readonly request: ApiRequest }>;

const messageId = z.string();
const rate = z.number().min(0).max(1).optional();

export const devRoutes: readonly DevRoute[] = [
  { method: "GET", pattern: "/__dev/state", handle: (context) => show(context) },
  control(
    "advance",
    z.strictObject({ by: z.union([z.number(), z.string()]) }),
    (controls, { by }) => controls.advance(by),
  ),
  control(
    "deliver",
    z.strictObject({
      messageId,
      early: z.boolean().optional(),
      twice: z.boolean().optional(),
    }),
    async (controls, { messageId, early, twice }) =>
      twice
        ? controls.deliverTwice(messageId, { early })
        : [await controls.deliver(messageId, { early })],
  ),
  control("deliver-due", z.strictObject({}), (controls) => controls.deliverDue()),
  control("run-until-idle", z.strictObject({ maxMs: z.number().optional() }), (controls, options) =>
    controls.runUntilIdle(options),
  ),
  control(
    "duplicate",
    z.strictObject({ messageId, copies: z.number().optional(), afterMs: z.number().optional() }),
    (controls, { messageId, ...options }) => controls.duplicate(messageId, options),
  ),
  control("drop", z.strictObject({ messageId }), (controls, body) => controls.drop(body.messageId)),
  control("lose-answer", z.strictObject({ which: z.string() }), (controls, { which }) =>
    controls.loseAnswer(which),
  ),
  control(
    "reorder",
    z.strictObject({ messageIds: z.array(messageId).optional() }),
    (controls, { messageIds }) => controls.reorder(messageIds),
  ),
  control(
    "publishes",
    z.strictObject({
      fault: z.union([
        z.strictObject({ status: z.number().int().min(400).max(599) }),
        z.enum(["hang", "cut"]),
        z.null(),
      ]),
      times: z.number().int().positive().optional(),
    }),
    (controls, { fault, times }) => controls.refusePublishes(fault, { times }),
  ),
  control("rotate-keys", z.strictObject({}), (controls) => controls.rotateKeys()),
  control(
    "signing",
    z.strictObject({
      signWith: z.string().min(1).optional(),
      clockOffsetSeconds: z.number().int().optional(),
    }),
    (controls, { signWith, clockOffsetSeconds }) => {
      if (signWith !== undefined) controls.signWith(signWith);
      if (clockOffsetSeconds !== undefined) controls.clockOffset(clockOffsetSeconds);
    },
  ),
  control(
    "faults",
    z.strictObject({
      duplicateRate: rate,
      dropRate: rate,
      loseAnswerRate: rate,
      earlySeconds: z.number().min(0).optional(),
      shuffle: z.boolean().optional(),
    }),
    (controls, faults) => controls.setFaults(faults),
  ),
];

/** Makes the route of one control: checks the body, applies it, answers with what it returned. */
function control<T>(
  name: string,
  schema: z.ZodType<T>,
  apply: (controls: Controls, body: T) => unknown,
): DevRoute {
  return {
    method: "POST",
    pattern: `/__dev/${name}`,
    handle: async ({ controls, request }) => {
      const text = request.body.length > 0 ? request.body : Buffer.from("{}");
      const result = await apply(controls, parseBody(text, schema));
      return { status: 200, body: result ?? {} };
    },
  };
}

function show({ state, controls }: DevContext): ApiAnswer {
  const { random: _random, ...faults } = state.faults;
  const { current, next } = defaultTenant(state).keys;
  const body = {
    now: controls.now(),
    pending: controls.pending(),
    counts: controls.counts(),
    faults,
    keys: { current, next },
  };
  return { status: 200, body };
}
