import type { IncomingMessage } from "node:http";

/** Reads a whole request body; undefined when it is larger than allowed. */
export async function readBytes(
  request: IncomingMessage,
  maxBytes: number,
): Promise<Buffer | undefined> {
  const chunks: Buffer[] = [];
  let sizeBytes = 0;
  // What is too much is read all the same, though not kept: a client that is still sending would
  // not see our answer.
  for await (const chunk of request as AsyncIterable<Buffer>) {
    sizeBytes += chunk.length;
    if (sizeBytes <= maxBytes) chunks.push(chunk);
  }
  return sizeBytes <= maxBytes ? Buffer.concat(chunks) : undefined;
}
