// Where the page shows a text that is sought, whether a person can see it there, and whether it stood there before the press.

const SOUGHT_TRIED = 20; // places of one text
const SOUGHT_AROUND = 200; // characters of its block before and after it
const stoodBefore = { places: new Map(), watching: new WeakSet() }; // key of what is sought -> {nodes, first}

/**
 * For each `{value, css, fixed}`: its places as `{before, text, after, unseen, stood}`: the rest of its block, why nobody can see it
 * (null: it can be seen), whether it stood there before the press. Without a value: each element of `css`.
 */
function soughtTexts(sought) {
  const look = newLook();
  return sought.map((asked) => {
    const known = stoodBefore.places.get(soughtKey(asked));
    return placesOf(asked, look).map((place) => ({
      before: place.before,
      text: place.text,
      after: place.after,
      unseen: whyUnseen(place.el, place.boxes),
      stood: Boolean(known) && place.nodes.every((node) => known.has(node)),
    }));
  });
}

const soughtKey = ({ value, css }) => JSON.stringify([plainly(value), css || null]);

function placesOf({ value, css, fixed }, look) {
  const wanted = plainly(value);
  const starts = css ? rootsBelow(document).flatMap((root) => queryCss(root, css)).filter((el) => visible(el, look)) : [document.documentElement];
  const found = [];
  for (const start of starts) {
    const pieces = drawnPieces(start, look, { fixed });
    if (wanted) found.push(...placesIn(pieces, wanted));
    else found.push({ before: "", text: plainly(pieces.map((each) => each.text).join("")), after: "", ...wholePlace(start, pieces) });
    if (found.length >= SOUGHT_TRIED) break;
  }
  return found.slice(0, SOUGHT_TRIED);
}

/** An element as a place: its texts, or itself if it has none. */
function wholePlace(el, pieces) {
  const said = pieces.filter((piece) => piece.node && piece.text.trim());
  const first = said[0];
  const nodes = said.length ? said.map((piece) => piece.node) : [el];
  return first ? { el: first.el, nodes, boxes: () => boxesOf([[first, 0, first.text.length]]) } : { el, nodes, boxes: () => [el.getBoundingClientRect()] };
}

/** The places of a text among pieces; one that ends within a block has the rest of it beside it. */
function placesIn(pieces, wanted) {
  if (!plainly(pieces.map((piece) => piece.text).join("")).includes(wanted)) return [];
  const { flat, marks, joints } = flatten(pieces);
  const found = [];
  for (let at = flat.indexOf(wanted); at >= 0 && found.length < SOUGHT_TRIED; at = flat.indexOf(wanted, at + 1)) {
    const end = at + wanted.length;
    const parts = partsOf(pieces, marks, at, end);
    if (!parts.length) continue;
    let from = at;
    while (from > 0 && at - from < SOUGHT_AROUND && !joints.has(from)) from -= 1;
    let to = end;
    while (to < flat.length && to - end < SOUGHT_AROUND && !joints.has(to)) to += 1;
    found.push({
      before: flat.slice(from, at) + (isApart(pieces, marks, at) ? " " : ""),
      text: wanted,
      after: (isApart(pieces, marks, end) ? " " : "") + flat.slice(end, to),
      el: parts[0][0].el,
      nodes: [...new Set(parts.map(([piece]) => piece.node || piece.el))],
      boxes: () => boxesOf(parts),
    });
  }
  return found;
}

/** Whether a character is drawn apart from the one before it, though nothing stands between them: no word goes over such a gap. */
function isApart(pieces, marks, at) {
  if (at <= 0 || at >= marks.length || marks[at - 1].number === marks[at].number) return false;
  const [one, other] = [marks[at - 1], marks[at]].map(({ number, i }) => pieces[number].node && boxesOf([[pieces[number], i, i + 1]])[0]);
  if (!one || !other) return false;
  const common = Math.min(one.bottom, other.bottom) - Math.max(one.top, other.top);
  return common < Math.min(one.height, other.height) / 2 || Math.max(other.left - one.right, one.left - other.right) > 1;
}

/** The text of pieces with one space for white space, for each of its characters the piece and the place in it, and where boxes begin and end. */
function flatten(pieces) {
  let flat = "";
  const marks = [];
  const joints = new Set();
  for (const [number, { text, node }] of pieces.entries()) {
    const unseen = new Set([...text.matchAll(INVISIBLE)].flatMap((hit) => [...hit[0]].map((_, i) => hit.index + i)));
    for (let i = 0; i < text.length; i += 1) {
      if (unseen.has(i)) continue;
      const space = /[ \t\n\r\f\u00a0]/.test(text[i]);
      if (space && flat.endsWith(" ")) continue;
      flat += space ? " " : text[i];
      marks.push({ number, i });
    }
    if (node === null && (text === BREAK || text === "")) joints.add(flat.length); // a block or a box of its own begins or ends
  }
  return { flat, marks, joints };
}

/** The pieces of a stretch, each with the places where it begins and ends in it: `[piece, from, to]`. */
function partsOf(pieces, marks, at, end) {
  const parts = [];
  for (const { number, i } of marks.slice(at, end)) {
    const piece = pieces[number];
    const last = parts[parts.length - 1];
    if (last && last[0] === piece) last[2] = i + 1;
    else if (piece.text.trim()) parts.push([piece, i, i + 1]);
  }
  return parts;
}

/** Where parts of pieces are drawn now, in their windows. */
function boxesOf(parts) {
  return parts.flatMap(([{ node, el }, from, to]) => {
    if (!node) return [el.getBoundingClientRect()];
    const range = node.ownerDocument.createRange();
    range.setStart(node, Math.min(from, node.length));
    range.setEnd(node, Math.min(to, node.length));
    return [...range.getClientRects()];
  });
}

// -- before the press ----------------------------------------------------------------------------

/** Remember where texts stand that can be seen now: what is still there after the press is no answer to it. */
function rememberStanding(sought) {
  const look = newLook();
  stoodBefore.places = new Map(sought.map((asked) => {
    const seen = placesOf(asked, look).filter((place) => !whyUnseen(place.el, place.boxes));
    return [soughtKey(asked), new Set(seen.flatMap((place) => place.nodes))];
  }));
  for (const root of rootsBelow(document)) {
    const record = recordOf(root.ownerDocument || root);
    if (root.host) watchRoot(record, root);
    if (!stoodBefore.watching.has(record)) record.listeners.add(forgetChanged);
    stoodBefore.watching.add(record);
  }
  return null;
}

/** What was written anew, taken away or hidden since the press did not stand there all the time. */
function forgetChanged(changes) {
  const kept = [...stoodBefore.places.values()].filter((nodes) => nodes.size);
  if (!kept.length) return;
  const look = newLook();
  const changed = new Set(changes.filter((each) => each.type === "characterData").map((each) => each.target));
  const gone = changes.flatMap((each) => [...each.removedNodes]);
  const isKept = (node) => node.isConnected && !changed.has(node) && !gone.some((each) => each.contains(node)) &&
    rendered(isElement(node) ? node : node.parentElement || node.parentNode.host, look);
  for (const nodes of kept) for (const node of [...nodes]) if (!isKept(node)) nodes.delete(node);
}
