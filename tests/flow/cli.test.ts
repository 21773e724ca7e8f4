import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import * as z from "zod";
import { defineJob, FatalError } from "../../src/core/define-job.js";
import { cli, fetchIn } from "../support/cli.js";
import { createWorld, KEYS, type World } from "../support/world.js";

const greet = defineJob({
  type: "test.greet",
  payload: z.strictObject({ to: z.string().min(1) }),
  run: ({ payload }) => {
    if (payload.to === "nobody") throw new FatalError("nobody \u001b[2J is there");
    return `Hello ${payload.to}`;
  },
});

let world: World;
let folder: string;

beforeAll(async () => {
  world = await createWorld({ jobs: [greet] });
  folder = await mkdtemp(path.join(tmpdir(), "antrean-cli-"));
});
afterAll(async () => {
  await world.close();
  await rm(folder, { recursive: true });
});
beforeEach(async () => {
  await world.database.pg.query("truncate jobs cascade");
});

const jsonOf = <Answer>({ stdout }: { stdout: string }) => JSON.parse(stdout) as Answer;

async function createGreeting(to: string): Promise<string> {
  const jobId = await world.create("test.greet", { to });
  await world.qstash.deliverDue();
  return jobId;
}

describe("jobs", () => {
  test("create takes the payload from the flag, a file or standard input", async () => {
    const file = path.join(folder, "payload.json");
    await writeFile(file, '{"to":"file"}\n');
    const create = ["jobs", "create", "test.greet", "--json"];
    const results = [
      await cli(world, [...create, "--payload", '{"to":"flag"}', "--priority", "9"]),
      await cli(world, [...create, "--file", file]),
      await cli(world, create, { stdin: '{"to":"stdin"}' }),
    ];
    const jobs = await Promise.all(
      results.map((result) => world.job(jsonOf<{ jobId: string }>(result).jobId)),
    );
    expect(jobs.map(({ payload }) => payload)).toEqual([
      { to: "flag" },
      { to: "file" },
      { to: "stdin" },
    ]);
    expect(jobs[0]?.priority).toBe(9);
  });

  test("a payload that is not UTF-8 is refused, not sent with other letters", async () => {
    const file = path.join(folder, "latin1.json");
    await writeFile(file, Buffer.from('{"to":"Jos\u00e9"}', "latin1"));
    const result = await cli(world, ["jobs", "create", "test.greet", "--file", file]);
    expect(result).toMatchObject({ code: 2, stderr: expect.stringContaining("is not UTF-8") });
  });

  test("a number that would change on the way is refused by the server, not rounded here", async () => {
    const payload = '{"to":"Ada","n":9007199254740993}';
    const result = await cli(world, ["jobs", "create", "test.greet", "--payload", payload]);
    expect(result).toMatchObject({ code: 1, stdout: "" });
    expect(result.stderr).toContain("#/payload/n");
  });

  test("a payload cannot smuggle members into the request", async () => {
    const payload = '1,"type":"test.other"';
    const result = await cli(world, ["jobs", "create", "test.greet", "--payload", payload]);
    expect(result).toMatchObject({ code: 2, stderr: expect.stringContaining("is not JSON") });
  });

  test("create --wait shows the ended job, and fails with it", async () => {
    const create = ["jobs", "create", "test.greet", "--wait", "--payload"];
    const good = await cli(world, [...create, '{"to":"Ada"}']);
    expect(good.code).toBe(0);
    expect(good.stdout).toMatch(/status +completed[\s\S]*result +"Hello Ada"/);
    const bad = await cli(world, [...create, '{"to":"nobody"}']);
    expect(bad).toMatchObject({ code: 1, stderr: expect.stringContaining("dead_letter") });
  });

  test("list shows a table, filters, and says that there is more", async () => {
    await createGreeting("Ada");
    const dead = await createGreeting("nobody");
    const all = await cli(world, ["jobs", "list", "--limit", "1"]);
    expect(all.stdout.split("\n")).toHaveLength(3);
    expect(all.stdout).toMatch(/^ID +TYPE +STATUS/);
    expect(all.stderr).toContain("more than 1");
    const filtered = await cli(world, ["jobs", "list", "--status", "dead_letter", "--json"]);
    expect(jsonOf(filtered)).toMatchObject([{ id: dead, status: "dead_letter" }]);
  });

  test("list shows the attempts of all lives, of as many as these can have", async () => {
    const jobId = await createGreeting("nobody");
    expect((await cli(world, ["jobs", "list"])).stdout).toMatch(/dead_letter +1\/8 /);
    await cli(world, ["jobs", "replay", jobId]);
    await world.qstash.deliverDue();
    expect((await cli(world, ["jobs", "list"])).stdout).toMatch(/dead_letter +2\/9 /);
  });

  test("colours and a job's own text: neither reaches what is not a terminal's", async () => {
    const dead = await createGreeting("nobody");
    const piped = await cli(world, ["jobs", "show", dead]);
    expect(piped.stdout).not.toContain("\u001b");
    const terminal = await cli(world, ["jobs", "show", dead], { isTTY: true });
    expect(terminal.stdout).toContain("\u001b[31mdead_letter");
    expect(terminal.stdout).not.toContain("\u001b[2J");
    const unwanted = { isTTY: true, env: { NO_COLOR: "1" } };
    expect((await cli(world, ["jobs", "show", dead], unwanted)).stdout).not.toContain("\u001b");
  });

  test("cancel, replay with another payload, and run-now", async () => {
    const body = ["jobs", "create", "test.greet", "--json", "--payload", '{"to":"x"}'];
    const later = await cli(world, [...body, "--delay", "3600"]);
    const { jobId } = jsonOf<{ jobId: string }>(later);
    expect((await cli(world, ["jobs", "cancel", jobId, "--reason", "no"])).stdout).toMatch(
      /cancelled/,
    );
    const replayed = await cli(world, ["jobs", "replay", jobId, "--payload", '{"to":"Bob"}']);
    expect(replayed.stdout).toContain("queued");
    await world.qstash.deliverDue();
    expect(await world.job(jobId)).toMatchObject({ status: "completed", result: "Hello Bob" });
    const again = await cli(world, ["jobs", "run-now", jobId]);
    expect(again).toMatchObject({ code: 1, stderr: expect.stringContaining("job_not_waiting") });
  });

  test("tail follows one job to its end, by its timeline", async () => {
    const jobId = await world.create("test.greet", { to: "nobody" });
    const result = await cli(world, ["jobs", "tail", jobId], {
      fetch: async (request) => {
        // The job runs while the server waits for its end.
        if (request.url.includes("?wait=")) await world.qstash.deliverDue();
        return world.instance.fetch(request);
      },
    });
    expect(result.code).toBe(1);
    const kinds = result.stdout.trimEnd().split("\n");
    expect(kinds.map((line) => line.split(/ {2,}/)[1])).toEqual(
      expect.arrayContaining(["created", "claimed", "attempt_finished"]),
    );
    expect(result.stderr).toContain("dead_letter");
  });

  test("tail without an id and --watch show what changed, until they are stopped", async () => {
    const first = await createGreeting("Ada");
    const stopAfter = (turns: number, between: () => Promise<unknown>) => {
      const stop = new AbortController();
      const sleep = async (milliseconds: number, signal?: AbortSignal): Promise<void> => {
        if (milliseconds >= 30_000) {
          await new Promise((resolve) => signal?.addEventListener("abort", resolve));
          return;
        }
        await between();
        turns -= 1;
        if (turns === 0) stop.abort();
      };
      return { stop: stop.signal, sleep };
    };
    let second = "";
    const tail = await cli(world, ["jobs", "tail", "--json"], {
      ...stopAfter(2, async () => {
        second ||= await createGreeting("Bob");
      }),
    });
    expect(tail.code).toBe(0);
    const ids = tail.stdout.trimEnd().split("\n");
    expect(ids.map((line) => (JSON.parse(line) as { id: string }).id)).toEqual([first, second]);
    const watched = await cli(
      world,
      ["stats", "--watch", "5"],
      stopAfter(3, async () => undefined),
    );
    expect(watched.code).toBe(0);
    expect(watched.stdout.match(/test\.greet/g)).toHaveLength(3);
  });
});

