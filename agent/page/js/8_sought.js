// Where the page shows a text that is sought, whether a person can see it there, and whether it stood there before the press.

const SOUGHT_TRIED = 20; // places of one text
const SOUGHT_AROUND = 200; // characters of its block before and after it
const BOXES_BESIDE = 6; // boxes before and after one in which its neighbours on the line are looked for
const NEAR_LETTERS = 0.8; // of the letters' height: boxes that are farther apart are columns
const LETTER_GAP = 1; // px: no word goes over a wider one
const FAR_LETTERS = 4; // of the letters' height: the widest gap with drawings in it
const ICONS_TRIED = 60; // elements around a gap
const STATUS = '[role="status"], [role="alert"], [aria-live="polite"], [aria-live="assertive"], output';
const ITEM_ROLES = new Set(["listitem", "option", "tab", "treeitem", "cell", "gridcell", "columnheader", "rowheader", "definition", "term"]);
const stoodBefore = { places: new Map(), watching: new WeakSet() }; // key of what is sought -> {nodes, first}

/**
 * For each `{value, css, fixed}`: its places as `{before, text, after, left, right, unseen, fading, struck, stood}`: the rest of its block, what
 * stands on its line in boxes of their own, why nobody can see it (null: it can be seen), whether that is about to change, whether it is struck
 * out, whether it stood there before the press. Without a value: each element of `css`.
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
      struck: place.struck(),
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
  const struck = () => null;
  return first ? { el: first.el, nodes, struck, boxes: () => boxesOf([[first, 0, first.text.length]]) } : { el, nodes, struck, boxes: () => [el.getBoundingClientRect()] };
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
      struck: () => howStruck(parts.map(([piece]) => piece.el)),
    });
  }
  return found;
}

/** How elements are struck out: "deleted" by their markup, by a "line"; null if none is. */
function howStruck(elements) {
  if (elements.some((el) => closestFlat(el, (node) => tagOf(node) === "del" || roleOf(node) === "deletion"))) return "deleted";
  return elements.some(isLinedThrough) ? "line" : null;
}

/** Whether a line goes through the text of an element: its own, or that of a box around it, as far as such a line reaches. */
function isLinedThrough(el) {
  for (let node = el; node; node = flatParent(node)) {
    const { textDecorationLine, display, float, position } = getComputedStyle(node);
    if (textDecorationLine.includes("line-through")) return true;
    if (display.startsWith("inline-") || float !== "none" || position === "absolute" || position === "fixed") return false;
  }
  return false;
}

/** Whether a character is drawn apart from the one before it, though nothing stands between them: no word goes over such a gap. */
function isApart(pieces, marks, at) {
  if (at <= 0 || at >= marks.length || marks[at - 1].number === marks[at].number) return false;
  const [one, other] = [marks[at - 1], marks[at]].map(({ number, i }) => pieces[number].node && boxesOf([[pieces[number], i, i + 1]])[0]);
  if (!one || !other) return false;
  const common = Math.min(one.bottom, other.bottom) - Math.max(one.top, other.top);
  return common < Math.min(one.height, other.height) / 2 || Math.max(other.left - one.right, one.left - other.right) > LETTER_GAP;
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
    const used = new Set([boxes[own]]);
    for (let from = boxes[own]; beside[side].length < SOUGHT_AROUND; ) {
      const near = boxes.filter((each) => !used.has(each) && isBeside(from, each, left, lines.pieces) && !isItemApart(from, each, lines.pieces));
      if (!near.length) break;
      const next = near.reduce((best, each) => (gapOf(from, each, left) < gapOf(from, best, left) ? each : best));
      const joint = gapOf(from, next, left) > LETTER_GAP ? " " : "";
      used.add(next);
      from = next;
      const said = flat.slice(from.from, from.to).trim();
      beside[side] = side === "left" ? said + joint + beside[side] : beside[side] + joint + said;
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
    const [one, other] = [marks[from], marks[to - 1]].map((mark) => letterBox(pieces, mark));
    if (one && other) found.push({ from, to, first: one, last: other, number: marks[from].number });
  }
  return found;
}

