import { afterEach, describe, expect, test, vi } from "vitest";
import { createKeyring } from "../../src/core/access.js";
import { bearerToken } from "../../src/http/callers.js";

const SECRETS = ["first-secret-0000000", "second-secret-000000", "third-secret-0000000"];
const DIGEST_BYTES = 32;
const typedArrays = Object.getPrototypeOf(Uint8Array.prototype) as Uint8Array;

afterEach(() => void vi.restoreAllMocks());

/** Counts the bytes that are looked at and the texts that are hashed. */
function countWork(): { bytes: number; digests: number } {
  const work = { bytes: 0, digests: 0 };
  vi.spyOn(typedArrays, "entries").mockImplementation(function* (this: Uint8Array) {
    for (let at = 0; at < this.length; at += 1) {
      work.bytes += 1;
      yield [at, this[at] ?? 0];
    }
    return undefined;
  } as () => ArrayIterator<[number, number]>);
  const digest = crypto.subtle.digest.bind(crypto.subtle);
  vi.spyOn(crypto.subtle, "digest").mockImplementation((algorithm, data) => {
    work.digests += 1;
    return digest(algorithm, data);
  });
  return work;
}

describe("a key is looked up by the same work, whichever it is (R01, R04)", () => {
  test.each([
    ["the first key", SECRETS[0], 0],
    ["the last key", SECRETS[2], 2],
    ["no key", "another-secret-00000", undefined],
    ["all of a key but its last character", "first-secret-000000", undefined],
    ["a key with one more", "first-secret-00000001", undefined],
    ["a word", "x", undefined],
    ["nothing", "", undefined],
  ])("%s", async (_, token = "", at) => {
    const entries = SECRETS.map((secret) => ({ secret }));
    const find = createKeyring(entries);
    await find("the first look-up also hashes the keys");
    const work = countWork();
    const found = await find(token);
    expect(work).toEqual({ bytes: SECRETS.length * DIGEST_BYTES, digests: 1 });
    expect(found).toBe(at === undefined ? undefined : entries[at]);
  });

  test("an empty ring knows no token, not even an empty one", async () => {
    expect(await createKeyring([])("")).toBeUndefined();
  });
});

test.each([
  ["Bearer abc", "abc"],
  ["bearer   abc ", "abc"],
  ["Bearer", undefined],
  ["Bearer a b", undefined],
  ["Basic abc", undefined],
  ["abc", undefined],
])("of %j the token is %j", (authorization, token) => {
  expect(bearerToken(new Headers({ authorization }))).toBe(token);
});
