/** Makes one element like another and keeps what is the same: focus, selection, open parts. */

/** Gives whether anything changed besides the passing of time. */
export function morph(old: Element, fresh: Element): boolean {
  // What the reader types is theirs.
  if (old.matches("input, select, textarea")) return false;
  let isChanged = morphAttributes(old, fresh);
  const wanted = [...fresh.childNodes];
  const ids = new Set([...fresh.children].map(({ id }) => id).filter(Boolean));
  for (const [at, node] of wanted.entries()) {
    const id = idOf(node);
    const known = id && [...old.children].find((child) => child.id === id);
    // Moving takes the focus away, so only what is not in its place moves.
    if (known && known !== old.childNodes[at]) old.insertBefore(known, old.childNodes[at] ?? null);
    const present = old.childNodes[at];
    if (present instanceof Element && node instanceof Element && isSameKind(present, node)) {
      isChanged = morph(present, node) || isChanged;
    } else if (!present?.isEqualNode(node)) {
      // A row that is still to come is pushed on by a new one.
      if (present && !ids.has(idOf(present))) present.replaceWith(node);
      else old.insertBefore(node, present ?? null);
      isChanged = true;
    }
  }
  while (old.childNodes.length > wanted.length) {
    old.lastChild?.remove();
    isChanged = true;
  }
  return isChanged && !old.matches("time");
}

function idOf(node: Node): string {
  return node instanceof Element ? node.id : "";
}

function isSameKind(one: Element, other: Element): boolean {
  return one.nodeName === other.nodeName && one.id === other.id;
}

/** Whether a part is open is up to the reader, after the first time. */
function morphAttributes(old: Element, fresh: Element): boolean {
  let isChanged = false;
  for (const { name } of [...old.attributes, ...fresh.attributes]) {
    const value = fresh.getAttribute(name);
    if (name === "open" || name === "aria-busy" || value === old.getAttribute(name)) continue;
    if (value === null) old.removeAttribute(name);
    else old.setAttribute(name, value);
    isChanged = true;
  }
  return isChanged;
}
