/** The dashboard's own style, script and icon, under names that change with their content. */

import { ASSETS } from "./assets.gen.js";

export type AssetKind = keyof typeof ASSETS;

/** A year, as a browser may keep what never changes under its name. */
const CACHE = "public, max-age=31536000, immutable";

/** The address of a file. */
export function assetPath(base: string, kind: AssetKind): string {
  return `${base}/assets/${ASSETS[kind].name}`;
}

/** Gives a file by its name; anybody may have it, since the login page needs it. */
export function assetResponse(name: string): Response | undefined {
  const asset = Object.values(ASSETS).find((each) => each.name === name);
  if (!asset) return undefined;
  return new Response(asset.text, {
    headers: {
      "Content-Type": asset.mediaType,
      "Cache-Control": CACHE,
      "Cross-Origin-Resource-Policy": "same-origin",
    },
  });
}
