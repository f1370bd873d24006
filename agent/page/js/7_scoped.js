// Scoped: the point of the click belongs to the element, in its frame and shadow root.

const CLOSING_WORDS = /^(accept|agree|allow|i agree|ok|okay|got it|understood|close|dismiss|hide|skip|cancel|reject|decline|continue|done|not now|no,? thanks|later|x|\u00d7|\u2715|\u2716)\b|^[x\u00d7\u2715\u2716]$/i;
const BUTTONS_LOOKED_AT = 50;
const SAID_SHOWN = 40;

/** The point for a click on the element or its label; or the element that covers it. */
function scopeOfClick(via, el, look) {
  const first = reach(via, el, look);
  if (!first.problem) return first;
  if (via === el) {
    // A styled checkbox or file field hides its own box; its label is clicked instead.
    const label = visibleStandIn(el, look);
    if (label) bringIntoView(label);
    const second = label ? reach(label, el, look) : first;
    if (!second.problem) return second;
  }
  // An element that sticks to an edge of the viewport covers only that edge.
  if (first.problem.sticks && centred(via)) return { ...first, moved: true };
  return first;
}

function reach(via, el, look) {
  const spot = clickPoint(via);
  const problem = spot
    ? notScoped(via, el, spot, look)
    : { evidence: "no part of it lies in the view, and it cannot be scrolled there", cover: null };
  return { via, spot, problem };
}

const SPOTS = 12; // across and down

/** A place of the page itself, where nothing of it is: what lies in its middle is not meant. */
function barePoint() {
  for (let down = 1; down < SPOTS; down += 1) {
    for (let across = 1; across < SPOTS; across += 1) {
      const point = { x: (window.innerWidth * across) / SPOTS, y: (window.innerHeight * down) / SPOTS };
      const hit = document.elementFromPoint(point.x, point.y);
      if (hit === document.documentElement || hit === document.body) return point;
    }
  }
  return null;
}

/** Centre of the first part of the element inside the viewport (the click point). */
function clickPoint(el) {
  const bare = el === document.documentElement || el === document.body ? barePoint() : null;
  if (bare) return bare;
  for (const rect of el.getClientRects()) {
    const part = outermost(el, rect);
    const left = Math.max(part.x, 0);
    const right = Math.min(part.x + part.width, window.innerWidth);
    const top = Math.max(part.y, 0);
    const bottom = Math.min(part.y + part.height, window.innerHeight);
    if (right - left > 0 && bottom - top > 0 && (right - left) * (bottom - top) > 0.99) {
      return { x: (left + right) / 2, y: (top + bottom) / 2 };
    }
  }
  return null;
}

/** Scroll only if the click point is outside the viewport or clipped by a scroll container. */
function bringIntoView(el) {
  const point = clickPoint(el);
  const rect = el.getClientRects()[0];
  const part = rect && outermost(el, rect);
  const middle = part && { x: part.x + part.width / 2, y: part.y + part.height / 2 };
  const inView = point && (middle.y >= 0 && middle.y <= window.innerHeight && middle.x >= 0 && middle.x <= window.innerWidth);
  if (inView && !clippedByScroller(el, middle)) return false;
  return centred(el);
}

/** Scroll it to the centre of all its scroll containers; return whether it moved. */
function centred(el) {
  const before = pageBox(el);
  el.scrollIntoView({ block: "center", inline: "center", behavior: "instant" });
  return !sameBox(before, pageBox(el));
}

function clippedByScroller(el, point) {
  for (let node = flatParent(el) || frameOf(el); node; node = flatParent(node) || frameOf(node)) {
    if (node === node.ownerDocument.documentElement || node === node.ownerDocument.body) continue;
    const scrolls = node.scrollHeight > node.clientHeight + 1 || node.scrollWidth > node.clientWidth + 1;
    if (!scrolls && tagOf(node) !== "iframe") continue;
    const style = getComputedStyle(node);
    if (tagOf(node) !== "iframe" && style.overflowX === "visible" && style.overflowY === "visible") continue;
    const box = pageBox(node);
    if (point.x < box.x || point.x > box.x + box.width || point.y < box.y || point.y > box.y + box.height) return true;
  }
  return false;
}

/** The ancestor that clips the point: the point is outside its box, and it shows no overflow. */
function cutOffBy(el, { x, y }) {
  return closestFlat(flatParent(el), (node) => {
    const style = getComputedStyle(node);
    if (style.overflowX === "visible" && style.overflowY === "visible" && style.clipPath === "none") return false;
    const box = pageBox(node);
    return x < box.x || x > box.x + box.width || y < box.y || y > box.y + box.height;
  });
}

