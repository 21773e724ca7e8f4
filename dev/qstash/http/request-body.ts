import * as z from "zod";
import { ApiError } from "../wire/api-error.js";
import { toHeaders } from "../wire/headers.js";

const batchSchema = z.array(
  z.object({
    destination: z.string(),
    headers: z.record(z.string(), z.union([z.string(), z.array(z.string())])).default({}),
    body: z.string().default(""),
    queue: z.string().optional(),
  }),
);

/** One message of a batch. */
export interface BatchItem {
  readonly destination: string;
  readonly headers: Headers;
  readonly body: Buffer;
  readonly queueName?: string;
}

/** Reads a batch request's body; throws an ApiError (400) when it is none. */
export function readBatch(body: Buffer): BatchItem[] {
  return parseBody(body, batchSchema).map(({ destination, headers, body, queue }) => ({
    destination,
    headers: toHeaders(Object.entries(headers)),
    body: Buffer.from(body),
    queueName: queue,
  }));
}

/** Reads a JSON request body that must fit a schema; throws an ApiError (400) otherwise. */
export function parseBody<T>(body: Buffer, schema: z.ZodType<T>): T {
  let value: unknown;
  try {
    value = JSON.parse(body.toString());
  } catch {
    throw new ApiError(400, "request body is not valid JSON");
  }
  const result = schema.safeParse(value);
  if (!result.success)
    throw new ApiError(400, `invalid request body: ${z.prettifyError(result.error)}`);
  return result.data;
}
