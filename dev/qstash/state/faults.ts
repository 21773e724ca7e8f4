/** How publishes are refused: a status, silence, or (cut) accepted with the answer lost. */
export type PublishFault = { readonly status: number } | "hang" | "cut";

/** Faults by chance, for soaks; rates are 0 to 1. */
export interface RandomFaults {
  duplicateRate: number;
  dropRate: number;
  loseAnswerRate: number;
  /** Deliveries come this much before they are due. */
  earlySeconds: number;
  /** Messages due together are delivered in random order. */
  shuffle: boolean;
}

/** Everything that can be made to go wrong. */
export interface Faults extends RandomFaults {
  publish: { fault: PublishFault; timesLeft: number } | undefined;
  /** How many of the next deliveries lose their answer. */
  answersToLose: number;
  signWith: "current" | "next" | "previous" | { readonly key: string };
  /** Added to iat, exp and nbf only. */
  clockOffsetSeconds: number;
  random: () => number;
}

/** Makes a faultless start; the seed makes a run by chance repeatable. */
export function noFaults(seed: number): Faults {
  return {
    publish: undefined,
    answersToLose: 0,
    signWith: "current",
    clockOffsetSeconds: 0,
    duplicateRate: 0,
    dropRate: 0,
    loseAnswerRate: 0,
    earlySeconds: 0,
    shuffle: false,
    random: seededRandom(seed),
  };
}

/** Mulberry32: a small generator of numbers in [0, 1) that is good enough to place faults. */
function seededRandom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
