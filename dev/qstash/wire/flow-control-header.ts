import { ApiError } from "./api-error.js";
import { parseSecondsOrDurationMs } from "./duration.js";

/** What a message asks of its flow-control key. */
export interface FlowControlSetting {
  readonly key: string;
  readonly parallelism?: number;
  readonly rate?: number;
  readonly periodSeconds: number;
}

const maxPeriodSeconds = 7 * 86_400;

/** Reads `Upstash-Flow-Control-Key` and `-Value` ("parallelism=2, rate=5, period=60s"). */
export function parseFlowControl(headers: Headers): FlowControlSetting | undefined {
  const key = headers.get("upstash-flow-control-key");
  const value = headers.get("upstash-flow-control-value");
  if (!key && !value) return undefined;
  if (!key) throw new ApiError(400, "flow control value needs a flow control key");
  const fields = readFields(value ?? "");
  const setting = {
    key,
    parallelism: positive(fields, "parallelism"),
    rate: positive(fields, "rate"),
    periodSeconds: period(fields.get("period")),
  };
  if (setting.parallelism === undefined && setting.rate === undefined) {
    throw new ApiError(400, "flow control needs at least one of parallelism and rate");
  }
  return setting;
}

function readFields(value: string): Map<string, string> {
  const fields = new Map<string, string>();
  for (const part of value.split(",")) {
    if (part.trim() === "") continue;
    const [name = "", text = ""] = part.split("=").map((piece) => piece.trim());
    if (!["parallelism", "rate", "period"].includes(name)) {
      throw new ApiError(400, `invalid flow control value: ${part.trim()}`);
    }
    fields.set(name, text);
  }
  return fields;
}

function positive(fields: Map<string, string>, name: string): number | undefined {
  const text = fields.get(name);
  if (text === undefined) return undefined;
  if (!/^[1-9]\d{0,8}$/.test(text)) {
    throw new ApiError(400, `invalid flow control ${name}: ${text}`);
  }
  return Number(text);
}

function period(text: string | undefined): number {
  if (text === undefined) return 1;
  const seconds = (parseSecondsOrDurationMs(text) ?? 0) / 1000;
  if (seconds < 1 || seconds > maxPeriodSeconds) {
    throw new ApiError(400, `invalid flow control period: ${text}`);
  }
  return seconds;
}
