/** Tells public IP addresses from all others: only what the whole internet can route is public. */

import ipaddr from "ipaddr.js";

type IPv4 = InstanceType<typeof ipaddr.IPv4>;
type IPv6 = InstanceType<typeof ipaddr.IPv6>;

/** Azure's management endpoint for its guests: special although no registry lists it. */
const AZURE_WIRE_SERVER = "168.63.129.16";
/** IANA has given out addresses for global unicast from this block only. */
const GLOBAL_UNICAST = ipaddr.IPv6.parseCIDR("2000::/3");
/** The one NAT64 prefix that is known to lead to the internet; the local-use one is a site's own. */
const WELL_KNOWN_NAT64 = ipaddr.IPv6.parseCIDR("64:ff9b::/96");
const IPV4_COMPATIBLE = ipaddr.IPv6.parseCIDR("::/96");

/** Gives why an IP address must not be called, or null when it is a public one. */
export function addressRefusal(address: string): string | null {
  if (!ipaddr.isValid(address)) return `${address} is not an IP address`;
  const parsed = ipaddr.parse(address);
  const range = parsed instanceof ipaddr.IPv6 ? specialIPv6(parsed) : specialIPv4(parsed);
  return range === null ? null : `the address ${address} is not public (${hyphenated(range)})`;
}

function specialIPv4(address: IPv4): string | null {
  if (address.toString() === AZURE_WIRE_SERVER) return "cloudMetadata";
  const range = address.range();
  return range === "unicast" ? null : range;
}

function specialIPv6(address: IPv6): string | null {
  const range: string = address.range();
  const embedded = embeddedAddresses(address, range);
  if (embedded.length > 0) {
    return embedded.map(specialIPv4).find((special) => special !== null) ?? null;
  }
  if (range !== "unicast") return range;
  if (address.zoneId !== undefined) return "scoped";
  return address.match(GLOBAL_UNICAST) ? null : "unassigned";
}

/**
 * Finds the IPv4 addresses that a gateway would take out of an IPv6 address: calling the IPv6 form
 * is calling them, so they are what is judged.
 */
function embeddedAddresses(address: IPv6, range: string): IPv4[] {
  const [, p1 = 0, p2 = 0, p3 = 0, p4 = 0, p5 = 0, p6 = 0, p7 = 0] = address.parts;
  if (range === "ipv4Mapped" || range === "rfc6145") return [toIPv4(p6, p7)];
  if (range === "rfc6052") return address.match(WELL_KNOWN_NAT64) ? [toIPv4(p6, p7)] : [];
  if (range === "6to4") return [toIPv4(p1, p2)];
  // Teredo: the server as it is, the client with every bit turned.
  if (range === "teredo") return [toIPv4(p2, p3), toIPv4(p6 ^ 0xffff, p7 ^ 0xffff)];
  if (range === "unicast" && address.match(IPV4_COMPATIBLE)) return [toIPv4(p6, p7)];
  const isatap = (p4 === 0 || p4 === 0x200) && p5 === 0x5efe;
  return range === "unicast" && isatap ? [toIPv4(p6, p7)] : [];
}

function toIPv4(high: number, low: number): IPv4 {
  return new ipaddr.IPv4([high >> 8, high & 0xff, low >> 8, low & 0xff]);
}

function hyphenated(range: string): string {
  return range.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
}
