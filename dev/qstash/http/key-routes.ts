import { rotate } from "../state/users.js";
import type { ApiAnswer, Context, Route } from "./router.js";

/** The signing keys. The client's development mode recognises the stand-in by the first answer. */
export const keyRoutes: readonly Route[] = [
  { method: "GET", pattern: "/v2/keys", handle: showKeys },
  { method: "POST", pattern: "/v2/keys/rotate", handle: rotateKeys },
];

function showKeys({ tenant }: Context): ApiAnswer {
  const { current, next } = tenant.keys;
  return { status: 200, body: { current, next } };
}

function rotateKeys(context: Context): ApiAnswer {
  rotate(context.tenant.keys);
  return showKeys(context);
}