describe("a file of jobs", () => {
  async function fileOf(lines: string[]): Promise<string> {
    const file = path.join(folder, "jobs.ndjson");
    await writeFile(file, lines.join("\n"));
    return file;
  }
  const line = (to: string) => JSON.stringify({ type: "test.greet", payload: { to } });
  const countJobs = async (): Promise<number> =>
    (await world.database.pg.query("select 1 from jobs")).rows.length;

  test("is loaded once, however often the command is repeated after a fault", async () => {
    const file = await fileOf(["a", "b", "c", "d", "e", "f"].map(line));
    let answers = 0;
    const load = ["jobs", "create", "--from", file, "--key-prefix", "first", "--concurrency", "2"];
    const broken = await cli(world, load, {
      fetch: async (request) => {
        const response = await fetchIn(world)(request);
        answers += 1;
        // The third is stored and its answer is lost for good.
        if (answers >= 3) throw new TypeError("terminated");
        return response;
      },
    });
    expect(broken).toMatchObject({ code: 1, stderr: expect.stringContaining("Repeat the same") });
    expect(await countJobs()).toBeLessThan(6);
    const resumed = await cli(world, load);
    expect(resumed).toMatchObject({ code: 0, stderr: "6 accepted, 0 refused\n" });
    expect(await countJobs()).toBe(6);
    // Lines that were added since are new, and the old ones still are not.
    await fileOf(["a", "b", "c", "d", "e", "f", "g"].map(line));
    expect((await cli(world, load)).code).toBe(0);
    expect(await countJobs()).toBe(7);
  });

  test("names the lines that are refused and creates the others", async () => {
    const file = await fileOf([line("a"), "", "{broken", line(""), line("b")]);
    const load = ["jobs", "create", "--from", file, "--key-prefix", "second"];
    const result = await cli(world, load, { isTTY: true });
    expect(result.code).toBe(1);
    expect(result.stderr).toMatch(/line 3: .*not JSON[\s\S]*line 4: validation_failed/);
    expect(result.stderr).toContain("100 %");
    expect(await countJobs()).toBe(2);
  });

  test("ends a line at its line feed only, and says which lines are not UTF-8", async () => {
    const file = path.join(folder, "encodings.ndjson");
    const latin1 = Buffer.from(line("Jos\u00e9"), "latin1");
    const texts = [`\uFEFF${line("a\u2028b")}\r\n`, latin1, "\n  \r\n", line("c")];
    await writeFile(file, Buffer.concat(texts.map((each) => Buffer.from(each))));
    const result = await cli(world, ["jobs", "create", "--from", file, "--concurrency", "1"]);
    expect(result).toMatchObject({ code: 1, stdout: "" });
    expect(result.stderr).toMatch(/2 accepted, 1 refused\n[\s\S]*line 2: it is not UTF-8\.\n$/);
    const { rows } = await world.database.pg.query<{ to: string }>(
      "select payload_json ->> 'to' as to from jobs order by created_at",
    );
    expect(rows.map(({ to }) => to)).toEqual(["a\u2028b", "c"]);
  });

  test("stops at once when no line could be accepted", async () => {
    const file = await fileOf(["a", "b", "c"].map(line));
    const result = await cli(world, ["jobs", "create", "--from", file, "--concurrency", "1"], {
      env: { ANTREAN_API_KEY: KEYS.acmeReader },
    });
    expect(result).toMatchObject({ code: 1, stderr: expect.stringContaining("forbidden") });
    expect(await countJobs()).toBe(0);
  });
});
