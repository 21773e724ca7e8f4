import { type PreparedMessage, prepareMessage } from "../operations/publish.js";
import { readDestination } from "../wire/destination.js";
import type { Context } from "./router.js";

/** Prepares the message whose destination stands in the request target, raw, query included. */
export function prepareFromTarget(
  { state, tenant, request, params }: Context,
  queueName?: string,
): Promise<PreparedMessage> {
  const destination = readDestination(params.destination ?? "", request.rawQuery);
  return prepareMessage(state, tenant, {
    destination,
    headers: request.headers,
    body: request.body,
    queueName,
  });
}
