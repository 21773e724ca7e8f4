/** A time limit on calls of QStash's client, which has none of its own. */

/** Gives the call's answer; throws when there is none within so many seconds. */
export async function withinLimit<Answer>(
  call: Promise<Answer>,
  seconds: number,
  sleep: (milliseconds: number, signal?: AbortSignal) => Promise<void>,
): Promise<Answer> {
  const done = new AbortController();
  const limit = sleep(seconds * 1000, done.signal).then((): never => {
    throw new Error(`no answer within ${seconds} s`);
  });
  // The limit that was called off ends as well, after everybody has stopped listening.
  limit.catch(() => undefined);
  try {
    return await Promise.race([call, limit]);
  } finally {
    done.abort();
  }
}
