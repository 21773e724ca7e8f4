/** Reads jobs and types for those who may see them. */

import type { JobDefinition } from "../core/define-job.js";
import type { Job } from "../core/job.js";
import type { Actor, TypeState } from "../core/operations.js";
import type { Ports } from "../core/ports.js";

/** Reads one job from the primary; null for an id that the actor may not see. */
export async function readJob(ports: Ports, actor: Actor, jobId: string): Promise<Job | null> {
  return ports.store.read(jobId, actor);
}

/** A registered type with its settings and what operators set for it. */
export interface TypeView {
  definition: JobDefinition;
  state: TypeState;
}

/** Lists the registered types by name. */
export async function listTypes(ports: Ports): Promise<TypeView[]> {
  const states = new Map((await ports.store.listTypeStates()).map((state) => [state.type, state]));
  return [...ports.registry.values()]
    .sort((a, b) => (a.type < b.type ? -1 : 1))
    .map((definition) => ({
      definition,
      state: states.get(definition.type) ?? {
        type: definition.type,
        pausedAt: null,
        pausedBy: null,
        pauseReason: null,
      },
    }));
}
