/** Reads the body of an answer up to a number of bytes and not a byte further. */

export interface CappedText {
  text: string;
  /** There was more than the cap let through. */
  truncated: boolean;
}

/**
 * Reads a body as UTF-8 text and cancels it at the cap, so that an endless body or an unpacked
 * bomb ends here, with no more than one chunk beyond the cap in memory.
 *
 * Errors: throws the signal's reason when it aborts, also while the sender is silent.
 */
export async function readCapped(
  body: ReadableStream<Uint8Array> | null,
  bytesMax: number,
  signal: AbortSignal,
): Promise<CappedText> {
  if (body === null) return { text: "", truncated: false };
  const reader = body.getReader();
  const cancel = () => {
    // What the sender thinks of it is of no interest any more.
    reader.cancel(signal.reason).catch(() => undefined);
  };
  // A cancelled stream settles its pending read, whatever is behind the stream.
  signal.addEventListener("abort", cancel, { once: true });
  try {
    return await readChunks(reader, bytesMax, signal);
  } finally {
    signal.removeEventListener("abort", cancel);
    cancel();
  }
}

async function readChunks(
  reader: ReadableStreamDefaultReader<Uint8Array>,
  bytesMax: number,
  signal: AbortSignal,
): Promise<CappedText> {
  const decoder = new TextDecoder();
  let text = "";
  let bytesLeft = bytesMax;
  for (;;) {
    signal.throwIfAborted();
    const { done, value } = await reader.read();
    signal.throwIfAborted();
    if (done) return { text: text + decoder.decode(), truncated: false };
    text += decoder.decode(value.subarray(0, bytesLeft), { stream: true });
    // The decoder keeps a character that the cap cut in two to itself: it is left out.
    if (value.length > bytesLeft) return { text, truncated: true };
    bytesLeft -= value.length;
  }
}

/** Makes text storable as JSON of at most a number of bytes: escapes can be six times the text. */
export function fitJsonText({ text, truncated }: CappedText, jsonBytesMax: number): CappedText {
  // Postgres cannot store U+0000 in JSON.
  const storable = text.replaceAll("\u0000", "\ufffd").toWellFormed();
  const bytes = new TextEncoder().encode(JSON.stringify(storable)).length;
  if (bytes <= jsonBytesMax) return { text: storable, truncated };
  // The share that would fit if the text were alike throughout; a few rounds reach one that does.
  const length = Math.floor((storable.length * jsonBytesMax) / bytes) - 1;
  return fitJsonText({ text: storable.slice(0, length), truncated: true }, jsonBytesMax);
}
