import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { urlRefusal } from "../../src/jobs/outbound/address-policy.js";
import { unreadableAllowEntries } from "../../src/jobs/outbound/allow-list.js";
import { addressRefusal } from "../../src/jobs/outbound/ip-address.js";

/** Gives the URLs that get through: a failing test names them. */
const callable = (urls: string[], allow?: string) =>
  urls.filter((url) => urlRefusal(url, allow) === null);

const openHosts = (hosts: string[]) => callable(hosts.map((host) => `http://${host}/`));

describe("Q01: no URL leads to an address that is not public", () => {
  test("whatever the private range", () => {
    const hosts = [
      ["169.254.169.254", "169.254.0.1", "127.0.0.1", "127.255.255.254", "10.0.0.1"],
      ["10.255.255.255", "192.168.1.1", "172.16.0.1", "172.31.255.255", "100.64.0.1"],
      ["100.127.255.255", "0.0.0.0", "0.1.2.3", "224.0.0.1", "239.255.255.255", "240.0.0.1"],
      ["255.255.255.255", "192.0.0.192", "192.0.2.1", "198.51.100.7", "203.0.113.9"],
      ["198.18.0.1", "198.19.255.255", "192.88.99.1", "168.63.129.16", "100.100.100.200"],
      ["[::1]", "[::]", "[fd00::1]", "[fc00::1]", "[fe80::1]", "[febf::1]", "[fec0::1]"],
      ["[ff02::1]", "[2001:db8::1]", "[3fff::1]", "[2001:2::1]", "[100::1]", "[5f00::1]"],
      ["[4000::1]", "[fd00:ec2::254]"],
    ].flat();
    expect(openHosts(hosts)).toEqual([]);
  });

  test("however the address is spelled", () => {
    const hosts = [
      ["0x7f.1", "0x7f000001", "2130706433", "0177.0.0.1", "017700000001", "127.1", "127.0.1"],
      ["0", "127.0.0.1.", "0xA9.0xFE.0xA9.0xFE", "0251.0376.0251.0376", "2852039166"],
      ["１２７.０.０.１", "①②⑦.⓪.⓪.①", "127。0。0。1", "%31%32%37.0.0.1", "%31%30%2e0.0.1"],
      ["[0:0:0:0:0:0:0:1]", "[::0001]", "[FD00::1]"],
    ].flat();
    expect(openHosts(hosts)).toEqual([]);
    expect(callable(["http:\\\\10.0.0.1\\x", "http:///10.0.0.1/", "HTTP://10.0.0.1"])).toEqual([]);
  });

  test("inside whichever IPv6 form a gateway would take it out of", () => {
    const hosts = [
      ["[::ffff:127.0.0.1]", "[::ffff:a9fe:a9fe]", "[::ffff:0:10.0.0.1]", "[::127.0.0.1]"],
      ["[::a00:1]", "[64:ff9b::10.0.0.1]", "[64:ff9b::169.254.169.254]", "[64:ff9b:1::8.8.8.8]"],
      ["[64:ff9b:1:a00:0:100::]", "[2002:7f00:1::]", "[2002:c0a8:101::1]"],
      // Teredo: a private server, then a private client (its bits are turned).
      ["[2001:0:a00:1::f7f7:f7f7]", "[2001:0:808:808::f5ff:fffe]"],
      ["[2a00:1450:4001::5efe:a00:1]", "[2a00:1450:4001:0:200:5efe:192.168.0.1]"],
    ].flat();
    expect(openHosts(hosts)).toEqual([]);
  });

  test("in every spelling of every private IPv4 address", () => {
    const byte = fc.integer({ min: 0, max: 255 });
    const privateAddress = fc.oneof(
      fc.tuple(fc.constantFrom(0, 10, 127, 240, 255), byte, byte, byte),
      fc.tuple(fc.constant(192), fc.constant(168), byte, byte),
      fc.tuple(fc.constant(169), fc.constant(254), byte, byte),
      fc.tuple(fc.constant(172), fc.integer({ min: 16, max: 31 }), byte, byte),
      fc.tuple(fc.constant(100), fc.integer({ min: 64, max: 127 }), byte, byte),
      fc.tuple(fc.integer({ min: 224, max: 239 }), byte, byte, byte),
    );
    fc.assert(
      fc.property(privateAddress, (octets) => {
        expect(openHosts(spellingsOf(octets))).toEqual([]);
      }),
      { numRuns: 300 },
    );
  });

  test("and public ones stay callable, also in IPv6 forms", () => {
    const hosts = [
      ["8.8.8.8", "1.1.1.1", "100.63.255.255", "100.128.0.1", "172.15.0.1", "172.32.0.1"],
      ["169.253.1.1", "192.167.1.1", "223.255.255.254", "[2606:4700::1111]", "[2a00:1450::1]"],
      ["[::ffff:8.8.8.8]", "[64:ff9b::8.8.8.8]", "[2002:808:808::]"],
    ].flat();
    expect(hosts.filter((host) => urlRefusal(`http://${host}/`, undefined) !== null)).toEqual([]);
  });

  test("and what is no address at all is refused", () => {
    expect(addressRefusal("")).not.toBeNull();
    expect(addressRefusal("example.com")).not.toBeNull();
    expect(addressRefusal("fe80::1%eth0")).not.toBeNull();
    expect(addressRefusal("2606:4700::1111%eth0")).not.toBeNull();
  });
});

