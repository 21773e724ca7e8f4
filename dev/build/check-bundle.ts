/** Looks into a finished bundle: what is in it, what it leaves to its platform, and how big it is. */

import { readFile } from "node:fs/promises";
import { isBuiltin } from "node:module";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { gzip } from "node:zlib";
import type { Metafile } from "esbuild";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));

export interface Bundle {
  name: string;
  file: string;
  /** Its paths are relative to this repository. */
  metafile: Metafile;
  rules: BundleRules;
}

/** What the bundle's platform demands and offers. */
export interface BundleRules {
  /** Node's own modules may be left to the platform. */
  builtins: boolean;
  /** Packages that the platform's builder adds by itself. */
  external: string[];
  gzipBytesMax: number;
}

export interface BundleReport {
  bytes: number;
  gzipBytes: number;
  /** Empty when the bundle may be deployed. */
  faults: string[];
}

/** Credentials that are public or should not be; QStash's SDK brings its own copy of the former. */
const CREDENTIALS: [RegExp, string][] = [
  [/\bsig_[A-Za-z0-9]{20,}/, "a QStash signing key"],
  [/\beyJ[A-Za-z0-9+/=_-]{20,}/, "a QStash token"],
  [/\bantrean-dev-key/, "the API key of the local mode"],
];

/** Checks a bundle against the rules of its platform and those that hold everywhere. */
export async function checkBundle({ file, metafile, rules }: Bundle): Promise<BundleReport> {
  const content = await readFile(file);
  const gzipBytes = (await promisify(gzip)(content, { level: 9 })).length;
  const faults = [
    ...(await inputFaults(metafile)),
    ...externalFaults(metafile, rules),
    ...(await credentialFaults(metafile)),
  ];
  if (gzipBytes > rules.gzipBytesMax) {
    faults.push(`${gzipBytes} bytes gzipped are more than ${rules.gzipBytesMax}`);
  }
  return { bytes: content.length, gzipBytes, faults };
}

/** Nothing of the local mode and the tests, and no package that is there for them only. */
async function inputFaults({ inputs }: Metafile): Promise<string[]> {
  const manifest = JSON.parse(await readFile(path.join(ROOT, "package.json"), "utf8"));
  const packages = Object.keys(manifest.devDependencies).map((name) => `node_modules/${name}/`);
  return Object.keys(inputs)
    .filter((input) => /^(dev|tests)\//.test(input) || packages.some((it) => input.includes(it)))
    .map((input) => `${input} is for development`);
}

function externalFaults({ outputs }: Metafile, rules: BundleRules): string[] {
  const left = Object.values(outputs).flatMap(({ imports }) =>
    imports.filter(({ external }) => external).map((each) => each.path),
  );
  const isAllowed = (name: string): boolean =>
    isBuiltin(name)
      ? rules.builtins
      : rules.external.some((each) => name === each || name.startsWith(`${each}/`));
  return [...new Set(left)].filter((name) => !isAllowed(name)).map((name) => `${name} is missing`);
}

async function credentialFaults({ inputs }: Metafile): Promise<string[]> {
  const own = Object.keys(inputs).filter((input) => !input.includes("node_modules/"));
  const faults = own.map(async (input) => {
    const source = await readFile(path.join(ROOT, input), "utf8");
    return CREDENTIALS.filter(([pattern]) => pattern.test(source)).map(
      ([, what]) => `${input} holds ${what}`,
    );
  });
  return (await Promise.all(faults)).flat();
}
