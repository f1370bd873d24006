// Where the page shows a text that is sought, whether a person can see it there, and whether it stood there before the press.

const SOUGHT_TRIED = 20; // places of one text
const SOUGHT_AROUND = 200; // characters of its block before and after it
const BOXES_BESIDE = 6; // boxes before and after one in which its neighbours on the line are looked for
const NEAR_LETTERS = 0.8; // of the letters' height: boxes that are farther apart are columns
const ITEM_ROLES = new Set(["listitem", "option", "tab", "treeitem", "cell", "gridcell", "columnheader", "rowheader", "definition", "term"]);
const stoodBefore = { places: new Map(), watching: new WeakSet() }; // key of what is sought -> {nodes, first}

/**
 * For each `{value, css, fixed}`: its places as `{before, text, after, left, right, unseen, fading, stood}`: the rest of its block, what stands
 * on its line in boxes of their own, why nobody can see it (null: it can be seen), whether that is about to change, whether it stood there
 * before the press. Without a value: each element of `css`.
 */
function soughtTexts(sought) {
  const look = newLook();
  return sought.map((asked) => {
    const known = stoodBefore.places.get(soughtKey(asked));
    return placesOf(asked, look).map((place) => ({
      before: place.before,
      text: place.text,
      after: place.after,
      ...besideOf(place),
      ...appearance(place),
      stood: Boolean(known) && place.nodes.every((node) => known.has(node)),
    }));
  });
}

function appearance({ el, boxes }) {
  const unseen = whyUnseen(el, boxes);
  return { unseen, fading: unseen !== null && isFading(el) };
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
      lines: { pieces, flat, marks, joints, at, end },
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

// -- on the same line ----------------------------------------------------------------------------

/** What a person reads on the line of a place right before and after it, in boxes of their own ("Not" beside "saved"). */
function besideOf({ lines, el }) {
  const beside = { left: "", right: "" };
  if (!lines) return beside;
  const { flat, at, end } = lines;
  const boxes = boxesAround(lines);
  const own = boxes.findIndex(({ from, to }) => from <= at && at < to);
  if (own < 0) return beside;
  const backwards = getComputedStyle(el).direction === "rtl";
  for (const side of ["left", "right"]) {
    if (side === "right" && boxes[own].to < end) continue; // it goes on in another block
    const left = (side === "left") !== backwards;
    const used = new Set([own]);
    for (let from = boxes[own]; beside[side].length < SOUGHT_AROUND; ) {
      const next = boxes.findIndex((each, i) => !used.has(i) && isBeside(from, each, left) && !isItemApart(from, each, lines.pieces));
      if (next < 0) break;
      used.add(next);
      from = boxes[next];
      const said = flat.slice(from.from, from.to).trim();
      beside[side] = side === "left" ? `${said} ${beside[side]}` : `${beside[side]} ${said}`;
    }
  }
  return beside;
}

/** The boxes around a place that have words: `{from, to, first, last, piece}`, the places of their first and last letter. */
function boxesAround({ pieces, flat, marks, joints, at, end }) {
  const ends = [...new Set([0, ...joints, flat.length])].sort((a, b) => a - b);
  const own = ends.findIndex((each) => each > at);
  const first = Math.max(1, own - 2 * BOXES_BESIDE); // a box has a joint before and after it
  const found = [];
  for (let i = first; i < ends.length && ends[i - 1] < end + SOUGHT_AROUND && i <= own + 2 * BOXES_BESIDE; i += 1) {
    const said = flat.slice(ends[i - 1], ends[i]);
    if (!said.trim()) continue;
    const from = ends[i - 1] + said.length - said.trimStart().length;
    const to = ends[i - 1] + said.trimEnd().length;
    const [one, other] = [marks[from], marks[to - 1]].map(({ number, i: place }) => boxesOf([[pieces[number], place, place + 1]])[0]);
    if (one && other) found.push({ from, to, first: one, last: other, number: marks[from].number });
  }
  return found;
}

/** Whether a box is on the line of another one, right before it (`left`) or after it, no farther than between words. */
function isBeside(box, other, left) {
  const [one, next] = left ? [edge(other, "right"), edge(box, "left")] : [edge(box, "right"), edge(other, "left")];
  const common = Math.min(one.bottom, next.bottom) - Math.max(one.top, next.top);
  const height = Math.min(one.height, next.height);
  return common >= height / 2 && next.left - one.right > -1 && next.left - one.right <= height * NEAR_LETTERS;
}

/** The letter of a box that is farthest to a side. */
const edge = ({ first, last }, side) => ((first[side] > last[side]) === (side === "right") ? first : last);

/** Whether two boxes say different things: controls, items of a list, cells of a table of values, badges. Nobody reads them together. */
function isItemApart(box, other, pieces) {
  const [one, next] = [box, other].map(({ number }) => pieces[number].el);
  const common = closestFlat(one, (node) => containsFlat(node, next));
  return [one, next].some((el) => {
    for (let node = el; node && node !== common; node = flatParent(node)) if (isItem(node)) return true;
    return whyFaint(el) !== null;
  });
}

const containsFlat = (outer, el) => closestFlat(el, (node) => node === outer) !== null;

function isItem(el) {
  if (isInteractive(el) || hasGround(el)) return true;
  const role = roleOf(el);
  return ITEM_ROLES.has(role) && !(role === "cell" && tagOf(el) === "td" && isOfLayout(el));
}

/** Whether an element is drawn as a thing of its own. */
function hasGround(el) {
  const style = getComputedStyle(el);
  return alphaOf(style.backgroundColor) >= FAINT || style.backgroundImage !== "none" ||
    ["Left", "Right"].some((side) => parseFloat(style[`border${side}Width`]) > 0 && style[`border${side}Style`] !== "none");
}

/** Whether a cell is in a table that places words and holds no values: it says so, or has one row without headers. */
function isOfLayout(cell) {
  const table = cell.closest("table");
  if (table !== null && ["presentation", "none"].includes(attr(table, "role"))) return true;
  return table !== null && table.rows.length === 1 && !table.querySelector("th");
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
