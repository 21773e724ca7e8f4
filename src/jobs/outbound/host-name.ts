/**
 * Judges host names by their text alone.
 *
 * A name can still resolve to an inside address. Where we resolve names ourselves, the guarded
 * fetch of the Node entry judges what the name resolves to; where the platform resolves them
 * (Cloudflare), this text check and the platform's own separation from private networks remain.
 */

import ipaddr from "ipaddr.js";
import { addressRefusal } from "./ip-address.js";

/** Top-level and special-use domains that only ever mean a machine or network of somebody's own. */
const INSIDE_DOMAINS = [
  "localhost",
  "localdomain",
  "local",
  "internal",
  "home.arpa",
  "in-addr.arpa",
  "ip6.arpa",
  "intranet",
  "private",
  "corp",
  "home",
  "lan",
  "svc",
  "onion",
];

/** Public names of cloud metadata services, and public names that exist to mean 127.0.0.1. */
const INSIDE_NAMES = [
  "metadata.goog",
  "metadata.tencentyun.com",
  "metadata.platformequinix.com",
  "metadata.packet.net",
  "localtest.me",
  "lvh.me",
  "vcap.me",
  "lacolhost.com",
];

/** Services that resolve any address written into a name, in hexadecimal and as IPv6 too. */
const ADDRESS_IN_NAME_SERVICES = ["nip.io", "sslip.io", "xip.io", "traefik.me", "backname.io"];

/** Gives why a host name must not be called, or null when its text gives no reason. */
export function hostNameRefusal(name: string): string | null {
  const labels = name.split(".");
  if (labels.includes("")) return `the host name ${name} has an empty part`;
  if (labels.length === 1) {
    return `the host name ${name} has no domain: it can only name a machine of somebody's own network`;
  }
  const inside = [...INSIDE_DOMAINS, ...INSIDE_NAMES].some((domain) => isWithin(name, domain));
  if (inside) return `the host name ${name} is not a public one`;
  for (const address of addressesInName(name, labels)) {
    const refusal = addressRefusal(address);
    if (refusal !== null) return `the host name ${name} contains an address: ${refusal}`;
  }
  return null;
}

function isWithin(name: string, domain: string): boolean {
  return name === domain || name.endsWith(`.${domain}`);
}

/** Lists every address that a resolver of such names could read, at any position. */
function addressesInName(name: string, labels: string[]): string[] {
  const parts = name.split(/[.-]/);
  const found = parts
    .map((_, start) => parts.slice(start, start + 4))
    .filter((four) => four.length === 4 && four.every(isOctet))
    .map((four) => four.map(Number).join("."));
  // Only these services read other forms; anywhere else eight hexadecimal digits are a plain word.
  if (ADDRESS_IN_NAME_SERVICES.some((domain) => isWithin(name, domain))) {
    found.push(...parts.filter((part) => /^[0-9a-f]{8}$/.test(part)).map(fromHexadecimal));
    found.push(
      ...labels
        .map((label) => label.replaceAll("-", ":"))
        .filter((text) => ipaddr.IPv6.isValid(text)),
    );
  }
  return found;
}

function isOctet(part: string): boolean {
  return /^\d{1,3}$/.test(part) && Number(part) <= 255;
}

function fromHexadecimal(digits: string): string {
  return [0, 2, 4, 6].map((at) => Number.parseInt(digits.slice(at, at + 2), 16)).join(".");
}
