import { expect, test } from "vitest";
import * as z from "zod";
import { defineJob, FatalError } from "../../src/core/define-job.js";
import { signIn, textOf } from "../support/dashboard.js";
import { TYPE } from "../support/flow-jobs.js";
import { setUpFlow } from "../support/flow-world.js";
import { KEYS } from "../support/world.js";

const flow = setUpFlow();

test("a dead letter is replayed from its page with a corrected payload, which is refused where it is no payload of the type", async () => {
  const strict = defineJob({
    type: TYPE,
    payload: z.object({ to: z.email() }),
    run: ({ payload: { to } }) => {
      if (to !== "right@example.com") throw new FatalError("no such mailbox");
      return { sent: to };
    },
  });
  flow.start([strict]);
  const jobId = await flow.create(TYPE, { to: "wrong@example.com" });
  await flow.deliverOne();
  const acme = await signIn(flow, KEYS.acme);
  const page = `/dashboard/jobs/${jobId}`;
  for (const [payload, fault] of [
    ["{", "it is not JSON"],
    ['{"to":"right@example.com","n":1e400}', "#/n: "],
    ['{"to":5}', "payload.to: "],
    ["null", "payload: "],
  ] as const) {
    const refused = await acme.submit(page, "/replay", { payload });
    expect([payload, refused.status]).toEqual([payload, 422]);
    expect(textOf(refused.html)).toContain(`Go back and correct the payload: ${fault}`);
  }
  expect(await flow.job(jobId)).toMatchObject({
    status: "dead_letter",
    payload: { to: "wrong@example.com" },
  });
  const corrected = { payload: '{ "to": "right@example.com" }' };
  const { headers } = await acme.submit(page, "/replay", corrected);
  expect(headers.get("location")).toBe(`${page}?notice=replayed`);
  await flow.deliverOne();
  expect(await flow.job(jobId)).toMatchObject({
    status: "completed",
    result: { sent: "right@example.com" },
  });
});
