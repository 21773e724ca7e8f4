import { parseArgs } from "node:util";
import { type QstashOptions, startQstash } from "./start.js";

const help = `A QStash stand-in for one's own machine: in memory, on 127.0.0.1 only.

  npm run qstash -- [options]

  --port <n>            port (QSTASH_PORT or QSTASH_DEV_PORT; default 8080)
  --quota <plan>        free, payg or pro: limits as in that plan (QSTASH_DEV_QUOTA; default payg)
  --speed <n>           run the clock n times as fast: delays, backoff and schedules (default 1)
  --rewrite <from=to>   call another address for destinations that start with <from>; repeatable
  --region <name>       EU-CENTRAL-1 or US-EAST-1, sent as Upstash-Region (default EU-CENTRAL-1)
  --nbf <zero|iat>      the nbf claim of signatures (default zero)
  --seed <n>            repeats faults by chance (default 1)
  --resolve-hosts       refuse destinations whose host does not resolve
  --refuse-loopback     refuse destinations on this machine, as the service does
  --help

Time and faults are controlled over HTTP below /__dev, for example:

  curl -d '{"by": "10m"}' http://127.0.0.1:8080/__dev/advance
`;

async function main(): Promise<void> {
  const values = readArguments();
  if (values.help) {
    process.stdout.write(help);
    return;
  }
  const qstash = await startQstash(toOptions(values));
  const keys = qstash.keys();
  process.stdout.write(
    [
      `QSTASH_URL=${qstash.url}`,
      `QSTASH_TOKEN=${qstash.token}`,
      `QSTASH_CURRENT_SIGNING_KEY=${keys.current}`,
      `QSTASH_NEXT_SIGNING_KEY=${keys.next}`,
      "",
    ].join("\n"),
  );
  for (const signal of ["SIGINT", "SIGTERM"] as const) {
    process.once(signal, () => void qstash.close());
  }
}

function readArguments() {
  const text = { type: "string" } as const;
  const flag = { type: "boolean", default: false } as const;
  const { values } = parseArgs({
    options: {
      port: text,
      quota: text,
      speed: text,
      rewrite: { type: "string", multiple: true },
      region: text,
      nbf: text,
      seed: text,
      "resolve-hosts": flag,
      "refuse-loopback": flag,
      help: flag,
    },
  });
  return values;
}

function toOptions(values: ReturnType<typeof readArguments>): QstashOptions {
  const { env } = process;
  const port = values.port ?? env.QSTASH_PORT ?? env.QSTASH_DEV_PORT ?? "8080";
  return {
    port: numberOf("--port", port),
    portVariable: "QSTASH_PORT",
    quota: oneOf("--quota", values.quota ?? env.QSTASH_DEV_QUOTA ?? "payg", [
      "free",
      "payg",
      "pro",
    ]),
    speed: speedOf(values.speed ?? "1"),
    rewrite: Object.fromEntries((values.rewrite ?? []).map(parseRewrite)),
    region: oneOf("--region", values.region ?? "EU-CENTRAL-1", ["EU-CENTRAL-1", "US-EAST-1"]),
    nbf: oneOf("--nbf", values.nbf ?? "zero", ["zero", "iat"]),
    seed: numberOf("--seed", values.seed ?? "1"),
    strict: {
      resolveHosts: values["resolve-hosts"],
      refuseLoopback: values["refuse-loopback"],
    },
  };
}

function parseRewrite(text: string): [from: string, to: string] {
  const [, from, to] = /^(https?:\/\/[^=]+?)\/?=(https?:\/\/.+?)\/?$/.exec(text) ?? [];
  if (!from || !to) {
    throw new Error(`--rewrite needs http://from=http://to, not "${text}"`);
  }
  return [from, to];
}

function speedOf(text: string): number {
  const speed = numberOf("--speed", text);
  if (speed === 0) throw new Error("--speed 0 would stop the clock");
  return speed;
}

function numberOf(name: string, text: string): number {
  const value = Number(text);
  if (text.trim() === "" || !Number.isFinite(value) || value < 0) {
    throw new Error(`${name} needs a number, not "${text}"`);
  }
  return value;
}

function oneOf<const T extends string>(name: string, text: string, allowed: readonly T[]): T {
  const found = allowed.find((each) => each === text);
  if (!found) throw new Error(`${name} needs one of ${allowed.join(", ")}, not "${text}"`);
  return found;
}

main().catch((error: unknown) => {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
});
