/** Circles in a graph of imports. */

export type Graph = ReadonlyMap<string, ReadonlySet<string>>;

/** Makes a graph of its edges. */
export function graphOf(edges: readonly (readonly [from: string, to: string])[]): Graph {
  const graph = new Map<string, Set<string>>();
  for (const [from, to] of edges) graph.set(from, (graph.get(from) ?? new Set()).add(to));
  return graph;
}

/** Finds a circle through each node where a walk comes back to itself: `a → b → a`. */
export function cyclesIn(graph: Graph): string[] {
  const cycles: string[] = [];
  const finished = new Set<string>();
  const walk = (node: string, trail: string[]): void => {
    const at = trail.indexOf(node);
    if (at >= 0) {
      cycles.push([...trail.slice(at), node].join(" → "));
      return;
    }
    if (finished.has(node)) return;
    for (const next of graph.get(node) ?? []) walk(next, [...trail, node]);
    finished.add(node);
  };
  for (const node of graph.keys()) walk(node, []);
  return cycles;
}
