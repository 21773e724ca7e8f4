/** Cuts a list of jobs into requests that the server takes. */

/** The server's own limit. */
const JOBS_MAX = 500;
const FRAME = { open: '{"jobs":[', close: "]}" } as const;

export interface Batch {
  /** The position in the whole list of the batch's first job. */
  first: number;
  body: string;
}

/**
 * Writes the bodies of batch requests, as few as the limits allow and always the same ones for the
 * same jobs, so that each can have a key that stands for it.
 *
 * Shape: a job that is too large by itself stands alone, for the server to refuse.
 */
export function batchesOf(jobs: readonly unknown[], bytesMax: number): Batch[] {
  const encoder = new TextEncoder();
  const batches: { first: number; texts: string[]; bytes: number }[] = [];
  for (const [at, job] of jobs.entries()) {
    const text = JSON.stringify(job);
    // With the comma that separates it from the next.
    const bytes = encoder.encode(text).length + 1;
    const last = batches.at(-1);
    if (last && last.texts.length < JOBS_MAX && last.bytes + bytes <= bytesMax) {
      last.texts.push(text);
      last.bytes += bytes;
    } else {
      const frameBytes = FRAME.open.length + FRAME.close.length - 1;
      batches.push({ first: at, texts: [text], bytes: frameBytes + bytes });
    }
  }
  return batches.map(({ first, texts }) => ({
    first,
    body: FRAME.open + texts.join(",") + FRAME.close,
  }));
}