/** Each text that some parser or gateway reads as these four octets. */
function spellingsOf(octets: [number, number, number, number]): string[] {
  const [a, b, c, d] = octets;
  const number = ((a * 256 + b) * 256 + c) * 256 + d;
  const dotted = octets.join(".");
  const groups = `${(a * 256 + b).toString(16)}:${(c * 256 + d).toString(16)}`;
  return [
    ...[dotted, `${dotted}.`, String(number), `0x${number.toString(16)}`],
    `0${number.toString(8)}`,
    octets.map((octet) => `0x${octet.toString(16)}`).join("."),
    octets.map((octet) => `0${octet.toString(8)}`).join("."),
    `${a}.${b}.${c * 256 + d}`,
    ...[`[::ffff:${groups}]`, `[::${groups}]`, `[64:ff9b::${groups}]`, `[2002:${groups}::1]`],
    ...[
      `${dotted}.nip.io`,
      `app.${octets.join("-")}.sslip.io`,
      `x-${octets.join("-")}.example.com`,
    ],
    `${number.toString(16).padStart(8, "0")}.nip.io`,
  ];
}

describe("Q01: no URL leads to a machine of somebody's own network by its name", () => {
  test("names of this machine, of local networks and of cloud metadata are refused", () => {
    const hosts = [
      ["localhost", "localhost:3000", "LOCALHOST", "localhost.", "a.localhost", "ⓛⓞⓒⓐⓛⓗⓞⓢⓣ"],
      ["printer.local", "db.internal", "metadata.google.internal", "metadata.google.internal."],
      ["host.docker.internal", "nas.home.arpa", "router.lan", "x.corp", "x.localdomain"],
      ["kubernetes.default.svc", "kubernetes.default.svc.cluster.local", "metadata.goog"],
      ["metadata", "postgres", "intranet", "com", "a..example.com", "example.com.."],
      ["1.0.0.127.in-addr.arpa", "localtest.me", "a.b.lvh.me"],
    ].flat();
    expect(openHosts(hosts)).toEqual([]);
  });

  test("ordinary names stay callable, also such as only look alike", () => {
    const hosts = [
      ["example.com", "example.com.", "localhost.example.com", "internal.example.com", "bücher.de"],
      ["mylocal.example", "notlocalhost.com", "api-v1.example.com", "ec2-52-1-2-3.example.com"],
      ["deadbeef.example.com", "0a000001.example.com", "xn--bcher-kva.de", "1-2-3.example.com"],
    ].flat();
    expect(hosts.filter((host) => urlRefusal(`https://${host}/`, undefined) !== null)).toEqual([]);
  });
});

test("Q06: a name that carries a private address is refused before anything resolves it", () => {
  const hosts = [
    ["127.0.0.1.nip.io", "10.0.0.1.nip.io", "app.192.168.1.1.nip.io", "app-10-0-0-1.nip.io"],
    ["7f000001.nip.io", "app-c0a80101.nip.io", "169-254-169-254.sslip.io", "--1.sslip.io"],
    ["fe80--1.sslip.io", "www.fd00--1.sslip.io", "1.2.127.0.0.1.example.com"],
    ["10-0-0-1.compute.example.com", "127.0.0.1.example.com", "127.0.0.1.NIP.IO."],
  ].flat();
  expect(openHosts(hosts)).toEqual([]);
  expect(urlRefusal("http://8.8.8.8.nip.io/", undefined)).toBeNull();
  expect(urlRefusal("http://2606-4700--1111.sslip.io/", undefined)).toBeNull();
});

