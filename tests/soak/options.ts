/** The command line of a soak. */

import { parseArgs } from "node:util";

export interface SoakOptions {
  minutes: number;
  processes: number;
  seed: number;
  /** How many times faster than real time the clocks run. */
  speed: number;
  /** Jobs that clients ask for in a second of real time. */
  rate: number;
}

export const HELP = `npm run soak -- [--minutes 3] [--processes 4] [--seed 1] [--speed 10] [--rate 40]

Runs jobs through several application processes while messages are lost, late, early and repeated,
processes are killed, and the database and QStash go away; then lets everything come to rest, and
compares what the database says with what the processes wrote down.

  --minutes    how long the faults last, in real time
  --processes  how many application processes share the database
  --seed       decisions by chance are made from it
  --speed      how many times faster than real time the clocks of database, QStash and jobs run
  --rate       jobs that clients ask for in a second of real time`;

/** Reads the arguments; undefined when help was asked for. */
export function readOptions(args: string[]): SoakOptions | undefined {
  const text = { type: "string" } as const;
  const { values } = parseArgs({
    args,
    options: {
      minutes: text,
      processes: text,
      seed: text,
      speed: text,
      rate: text,
      help: { type: "boolean", short: "h" },
    },
  });
  if (values.help) return undefined;
  const number = (name: keyof SoakOptions, fallback: number, min: number, max: number): number => {
    const value = Number(values[name] ?? fallback);
    if (value >= min && value <= max) return value;
    throw new Error(`--${name} must be a number from ${min} to ${max}.`);
  };
  return {
    minutes: number("minutes", 3, 0.1, 120),
    processes: Math.round(number("processes", 4, 1, 16)),
    seed: Math.round(number("seed", 1, 0, 2 ** 31)),
    speed: number("speed", 10, 1, 30),
    rate: number("rate", 40, 1, 200),
  };
}

/** The command line that repeats this run. */
export function commandLine({ minutes, processes, seed, speed, rate }: SoakOptions): string {
  return `npm run soak -- --minutes ${minutes} --processes ${processes} --seed ${seed} --speed ${speed} --rate ${rate}`;
}
