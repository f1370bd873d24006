// What healing asks of a page: an element within a look at everything, and what scrolling brings up.

/** One element as a look would see it, and the words around it, without a look. */
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

/** A look, and the place of one element in it: -1 where a look does not take it. */
function lookFrom(el, everything) {
  const said = pageIndex(everything);
  return { ...said, at: looks.get(said.token).indexOf(el) };
}

/**
 * Scroll everything that scrolls to its n-th part; lists that draw only what is in view then draw it.
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
