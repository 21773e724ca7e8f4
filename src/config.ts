/** The environment as a checked configuration; every fault is named in one message. */

import * as z from "zod/mini";
import { type ApiKey, ROLES } from "./core/access.js";
import { safeParse } from "./core/parse.js";

/** The platform that runs us decides defaults which the environment may override. */
export type Platform = "vercel" | "cloudflare" | "node";

export type Environment = Readonly<Record<string, string | undefined>>;

export interface Config {
  databaseUrl: string;
  databaseHttpUrl: string | undefined;
  qstashUrl: string;
  qstashToken: string;
  qstashCurrentSigningKey: string;
  qstashNextSigningKey: string;
  publicUrl: string;
  publicUrlPrevious: string | undefined;
  appName: string;
  apiKeys: ApiKey[];
  cronSecret: string | undefined;
  maxRunSeconds: number;
  sweepIntervalSeconds: number;
  sweepMaxSeconds: number;
  sweepMaxCalls: number;
  maxBodyBytes: number;
  maxBatchBodyBytes: number;
  idempotencyTtlHours: number;
  retentionDays: number;
  deadLetterRetentionDays: number;
  protectionBypass: string | undefined;
  /** Everything, for job handlers and their checks. */
  env: Environment;
}

/** The environment cannot be used; `message` lists every fault. */
export class ConfigError extends Error {
  readonly faults: string[];
  constructor(faults: string[]) {
    super(`The configuration has faults:\n${faults.map((fault) => `  - ${fault}`).join("\n")}`);
    this.name = "ConfigError";
    this.faults = faults;
  }
}

/** Shorter secrets can be guessed; the same bound for keys of every kind. */
const SECRET_LENGTH_MIN = 16;
/**
 * Neon takes 64 MB in one request. A batch travels there as JSON text inside of JSON, which doubles
 * every quote and backslash: twice this, and what each job adds, still fits.
 */
const BATCH_BODY_BYTES_MAX = 25_000_000;
const MAX_RUN_SECONDS: Record<Platform, number> = { vercel: 300, cloudflare: 900, node: 900 };

const secret = z
  .string()
  .check(z.minLength(SECRET_LENGTH_MIN, `must have at least ${SECRET_LENGTH_MIN} characters`));
const httpUrl = z.pipe(
  z.url({ protocol: /^https?$/, error: "must be an http(s) URL" }),
  z.transform((url) => url.replace(/\/+$/, "")),
);
const digits = z.string().check(z.regex(/^\d{1,9}$/, "must be a whole number"));
const wholeNumber = (min: number, max: number, fallback: number) => {
  const bounded = z
    .number()
    .check(z.minimum(min, `must be at least ${min}`), z.maximum(max, `must be at most ${max}`));
  return z._default(z.pipe(z.pipe(digits, z.transform(Number)), bounded), fallback);
};

/** Checked here, read where alerts are judged. */
const threshold = z.optional(
  z.string().check(z.regex(/^\d{1,9}$/, "must be a whole number; 0 turns the warning off")),
);

const originsSchema = z
  .string()
  .check(z.refine(isOriginList, "must list exact origins, such as https://app.example.com"));

const schemaFor = (platform: Platform) =>
  z.object({
    DATABASE_URL: z.string().check(z.refine(isPostgresUrl, "must be a postgres:// URL")),
    DATABASE_HTTP_URL: z.optional(httpUrl),
    QSTASH_URL: httpUrl,
    QSTASH_TOKEN: secret,
    QSTASH_CURRENT_SIGNING_KEY: secret,
    QSTASH_NEXT_SIGNING_KEY: secret,
    PUBLIC_URL: httpUrl,
    PUBLIC_URL_PREVIOUS: z.optional(httpUrl),
    APP_NAME: z.optional(z.string().check(z.minLength(1), z.maxLength(100))),
    API_KEYS: z.pipe(z.string(), z.transform(parseApiKeys)),
    CRON_SECRET: z.optional(secret),
    MAX_RUN_SECONDS: wholeNumber(30, 86_400, MAX_RUN_SECONDS[platform]),
    SWEEP_INTERVAL_SECONDS: wholeNumber(1, 86_400, 900),
    SWEEP_MAX_SECONDS: wholeNumber(1, 600, 20),
    SWEEP_MAX_CALLS: wholeNumber(15, 10_000, 40),
    MAX_BODY_BYTES: wholeNumber(1_024, 10_000_000, 262_144),
    MAX_BATCH_BODY_BYTES: wholeNumber(1_024, BATCH_BODY_BYTES_MAX, 4_000_000),
    IDEMPOTENCY_TTL_HOURS: wholeNumber(1, 8_760, 24),
    RETENTION_DAYS: wholeNumber(1, 3_650, 14),
    DEAD_LETTER_RETENTION_DAYS: wholeNumber(1, 3_650, 90),
    CORS_ORIGINS: z.optional(originsSchema),
    ALERT_WEBHOOK_URL: z.optional(httpUrl),
    ALERT_BACKLOG_AGE_SECONDS: threshold,
    ALERT_DEAD_LETTERS: threshold,
    ALERT_EXPIRED_LEASES: threshold,
    ALERT_PUBLISH_FAILURES: threshold,
    VERCEL_AUTOMATION_BYPASS_SECRET: z.optional(z.string()),
  });

