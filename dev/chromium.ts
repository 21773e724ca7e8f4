/** Finds the browser of the end-to-end tests; it is too big to come with the packages. */

import { existsSync } from "node:fs";
import path from "node:path";

const NAMES = ["chromium", "chromium-browser", "google-chrome"];

/** Gives the path of an installed Chromium, as the shell would find it. */
export function findChromium(): string | undefined {
  const folders = (process.env.PATH ?? "").split(path.delimiter);
  return folders
    .flatMap((folder) => NAMES.map((name) => path.join(folder, name)))
    .find((candidate) => existsSync(candidate));
}
