/** How often to sweep: `15m` as people write it, and as a cron expression. */

export interface SweepInterval {
  seconds: number;
  cron: string;
}

const MINUTE = 60;
const HOUR = 3600;

/** Undefined for intervals that a cron expression cannot keep evenly. */
export function sweepInterval(text: string): SweepInterval | undefined {
  const [, digits = "", unit = ""] = /^([1-9]\d?)([mh])$/.exec(text) ?? [];
  const count = Number(digits);
  if (unit === "m" && count < 60 && 60 % count === 0) {
    return { seconds: count * MINUTE, cron: count === 1 ? "* * * * *" : `*/${count} * * * *` };
  }
  if (unit === "h" && count <= 24 && 24 % count === 0) {
    const hours = count === 1 ? "*" : count === 24 ? "0" : `*/${count}`;
    return { seconds: count * HOUR, cron: `0 ${hours} * * *` };
  }
  return undefined;
}

/** Gives the seconds of an expression that `sweepInterval` makes; undefined for any other. */
export function secondsOfCron(cron: string): number | undefined {
  const texts = [1, 2, 3, 4, 5, 6, 10, 12, 15, 20, 30].map((count) => `${count}m`);
  const hours = [1, 2, 3, 4, 6, 8, 12, 24].map((count) => `${count}h`);
  return [...texts, ...hours].map(sweepInterval).find((each) => each?.cron === cron)?.seconds;
}
