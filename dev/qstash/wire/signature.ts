import { createHash, createHmac } from "node:crypto";
import { newId } from "./ids.js";

/** What one signature covers. */
export interface Claims {
  url: string;
  body: Uint8Array;
  issuedAtSeconds: number;
  nbf: "zero" | "iat";
}

const lifetimeSeconds = 300;

/** Signs a delivery the way QStash does: a compact HS256 JWS over the URL and the body's hash. */
export function signDelivery(claims: Claims, key: string): string {
  const header = encode({ alg: "HS256", typ: "JWT" });
  const payload = encode({
    aud: "",
    body: hashBody(claims.body),
    exp: claims.issuedAtSeconds + lifetimeSeconds,
    iat: claims.issuedAtSeconds,
    iss: "Upstash",
    jti: newId("jwt"),
    nbf: claims.nbf === "zero" ? 0 : claims.issuedAtSeconds,
    sub: claims.url,
  });
  // The key is the text of the whole "sig_…" string; nothing of it is decoded.
  const signature = createHmac("sha256", key).update(`${header}.${payload}`).digest("base64url");
  return `${header}.${payload}.${signature}`;
}

function encode(value: object): string {
  return Buffer.from(JSON.stringify(value)).toString("base64url");
}

/** Base64url of the body's SHA-256; padded, because QStash's own tokens are. */
function hashBody(body: Uint8Array): string {
  return `${createHash("sha256").update(body).digest("base64url")}=`;
}
