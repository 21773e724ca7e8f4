/** Writes down what a process learns from its store: who held which job, from when to when. */

import type { ClaimedAttempt } from "../../src/core/attempt.js";
import type { Store } from "../../src/core/ports.js";
import type { Journal } from "./journal.js";

/** Wraps the store of one request. */
export function witnessed(store: Store, journal: Journal, processName: string): Store {
  const claimed = (attempt: ClaimedAttempt, by: string): void => {
    const { jobId: job, attempt: number, lockToken: token } = attempt;
    journal.write({ is: "claimed", process: processName, job, attempt: number, token, by });
  };
  const held = heldCalls(journal, processName);
  return {
    ...store,
    async claim(request) {
      const outcome = await store.claim(request);
      if (outcome.kind === "claimed") claimed(outcome.attempt, "delivery");
      return outcome;
    },
    async claimDue(types, lockToken) {
      const attempt = await store.claimDue(types, lockToken);
      if (attempt) claimed(attempt, "sweep");
      return attempt;
    },
    heartbeat: (attempt, progress) =>
      held(attempt.lockToken, "heartbeat", () => store.heartbeat(attempt, progress), isNotLost),
    beginEffect(effect, rerunUnknown) {
      const { jobId: job, name, lockToken: token } = effect;
      journal.write({ is: "effect_asked", job, name, token });
      const begin = () => store.beginEffect(effect, rerunUnknown);
      return held(token, "beginEffect", begin, isNotLost);
    },
    async endEffect(effect, end) {
      const { jobId: job, name } = effect;
      const { kind: state } = end;
      if (state === "unknown") return store.endEffect(effect, end);
      journal.write({ is: "effect_told", job, name, state });
      const isKnown = await store.endEffect(effect, end);
      if (isKnown) journal.write({ is: "effect_known", job, name, state });
      return isKnown;
    },
    async finish(request) {
      const { jobId: job, lockToken: token, attempt, report } = request;
      const outcome = await held(
        token,
        "finish",
        () => store.finish(request),
        ({ kind }) => kind === "recorded",
      );
      const text = outcome.kind === "recorded" ? outcome.status : outcome.kind;
      journal.write({ is: "finished", job, attempt, token, outcome: text, kind: report.kind });
      return outcome;
    },
  };
}

const isNotLost = ({ kind }: { kind: string }): boolean => kind !== "lease_lost";

function heldCalls(journal: Journal, processName: string) {
  return async <Answer>(
    token: string,
    method: string,
    make: () => Promise<Answer>,
    holds: (answer: Answer) => boolean,
  ): Promise<Answer> => {
    calls += 1;
    const call = `${processName}-${calls}`;
    journal.write({ is: "held_call", call, token, method });
    const answer = await make();
    journal.write({ is: "held_answer", call, holds: holds(answer) });
    return answer;
  };
}

/** Counted over all requests of the process. */
let calls = 0;
