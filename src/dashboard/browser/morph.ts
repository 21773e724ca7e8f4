/** Makes one element like another and keeps what is the same: focus, selection, open parts. */

/** Gives whether anything changed besides the passing of time. */
export function morph(old: Element, fresh: Element): boolean {
  // What the reader types is theirs.
  if (old.matches("input, select, textarea")) return false;
  const changes = [morphAttributes(old, fresh)];
  const isClock = old.matches("time");
  const wanted = [...fresh.childNodes];
  for (const [at, node] of wanted.entries()) {
    let present = old.childNodes[at];
    const known = node instanceof Element && node.id ? findById(old, node.id) : undefined;
    // A row that is still there moves, so that it keeps its focus.
    if (known && known !== present) {
      old.insertBefore(known, present ?? null);
      present = known;
    }
    if (!present) {
      old.append(document.importNode(node, true));
      changes.push(true);
    } else if (present instanceof Element && node instanceof Element && isSameKind(present, node)) {
      changes.push(morph(present, node));
    } else if (present.nodeType === Node.TEXT_NODE && node.nodeType === Node.TEXT_NODE) {
      if (present.nodeValue !== node.nodeValue) {
        present.nodeValue = node.nodeValue;
        changes.push(true);
      }
    } else {
      old.replaceChild(document.importNode(node, true), present);
      changes.push(true);
    }
  }
  while (old.childNodes.length > wanted.length) {
    old.lastChild?.remove();
    changes.push(true);
  }
  return !isClock && changes.includes(true);
}

function isSameKind(one: Element, other: Element): boolean {
  return one.nodeName === other.nodeName && one.id === other.id;
}

function findById(parent: Element, id: string): Element | undefined {
  return [...parent.children].find((child) => child.id === id);
}

/** Whether a part is open is up to the reader, after the first time. */
function morphAttributes(old: Element, fresh: Element): boolean {
  let changed = false;
  const isDetails = old.matches("details");
  for (const { name, value } of fresh.attributes) {
    if ((isDetails && name === "open") || old.getAttribute(name) === value) continue;
    old.setAttribute(name, value);
    changed = true;
  }
  for (const { name } of [...old.attributes]) {
    if ((isDetails && name === "open") || name.startsWith("data-s") || fresh.hasAttribute(name))
      continue;
    old.removeAttribute(name);
    changed = true;
  }
  return changed;
}
