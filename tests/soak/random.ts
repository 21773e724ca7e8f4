/** Decisions by chance that a seed repeats. */

export interface Random {
  /** A number in [0, 1). */
  next(): number;
  /** True so often. */
  happens(rate: number): boolean;
  /** A number between two bounds. */
  between(low: number, high: number): number;
  integer(low: number, high: number): number;
  pick<Item>(items: readonly Item[]): Item;
  /** A stream of its own, so that one part's decisions do not depend on how many another made. */
  fork(name: string): Random;
}

/** Makes a stream of decisions: a multiply-and-shift generator, good enough to place faults. */
export function createRandom(seed: number): Random {
  let state = seed >>> 0;
  const next = (): number => {
    state = (state + 0x9e3779b9) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 16), 0x21f0aaad);
    mixed = Math.imul(mixed ^ (mixed >>> 15), 0x735a2d97);
    return ((mixed ^ (mixed >>> 15)) >>> 0) / 2 ** 32;
  };
  const random: Random = {
    next,
    happens: (rate) => next() < rate,
    between: (low, high) => low + next() * (high - low),
    integer: (low, high) => low + Math.floor(next() * (high - low + 1)),
    pick(items) {
      if (items.length === 0) throw new Error("there is nothing to pick from");
      return items[Math.floor(next() * items.length)] as (typeof items)[number];
    },
    fork: (name) => createRandom(hash(`${seed}/${name}`)),
  };
  return random;
}

function hash(text: string): number {
  let value = 0x811c9dc5;
  for (const character of text) {
    value = Math.imul(value ^ (character.codePointAt(0) ?? 0), 0x01000193);
  }
  return value >>> 0;
}
