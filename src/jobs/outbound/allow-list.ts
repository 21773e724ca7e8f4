/**
 * Reads OUTBOUND_ALLOW: comma-separated hosts, exact names or addresses.
 *
 * `host` opens a host that is refused otherwise, at the ports that are open to everybody;
 * `host:port` opens exactly that port of that host, `host:*` every one (for a machine of one's own).
 */

/** Ports of web servers; any other may be a database, a mail server or a shell. */
export const OPEN_PORTS: readonly number[] = [80, 443, 8080, 8443];

interface AllowedPlace {
  host: string;
  opens(port: number): boolean;
}

const ENTRY_PATTERN = /^(?<host>\[[^\]]+\]|[^:]+)(?::(?<port>\d{1,5}|\*))?$/;

/** Tells whether OUTBOUND_ALLOW opens this URL's host at its port. */
export function isAllowedPlace(url: URL, allow: string | undefined): boolean {
  const host = hostOf(url);
  const port = portOf(url);
  return entriesOf(allow)
    .map(readEntry)
    .some((place) => place?.host === host && place.opens(port));
}

/** Lists the entries that cannot be read; they open nothing, so the configuration refuses them. */
export function unreadableAllowEntries(allow: string | undefined): string[] {
  return entriesOf(allow).filter((entry) => readEntry(entry) === null);
}

/** Gives a URL's host as policies compare it: canonical, without the root's trailing dot. */
export function hostOf(url: URL): string {
  return url.hostname.replace(/\.$/, "");
}

/** Gives the port that a call of the URL really uses. */
export function portOf(url: URL): number {
  if (url.port !== "") return Number(url.port);
  return url.protocol === "https:" ? 443 : 80;
}

function entriesOf(allow: string | undefined): string[] {
  return (allow ?? "")
    .split(",")
    .map((entry) => entry.trim())
    .filter((entry) => entry !== "");
}

function readEntry(entry: string): AllowedPlace | null {
  // An IPv6 address without brackets has colons of its own, so it cannot carry a port.
  const bareIPv6 = entry.split(":").length > 2 && !entry.startsWith("[");
  const match = ENTRY_PATTERN.exec(bareIPv6 ? `[${entry}]` : entry);
  const { host, port } = match?.groups ?? {};
  // The URL parser brings a name or address into the form that `hostOf` gives.
  if (host === undefined || /[\s/?#@*\\]/.test(host) || !URL.canParse(`http://${host}/`))
    return null;
  const place = { host: hostOf(new URL(`http://${host}/`)) };
  if (port === undefined) return { ...place, opens: (asked) => OPEN_PORTS.includes(asked) };
  if (port === "*") return { ...place, opens: () => true };
  const only = Number(port);
  return only >= 1 && only <= 65_535 ? { ...place, opens: (asked) => asked === only } : null;
}