/**
 * Reads the environment; refuses rather than run open.
 *
 * Errors: `ConfigError` with every fault by the variable's name, never with its value.
 */
export function readConfig(env: Environment, platform: Platform): Config {
  // A variable that is set but empty is as good as unset on every platform's settings page.
  const given = Object.fromEntries(Object.entries(env).filter(([, value]) => value?.trim()));
  const faults = deploymentFaults(given);
  const parsed = safeParse(schemaFor(platform), {
    ...given,
    PUBLIC_URL: given.PUBLIC_URL ?? vercelUrl(given),
  });
  if (!parsed.success) {
    for (const { path, message } of parsed.error.issues) {
      const [name] = path;
      const missing = given[String(name)] === undefined;
      faults.push(`${String(name)} ${missing ? "is missing" : message}`);
    }
  }
  if (!parsed.success || faults.length > 0) throw new ConfigError(faults);
  const read = parsed.data;
  return {
    databaseUrl: read.DATABASE_URL,
    databaseHttpUrl: read.DATABASE_HTTP_URL,
    qstashUrl: read.QSTASH_URL,
    qstashToken: read.QSTASH_TOKEN,
    qstashCurrentSigningKey: read.QSTASH_CURRENT_SIGNING_KEY,
    qstashNextSigningKey: read.QSTASH_NEXT_SIGNING_KEY,
    publicUrl: read.PUBLIC_URL,
    publicUrlPrevious: read.PUBLIC_URL_PREVIOUS,
    appName: read.APP_NAME ?? new URL(read.PUBLIC_URL).host,
    apiKeys: read.API_KEYS,
    cronSecret: read.CRON_SECRET,
    maxRunSeconds: read.MAX_RUN_SECONDS,
    sweepIntervalSeconds: read.SWEEP_INTERVAL_SECONDS,
    sweepMaxSeconds: read.SWEEP_MAX_SECONDS,
    sweepMaxCalls: read.SWEEP_MAX_CALLS,
    maxBodyBytes: read.MAX_BODY_BYTES,
    maxBatchBodyBytes: read.MAX_BATCH_BODY_BYTES,
    idempotencyTtlHours: read.IDEMPOTENCY_TTL_HOURS,
    retentionDays: read.RETENTION_DAYS,
    deadLetterRetentionDays: read.DEAD_LETTER_RETENTION_DAYS,
    protectionBypass: read.VERCEL_AUTOMATION_BYPASS_SECRET,
    env: given,
  };
}

/** Settings that must not meet a deployment, or not without another. */
function deploymentFaults(env: Environment): string[] {
  const faults: string[] = [];
  if (env.QSTASH_DEV !== undefined) {
    // The QStash SDK's dev mode outranks explicit keys in some of its versions.
    faults.push("QSTASH_DEV is set: it makes QStash's SDK accept a public signing key; unset it");
  }
  if (env.ALERT_WEBHOOK_URL !== undefined && env.ALERT_WEBHOOK_SECRET === undefined) {
    faults.push("ALERT_WEBHOOK_SECRET is missing: alerts to ALERT_WEBHOOK_URL are signed with it");
  }
  return faults;
}

/** The stable address of a Vercel deployment; VERCEL_URL changes under messages in flight. */
export function vercelUrl(env: Environment): string | undefined {
  const host =
    env.VERCEL_ENV === "production" ? env.VERCEL_PROJECT_PRODUCTION_URL : env.VERCEL_BRANCH_URL;
  return host && `https://${host}`;
}

function isPostgresUrl(text: string): boolean {
  return URL.canParse(text) && /^postgres(ql)?:$/.test(new URL(text).protocol);
}

function isOriginList(text: string): boolean {
  const origins = text.split(",").map((origin) => origin.trim());
  return origins
    .filter(Boolean)
    .every((origin) => URL.canParse(origin) && new URL(origin).origin === origin);
}

function parseApiKeys(text: string, { issues }: z.core.ParsePayload): ApiKey[] {
  const fault = (message: string): void => {
    issues.push({ code: "custom", message, input: undefined });
  };
  const entries = text.split(",").map((entry) => entry.trim());
  const keys = entries.filter(Boolean).flatMap((entry, at): ApiKey[] => {
    const match = /^([^:\s]{1,100}):([a-z]+):(\S+)$/.exec(entry);
    const [, name = "", role = "", value = ""] = match ?? [];
    const known = ROLES.find((each) => each === role);
    if (!match) fault(`entry ${at + 1} must be name:role:secret`);
    else if (!known) fault(`entry ${at + 1} has no role of ${ROLES.join(", ")}`);
    else if (value.length < SECRET_LENGTH_MIN) {
      fault(`entry ${at + 1} has a secret of fewer than ${SECRET_LENGTH_MIN} characters`);
    } else return [{ name, role: known, secret: value }];
    return [];
  });
  if (!entries.some(Boolean)) fault("must hold at least one entry name:role:secret");
  // Whose request would it be?
  if (new Set(keys.map((key) => key.secret)).size < keys.length) fault("has one secret twice");
  return keys;
}
