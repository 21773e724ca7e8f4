/** Makes a document smaller: what stands in it several times becomes a component. */

/** Shorter parts are easier to read where they stand. */
const LENGTH_MIN = 150;

type Part = Record<string, unknown>;

interface Shared {
  name: string;
  part: Part;
}

/**
 * Replaces equal objects under the given member names by references to one component.
 *
 * @param nameOf gives the component's name, or undefined for a part that must stay in its place
 */
export function shareParts(
  root: unknown,
  group: string,
  isPart: (member: string, part: Part) => boolean,
  nameOf: (part: Part, count: number) => string,
): { root: unknown; components: Part } {
  const counts = new Map<string, number>();
  visit(root, (member, part) => {
    if (!isPart(member, part)) return;
    const text = JSON.stringify(part);
    if (text.length >= LENGTH_MIN) counts.set(text, (counts.get(text) ?? 0) + 1);
  });
  const shared = new Map<string, Shared>();
  let made = 0;
  const replace = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(replace);
    if (!isObject(value)) return value;
    return Object.fromEntries(
      Object.entries(value).map(([member, child]) => {
        if (!isObject(child) || !isPart(member, child)) return [member, replace(child)];
        const text = JSON.stringify(child);
        if ((counts.get(text) ?? 0) < 2) return [member, replace(child)];
        let known = shared.get(text);
        if (!known) {
          made += 1;
          known = { name: nameOf(child, made), part: child };
          shared.set(text, known);
          known.part = replace(child) as Part;
        }
        return [member, { $ref: `#/components/${group}/${known.name}` }];
      }),
    );
  };
  const replaced = replace(root);
  const components = Object.fromEntries([...shared.values()].map(({ name, part }) => [name, part]));
  return { root: replaced, components };
}

function visit(value: unknown, see: (member: string, part: Part) => void): void {
  if (Array.isArray(value)) for (const item of value) visit(item, see);
  if (!isObject(value)) return;
  for (const [member, child] of Object.entries(value)) {
    if (isObject(child)) see(member, child);
    visit(child, see);
  }
}

function isObject(value: unknown): value is Part {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