describe("Q09: only http and https, only ports of web servers", () => {
  test("every other scheme is refused", () => {
    const urls = [
      ["file:///etc/passwd", "data:text/plain,hi", "ftp://example.com/", "gopher://example.com/"],
      ["ws://example.com/", "wss://example.com/", "javascript:alert(1)", "blob:http://a.com/1"],
      ["ldap://example.com/", "dict://example.com:11211/", "about:blank", "mailto:a@example.com"],
      [
        "jar:http://example.com!/",
        "redis://example.com",
        "//example.com/",
        "example.com",
        "/x",
        "",
      ],
    ].flat();
    expect(callable(urls)).toEqual([]);
  });

  test("every other port is refused, and the usual ones are not", () => {
    const closed = [0, 1, 22, 25, 53, 79, 110, 143, 445, 587, 2375, 3000, 3306, 5432, 6379, 9200];
    expect(callable(closed.map((port) => `http://example.com:${port}/`))).toEqual([]);
    expect(callable(["http://example.com:65536/", "https://example.com:22/"])).toEqual([]);
    const open = [":80", ":443", ":8080", ":8443", ""].map((port) => `http://example.com${port}/`);
    expect(callable(open)).toEqual(open);
  });

  test("credentials, white space and control characters are refused and not repeated", () => {
    const urls = [
      [
        "http://user:secret@example.com/",
        "http://user@example.com/",
        "http://:secret@example.com/",
      ],
      [
        "http://example.com/a b",
        " http://example.com/",
        "http://exam\nple.com/",
        "http://a.com/\t",
      ],
      [
        "http://example.com/\u0000",
        "http://example.com@10.0.0.1/",
        "http://example.com#@10.0.0.1/",
      ],
    ].flat();
    expect(callable(urls)).toEqual(["http://example.com#@10.0.0.1/"]);
    for (const url of ["http://u:secret@example.com/", "http://10.0.0.1/p?token=secret"]) {
      expect(urlRefusal(url, undefined)).not.toContain("secret");
    }
  });
});

describe("OUTBOUND_ALLOW opens exactly what it names", () => {
  test("host:port opens that port of that host and nothing beside it", () => {
    const allow = "127.0.0.1:3000, db.internal:5432,[::1]:9000";
    const open = ["http://127.0.0.1:3000/", "http://0x7f.1:3000/", "http://db.internal:5432/x"];
    expect(callable([...open, "http://[::1]:9000/"], allow)).toHaveLength(4);
    const closed = ["http://127.0.0.1/", "http://127.0.0.1:3001/", "http://127.0.0.2:3000/"];
    const others = ["http://db.internal/", "http://x.db.internal:5432/", "http://[::1]/"];
    expect(callable([...closed, ...others, "ftp://127.0.0.1:3000/"], allow)).toEqual([]);
  });

  test("host opens a host at the ports that are open to everybody", () => {
    const allow = "::1,Printer.Local,10.0.0.1";
    const open = ["http://[::1]/", "https://printer.local./", "http://10.0.0.1:8080/"];
    expect(callable(open, allow)).toEqual(open);
    expect(callable(["http://printer.local:22/", "http://10.0.0.1:6379/"], allow)).toEqual([]);
    expect(callable(["http://u:p@10.0.0.1/"], allow)).toEqual([]);
  });

  test("host:* opens every port of that host", () => {
    const open = ["http://127.0.0.1:1/", "http://127.0.0.1:54321/", "http://[::1]:22/"];
    expect(callable(open, "127.0.0.1:*,[::1]:*")).toEqual(open);
    expect(callable(["http://127.0.0.2:1/", "http://a.127.0.0.1:1/"], "127.0.0.1:*")).toEqual([]);
  });

  test("an entry that cannot be read opens nothing and can be reported", () => {
    const bad = [
      "http://10.0.0.1",
      "10.0.0.1:0",
      "10.0.0.1:70000",
      "10.0.0.1:x",
      "*.local",
      "a b",
      "*",
      "*:80",
    ];
    const list = `${bad.join(",")},, 10.0.0.2 ,`;
    expect(unreadableAllowEntries(list)).toEqual(bad);
    expect(unreadableAllowEntries(undefined)).toEqual([]);
    expect(callable(["http://10.0.0.1/", "http://a.local/"], list)).toEqual([]);
    expect(urlRefusal("http://10.0.0.2/", list)).toBeNull();
  });
});