/** Whether a box is on the line of another one, right before it (`left`) or after it, no farther than between words. */
function isBeside(box, other, left, pieces) {
  const [one, next] = facing(box, other, left);
  const common = Math.min(one.bottom, next.bottom) - Math.max(one.top, next.top);
  const height = Math.min(one.height, next.height);
  const gap = gapOf(box, other, left);
  if (common < height / 2 || gap <= -1) return false;
  return gap <= height * NEAR_LETTERS || (gap <= height * FAR_LETTERS && isFilled(one, next, [box, other].map(({ number }) => pieces[number].el)));
}

/** The letters of two boxes that face each other, the left one first. */
const facing = (box, other, left) => (left ? [edge(other, "right"), edge(box, "left")] : [edge(box, "right"), edge(other, "left")]);

/** How far two boxes side by side are apart, in px. */
function gapOf(box, other, left) {
  const [one, next] = facing(box, other, left);
  return next.left - one.right;
}

/** Whether the gap between two letters has drawings of about their height in it, and is no wider than between words beside them. */
function isFilled(one, next, [el, other]) {
  const common = closestFlat(el, (node) => containsFlat(node, other));
  const height = Math.min(one.height, next.height);
  const icons = [];
  for (const each of common ? [...common.querySelectorAll("*")].slice(0, ICONS_TRIED) : []) {
    const box = each.getBoundingClientRect();
    const within = box.width > 0 && box.left >= one.right - 1 && box.right <= next.left + 1 && box.top < one.bottom && box.bottom > one.top;
    if (within && box.width <= 2 * height && !each.textContent.trim() && !icons.some((icon) => icon.el.contains(each))) icons.push({ el: each, width: box.width });
  }
  const rest = icons.reduce((sum, { width }) => sum - width, next.left - one.right);
  return icons.length > 0 && rest <= (icons.length + 1) * height * NEAR_LETTERS;
}

/** Where a letter of a piece is drawn; generated content has the place that a box of its own takes in a row. */
function letterBox(pieces, { number, i }) {
  const piece = pieces[number];
  return piece.made ? madeBox(pieces, number) : boxesOf([[piece, i, i + 1]])[0];
}

/** Where `::before` or `::after` stands in a row of boxes: beside the letter that is next to it. Null elsewhere: it is not known. */
function madeBox(pieces, number) {
  const { el, made, text } = pieces[number];
  const [row, own] = [getComputedStyle(el), getComputedStyle(el, made)];
  if (!row.display.endsWith("flex") || !row.flexDirection.startsWith("row") || own.position === "absolute" || own.position === "fixed") return null;
  const first = made === "::before";
  const step = first ? 1 : -1;
  let near = number + step;
  while (pieces[near] && containsFlat(el, pieces[near].el) && !(pieces[near].node && pieces[near].text.trim())) near += step;
  const said = pieces[near];
  if (!said || !said.node || !containsFlat(el, said.el)) return null;
  const backwards = (row.direction === "rtl") !== row.flexDirection.endsWith("reverse");
  const ends = [said.text.search(/\S/), said.text.trimEnd().length - 1].map((at) => boxesOf([[said, at, at + 1]])[0]);
  if (!ends.every(Boolean)) return null;
  const letter = ends.reduce((one, other) => ((one.left < other.left) === (first !== backwards) ? one : other));
  const spread = row.justifyContent.startsWith("space") ? letter.height : 0;
  const gap = (parseFloat(row.columnGap) || 0) + spread + ["marginLeft", "marginRight"].reduce((sum, name) => sum + Math.max(0, parseFloat(own[name]) || 0), 0);
  const width = (parseFloat(own.width) || 0) + text.trim().length; // a row is at least as wide as its letters
  const { top, bottom, height } = letter;
  return first !== backwards
    ? { left: letter.left - gap - width, right: letter.left - gap, top, bottom, height, width }
    : { left: letter.right + gap, right: letter.right + gap + width, top, bottom, height, width };
}

