/** Unexpected errors as log fields. */

const TEXT_LENGTH_MAX = 300;

/**
 * Describes an error without what it was made from.
 *
 * Shape: only the first line of the message, since drivers add a statement's parameters, and so
 *        payloads, in the lines below; the code is an SQLSTATE where Postgres refused.
 */
export function describeError(thrown: unknown): { error: string; errorCode?: string } {
  if (!(thrown instanceof Error)) return { error: `a value of type ${typeof thrown} was thrown` };
  const [firstLine = ""] = thrown.message.split("\n");
  const error = `${thrown.name}: ${firstLine}`.slice(0, TEXT_LENGTH_MAX);
  const errorCode = [thrown, thrown.cause].map(codeOf).find((code) => code !== undefined);
  return { error, errorCode };
}

function codeOf(thrown: unknown): string | undefined {
  const code = (thrown as { code?: unknown } | null | undefined)?.code;
  return typeof code === "string" ? code.slice(0, TEXT_LENGTH_MAX) : undefined;
}
