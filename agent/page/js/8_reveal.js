// For healing: an element with a page index that contains it, and scrolling through lists.

/** Role, names, attributes and surrounding words of one element, without a page index. */
function glance(el) {
  const look = newLook();
  const tag = tagOf(el);
  const role = roleOf(el);
  return {
    tag, role, name: nameOf(el, look), label: isControl(el) ? labelText(el, look) : "",
    text: textFor(el, role, visible(el, look), look), attributes: attributesOf(el, tag),
    before: besideText(el, look, "previousSibling"), after: besideText(el, look, "nextSibling"),
    around: wordsAround(el, look),
  };
}

function wordsAround(el, look) {
  const around = [];
  for (let up = flatParent(el); up; up = flatParent(up) || frameOf(up)) {
    const kind = regionKind(up, roleOf(up));
    if (!kind) continue;
    if (kind === "row" || kind === "item") around.push(...piecesOf(up, look));
    else around.push(nameOf(up, look) || namingPart(up, look));
  }
  return around.filter(Boolean);
}

/** A page index, and the position of one element in it: -1 if the index leaves it out. */
function lookFrom(el, everything) {
  const said = pageIndex(everything);
  return { ...said, at: looks.get(said.token).indexOf(el) };
}

// A larger share of the window is the page, not a part of it.
const LARGEST_PART = 0.5;

/** The part around an element that is folded to nothing, and cuts it off; null if there is none. */
function foldedAround(el) {
  const { x, y, width, height } = pageBox(el);
  const part = cutOffBy(el, { x: x + width / 2, y: y + height / 2 });
  return part && part.clientWidth * part.clientHeight === 0 ? part : null;
}

/**
 * Where to point at so that a hidden element may show, such as the buttons of a card: the middle of the nearest visible
 * part around it. Null if it or its label is visible, if there are several or none, or if only the page as a whole is around it.
 */
function pointingSpot(selector) {
  const look = newLook();
  const { found } = resolve(selector, look, false);
  if (found.length !== 1) return null;
  const folded = visible(found[0], look) ? foldedAround(found[0]) : null;
  if (!folded && (visible(found[0], look) || visibleStandIn(found[0], look))) return null;
  let part = (folded || found[0]).parentElement;
  while (part && !visible(part, look)) part = part.parentElement;
  if (!part || part === document.body || part === document.documentElement) return null;
  part.scrollIntoView({ block: "nearest", behavior: "instant" });
  const box = part.getBoundingClientRect();
  if (box.width * box.height > LARGEST_PART * innerWidth * innerHeight) return null;
  const x = box.left + box.width / 2;
  const y = box.top + box.height / 2;
  return x < 0 || y < 0 || x > innerWidth || y > innerHeight ? null : { x, y };
}

/**
 * Scroll all containers to their n-th part, so that lists that render only what is in view render it.
 * @returns whether anything moved
 */
async function revealPart(n) {
  let moved = false;
  for (const area of scrollers()) {
    const before = area.scrollTop;
    area.scrollTo({ top: n * area.clientHeight * 0.8, behavior: "instant" });
    moved = moved || Math.abs(area.scrollTop - before) > 1;
  }
  await nextFrame();
  await nextFrame(); // one to hear of the scrolling, one to draw
  return moved;
}

function scrollers() {
  const found = [document.scrollingElement || document.documentElement];
  for (const root of rootsBelow(document, true)) {
    for (const el of root.querySelectorAll("*")) {
      if (el.scrollHeight <= el.clientHeight + 20 || el.clientHeight < 40) continue;
      const { overflowY } = getComputedStyle(el);
      if (overflowY === "auto" || overflowY === "scroll") found.push(el);
    }
  }
  return found;
}
