/** A time limit on calls of QStash's client, which has none of its own. */

/** QStash did not answer in time; whether it took what it was sent is not known. */
export class NoAnswerError extends Error {
  constructor(seconds: number) {
    super(`no answer within ${seconds} s`);
    this.name = "NoAnswerError";
  }
}

/**
 * Gives the call's answer.
 *
 * Errors: `NoAnswerError` when there is none within so many seconds.
 */
export async function withinLimit<Answer>(
  call: Promise<Answer>,
  seconds: number,
  sleep: (milliseconds: number, signal?: AbortSignal) => Promise<void>,
): Promise<Answer> {
  const done = new AbortController();
  const limit = sleep(seconds * 1000, done.signal).then((): never => {
    throw new NoAnswerError(seconds);
  });
  // The limit that was called off ends as well, after everybody has stopped listening.
  limit.catch(() => undefined);
  try {
    return await Promise.race([call, limit]);
  } finally {
    done.abort();
  }
}
