/** The ids of actions: a form names its own, so that a second submit repeats the first. */

/**
 * Makes the engine's id of an action from what a form carries.
 *
 * Shape: hashed with the key's name, so that nobody can name an action of another tenant, and with
 *        the path, so that no form repeats another one's; written as a UUID of version 8.
 */
export async function actionIdOf(keyName: string, path: string, given: string): Promise<string> {
  const text = new TextEncoder().encode(`${keyName}\n${path}\n${given}`);
  const bytes = new Uint8Array(await crypto.subtle.digest("SHA-256", text)).slice(0, 16);
  bytes[6] = ((bytes[6] ?? 0) & 0x0f) | 0x80;
  bytes[8] = ((bytes[8] ?? 0) & 0x3f) | 0x80;
  const digits = Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
  return digits.replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-");
}
