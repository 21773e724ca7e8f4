/** Finds the browser of the end-to-end tests; it is too big to come with the packages. */

import { existsSync } from "node:fs";
import path from "node:path";

/** First Chromium without its windows: the tests do half the work with it. */
const NAMES = ["chromium-headless-shell", "chromium", "chromium-browser", "google-chrome"];

/** Gives the path of an installed Chromium, as the shell would find it. */
export function findChromium(): string | undefined {
  const folders = (process.env.PATH ?? "").split(path.delimiter);
  return NAMES.flatMap((name) => folders.map((folder) => path.join(folder, name))).find(
    (candidate) => existsSync(candidate),
  );
}