/** The letter of a box that is farthest to a side. */
const edge = ({ first, last }, side) => ((first[side] > last[side]) === (side === "right") ? first : last);

/** Whether two boxes say different things: controls, items of a list, cells of a table of values, badges. Nobody reads them together. */
function isItemApart(box, other, pieces) {
  if ([box, other].some(({ number }) => pieces[number].made && hasGround(pieces[number].el, pieces[number].made))) return true;
  const [one, next] = [box, other].map(({ number }) => pieces[number].el);
  const common = closestFlat(one, (node) => containsFlat(node, next));
  return [one, next].some((el) => {
    for (let node = el; node && node !== common; node = flatParent(node)) if (isItem(node)) return true;
    return whyFaint(el) !== null;
  });
}

const containsFlat = (outer, el) => closestFlat(el, (node) => node === outer) !== null;

function isItem(el) {
  if (isInteractive(el) || hasGround(el) || isToggleLabel(el) || isGridCell(el)) return true;
  const role = roleOf(el);
  if (role === "listitem") return !closestFlat(el, (node) => node.matches(STATUS));
  return ITEM_ROLES.has(role) && !(role === "cell" && tagOf(el) === "td" && isOfLayout(el));
}

/** Whether an element is drawn as a thing of its own. */
function hasGround(el, made = null) {
  const style = getComputedStyle(el, made);
  return alphaOf(style.backgroundColor) >= FAINT || style.backgroundImage !== "none" ||
    ["Left", "Right"].some((side) => parseFloat(style[`border${side}Width`]) > 0 && style[`border${side}Style`] !== "none");
}

/** Whether an element is the label around a check box: its words say what is chosen there. */
const isToggleLabel = (el) => tagOf(el) === "label" && Boolean(el.control) && isToggle(el.control) && el.contains(el.control);

/** Whether an element is a cell of a grid of several rows and columns. */
function isGridCell(el) {
  const parent = flatParent(el);
  const style = parent && getComputedStyle(parent);
  if (!style || !style.display.endsWith("grid")) return false;
  return [style.gridTemplateColumns, style.gridTemplateRows].every((tracks) => tracks.split(" ").length > 1);
}

/**
 * Whether an element in a line of text is a thing of its own: the label of a check box; a badge or a link of several words, unless the
 * sentence around it goes on in it ("No changes" as a link, "were saved" after it).
 */
function standsAlone(el) {
  if (isToggleLabel(el)) return true;
  return /\S\s+\S/.test(el.textContent) && isTag(el) && !goesOn(el, "previousSibling") && !goesOn(el, "nextSibling");
}

/** Whether an element is a link or drawn as a badge, with room at its sides. */
function isTag(el) {
  if (tagOf(el) === "a" && hasAttr(el, "href")) return true;
  const style = getComputedStyle(el);
  return parseFloat(style.paddingLeft) > 0 && parseFloat(style.paddingRight) > 0 && hasGround(el);
}

/** Whether a sentence goes over the edge of an element: lower case right after it, or at its beginning after other words. */
function goesOn(el, way) {
  let from = el;
  while (from && !from[way] && from.parentElement && INLINE_TAGS.has(tagOf(from.parentElement))) from = from.parentElement;
  let next = from[way];
  while (next && !(next.textContent || "").trim()) next = next[way];
  if (!next || (isElement(next) && (!INLINE_TAGS.has(tagOf(next)) || isTag(next)))) return false;
  const letter = /\p{L}/u.exec(way === "nextSibling" ? next.textContent : el.textContent);
  return letter !== null && letter[0] === letter[0].toLowerCase();
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