function sizeOf(el) {
  const { width, height } = el.getBoundingClientRect();
  return `${Math.round(width)} x ${Math.round(height)} pixels`;
}

function topmostAt(point) {
  let { x, y } = point;
  let el = document.elementFromPoint(x, y);
  for (;;) {
    if (!el) return null;
    const inner = el.shadowRoot && el.shadowRoot.elementFromPoint(x, y);
    if (inner && inner !== el) {
      el = inner;
      continue;
    }
    const doc = frameDocument(el);
    if (!doc) return el;
    const view = frameView(el);
    x = (x - view.x) / view.scaleX;
    y = (y - view.y) / view.scaleY;
    const deeper = doc.elementFromPoint(x, y);
    if (!deeper) return el;
    el = deeper;
  }
}

/** The reason why a click at the point would not reach the element, or null. */
function notScoped(via, el, point, look) {
  let hit = topmostAt(point);
  if (!hit) return { evidence: "nothing can be hit at its middle", cover: null };
  if (belongs(hit, via, el)) return null;
  // Elements in another frame are described by that frame.
  const home = new Set();
  for (let node = via; node; node = frameOf(node)) home.add(node.ownerDocument);
  while (!home.has(hit.ownerDocument) && frameOf(hit)) hit = frameOf(hit);
  if (closestFlat(via, (node) => node === hit) || hit.contains(via)) {
    const through = getComputedStyle(via).pointerEvents === "none";
    const cutter = through ? null : cutOffBy(via, point);
    const why = cutter ? `cut off by ${describe(cutter)} around it (${sizeOf(cutter)})` : "cut off or see-through";
    const evidence = through
      ? "it lets the pointer through (pointer-events: none)"
      : `its middle is ${why}; ${describe(hit)} around it would be hit`;
    return { evidence, cover: null };
  }
  const cover = closestFlat(hit, (node) => isOverlay(node) && !node.contains(via)) || hit;
  const closer = dismissedBy(cover, look);
  const inside = cover === hit ? "" : ` (${describe(hit)} in it)`;
  const said = excerpt(nameOf(cover, look) || textOf(frameDocument(cover) ? frameDocument(cover).body : cover, null), SAID_SHOWN);
  const words = said ? ` ${JSON.stringify(said)}` : "";
  const how = closer ? `, dismissible by ${closer.role} ${JSON.stringify(closer.said)}` : "";
  return {
    evidence: `covered by ${describe(cover)}${words}${inside}${how}`,
    cover: { described: describe(cover), dismissible_by: closer ? closer.said : null },
    sticks: closestFlat(hit, (node) => ["fixed", "sticky"].includes(getComputedStyle(node).position)) !== null,
  };
}

/** Whether the hit element is the target, inside it, or a label that forwards clicks to it. */
function belongs(hit, via, el) {
  if (closestFlat(hit, (node) => node === via || node === el)) return true;
  // An editor for code draws its lines over the small field that takes the keys.
  const editor = editableField(el) && closestFlat(el, (node) => attr(node, "role") === "code");
  if (editor && closestFlat(hit, (node) => node === editor)) return true;
  if (isHandleOf(hit, el)) return true;
  return closestFlat(hit, (node) => tagOf(node) === "label" && (node.control === el || node.contains(via))) !== null;
}

/** The handle around a range that is not drawn itself: its value is set without a press. */
const isHandleOf = (hit, el) => tagOf(el) === "input" && el.type === "range" && el.parentElement?.contains(hit) === true;
const editableField = (el) => tagOf(el) === "textarea" || editingHost(el) || Boolean(el.editContext);

function isOverlay(node) {
  if (attr(node, "role") === "dialog" || tagOf(node) === "dialog") return true;
  return ["fixed", "sticky", "absolute"].includes(getComputedStyle(node).position);
}

/** The control that closes an overlay: by its text, or the only control there is. */
function dismissedBy(cover, look) {
  const root = frameDocument(cover) || cover;
  const buttons = [...root.querySelectorAll("button, [role=button], a[href], input[type=button], input[type=submit]")]
    .slice(0, BUTTONS_LOOKED_AT).filter((node) => visible(node, look));
  const said = (node) => squeeze(nameOf(node, look));
  const closing = buttons.find((node) => CLOSING_WORDS.test(said(node)));
  const only = buttons.length === 1 && said(buttons[0]) ? buttons[0] : null;
  const found = closing || only;
  return found ? { role: roleOf(found), said: excerpt(said(found), 40) } : null;
}
