// The five points (PACTS 6): unique, visible, enabled, stable, scoped, judged in one go.

const held = new Map(); // token -> element judged, for Python to fetch
const tracks = new WeakMap(); // element -> {box, since}: how long it has been where it is
const passwords = new WeakSet(); // fields that were password fields when they were used
const STILL_PROPERTIES = new Set([
  "opacity", "color", "backgroundColor", "backgroundImage", "backgroundPosition", "boxShadow", "textShadow",
  "borderColor", "borderTopColor", "borderRightColor", "borderBottomColor", "borderLeftColor", "outlineColor",
  "outline", "fill", "stroke", "filter", "backdropFilter", "caretColor", "textDecorationColor", "cursor",
  "strokeDashoffset", "strokeDasharray", "offset", "computedOffset", "easing", "composite",
]);


/** Judge until everything passes or the time is over. */
async function gate(selector, policy) {
  const began = nativeNow();
  const deadline = began + policy.timeout_ms;
  let verdict;
  let subject = null;
  let looked = 0;
  for (;;) {
    verdict = judge(selector, policy, subject);
    looked += 1;
    if (verdict.element !== subject) subject = verdict.element;
    if (!verdict.point || nativeNow() >= deadline) break;
    if (subject) await nextFrame();
    else await nextChange(Math.max(1, Math.min(100, deadline - nativeNow())));
  }
  const report = {
    point: verdict.point || null,
    evidence: verdict.evidence,
    strategy: verdict.strategy,
    strategy_type: verdict.strategyType,
    described: verdict.element ? describe(verdict.element) : null,
    looked,
    duration_ms: nativeNow() - began,
    token: null,
    via_token: null,
  };
  if (!verdict.point) {
    report.token = hold(verdict.element);
    if (verdict.via !== verdict.element) report.via_token = hold(verdict.via);
    if (tagOf(verdict.element) === "input" && verdict.element.type === "password") passwords.add(verdict.element);
  }
  return report;
}

function hold(el) {
  const token = newToken();
  held.set(token, el);
  return token;
}

function take(token) {
  const el = held.get(token) || null;
  held.delete(token);
  return el;
}

/** One look: the first failing point, or none. */
function judge(selector, policy, before) {
  const look = newLook();
  const result = resolve(selector, look, false);
  const won = result.tried.find((t) => t.index === result.strategy);
  const base = { element: result.element, strategy: result.strategy, strategyType: won ? won.type : null, via: null };
  const fail = (point, evidence) => ({ ...base, point, evidence });
  if (!result.element) return fail(...uniqueness(selector, result, look));
  const el = result.element;
  base.via = el;
  if (!visible(el, look)) {
    const standIn = visibleStandIn(el, look);
    if (!standIn) return fail("not_visible", whyHidden(el, look));
    base.via = standIn;
  }
  const disabled = disabledBy(el) || (policy.editable ? readOnly(el) : null);
  if (disabled) return fail("disabled", disabled);
  const via = base.via;
  const scrolled = bringIntoView(via);
  const moving = unstable(via, policy, before === el && !scrolled);
  let spot = clickPoint(via);
  let covered = spot ? notScoped(via, el, spot) : "no part of it lies in the view, and it cannot be scrolled there";
  if (covered && via === el) {
    // A styled checkbox or file field clips its own box away and lets its label be clicked.
    const label = visibleStandIn(el, look);
    if (label) bringIntoView(label);
    const point = label ? clickPoint(label) : null;
    if (point && !notScoped(label, el, point)) {
      base.via = label;
      spot = point;
      covered = null;
    }
  }
  if (moving) return fail("unstable", moving);
  if (covered) return fail("not_scoped", covered);
  return { ...base, point: null, evidence: `${describe(el)} by ${base.strategyType}` };
}

// -- unique --------------------------------------------------------------------------------------

function uniqueness(selector, result, look) {
  if (result.frameMissing) return ["not_found", `there is no same-origin frame ${selector.frame}`];
  if (!result.found.length) {
    if (result.error) return ["not_found", result.error];
    const inFrame = resolve(selector, look, true).found[0];
    const tried = result.tried.map((t) => t.type).join(", ");
    const hint = inFrame ? `; ${describe(inFrame)} in ${describe(frameOf(inFrame))} does: name the frame` : "";
    return ["not_found", `nothing on the page matches (tried ${tried})${hint}`];
  }
  const best = result.tried.find((t) => t.index === result.strategy);
  const shown = (best.visible.length ? best.visible : best.found).slice(0, 5)
    .map((el) => `${describe(el)} ${JSON.stringify(textOf(el, null).slice(0, 40))}`);
  return ["not_unique", `${best.found.length} elements (${best.visible.length} visible) match by ${best.type}: ${shown.join(", ")}`];
}

// -- visible -------------------------------------------------------------------------------------

/** What stands for a hidden file field, checkbox or radio button: its visible label or trigger. */
function visibleStandIn(el, look) {
  if (tagOf(el) !== "input" || !(el.type === "file" || isToggle(el))) return null;
  const label = labelsOf(el).find((node) => visible(node, look));
  if (label || el.type !== "file") return label || null;
  const isTrigger = (node) => roleOf(node) === "button" && visible(node, look);
  for (let up = el.parentElement, steps = 0; up && steps < 3; up = up.parentElement, steps += 1) {
    const triggers = [...up.querySelectorAll("*")].filter(isTrigger);
    if (triggers.length === 1) return triggers[0];
    if (triggers.length > 1 || tagOf(up) === "form") return null;
  }
  return null;
}

function whyHidden(el, look) {
  const frame = frameOf(el);
  if (frame && !visible(frame, look)) return `its frame ${describe(frame)} is hidden`;
  for (let node = el; node; node = flatParent(node)) {
    const style = getComputedStyle(node);
    const where = node === el ? "it" : `${describe(node)} around it`;
    if (style.display === "none") return `${where} has display: none`;
    if (node === el && style.visibility !== "visible") return `visibility is ${style.visibility}`;
    if (style.contentVisibility === "hidden") return `${where} has content-visibility: hidden`;
  }
  const box = el.getBoundingClientRect();
  return `it is ${Math.round(box.width)} x ${Math.round(box.height)} pixels in size`;
}

// -- enabled -------------------------------------------------------------------------------------

function readOnly(el) {
  if (hasAttr(el, "readonly") || attr(el, "aria-readonly") === "true") return "the field is read-only";
  return null;
}

// -- stable --------------------------------------------------------------------------------------

/** Why it cannot be said that the element stays where it is, or null where it can. */
function unstable(el, policy, tracked) {
  const animation = runningAnimation(el);
  if (animation) return animation;
  const now = epoch();
  const box = pageBox(el);
  const track = tracks.get(el);
  const around = recordsAround(el);
  around.forEach(flush);
  const bursts = around.flatMap((record) => record.bursts);
  if (!track || !tracked) {
    // Nothing could have moved it since the last disturbance: that time counts as watched.
    const quietSince = Math.max(...around.map((record) => record.began), ...bursts.map((burst) => burst.end));
    tracks.set(el, { box, since: track && sameBox(track.box, box) ? Math.max(track.since, quietSince) : quietSince, moves: 0 });
  } else if (!sameBox(track.box, box)) {
    tracks.set(el, { box, since: now, moves: track.moves + 1 });
    disturb(around[0], now); // nothing told of it, but it moved
  }
  const still = now - tracks.get(el).since;
  const { moves } = tracks.get(el);
  // What was seen moving twice has a habit, whatever the evidence says.
  const seen = moves > 1 ? policy.longest_look_ms : moves * policy.young_look_ms;
  const need = Math.max(seen, lookNeeded(bursts, around, now, policy));
  if (still >= need) return null;
  const what = moves ? `it moved ${moves} times while it was watched, last` : "the page last changed";
  return `${what} ${Math.round(still)} ms ago; ${Math.round(need)} ms of rest are asked for`;
}

/** How long it must have rested: longer where the page keeps moving of its own accord. */
function lookNeeded(bursts, around, now, policy) {
  const recent = bursts.filter((burst) => now - burst.end < policy.memory_ms);
  const began = Math.max(...around.map((record) => record.began));
  let need = recent.length ? policy.short_look_ms : 0;
  const own = recent.filter((burst) => !burst.answer).sort((a, b) => a.start - b.start);
  const restless = now - Math.max(began, ...own.map((burst) => burst.end)) < policy.young_look_ms;
  if (now - began < policy.young_ms && restless) need = Math.max(need, policy.young_look_ms);
  // A habit shows in gaps that come again: the second longest is one that did.
  const gaps = own.slice(1).map((burst, i) => burst.start - own[i].end).sort((a, b) => b - a);
  if (gaps.length > 1) need = Math.max(need, gaps[1] * policy.gap_factor);
  return Math.min(need, policy.longest_look_ms);
}

function runningAnimation(el) {
  for (let node = el; node; node = flatParent(node) || frameOf(node)) {
    if (!node.getAnimations) continue;
    for (const animation of node.getAnimations()) {
      if (animation.playState === "running" && animation.effect && moves(animation.effect)) {
        const name = animation.animationName || animation.transitionProperty || animation.id || "animation";
        return node === el ? `it is being animated (${name})` : `${describe(node)} around it is being animated (${name})`;
      }
    }
  }
  return null;
}

function moves(effect) {
  if (effect.pseudoElement) return false;
  return effect.getKeyframes().some((frame) => Object.keys(frame).some((property) => !STILL_PROPERTIES.has(property)));
}

/** The box as the visitor sees it: in the coordinates of the outermost view. */
function pageBox(el) {
  const box = el.getBoundingClientRect();
  const [x, y] = frameOffset(el);
  return { x: box.x + x, y: box.y + y, width: box.width, height: box.height };
}

const sameBox = (a, b) => ["x", "y", "width", "height"].every((side) => Math.abs(a[side] - b[side]) <= 1);

function frameOffset(el) {
  let x = 0;
  let y = 0;
  for (let frame = frameOf(el); frame; frame = frameOf(frame)) {
    const box = frame.getBoundingClientRect();
    const style = getComputedStyle(frame);
    x += box.x + frame.clientLeft + parseFloat(style.paddingLeft);
    y += box.y + frame.clientTop + parseFloat(style.paddingTop);
  }
  return [x, y];
}

// -- scoped --------------------------------------------------------------------------------------

/** Middle of the first part of the element that lies in the view (the point that will be clicked). */
function clickPoint(el) {
  const [dx, dy] = frameOffset(el);
  for (const part of el.getClientRects()) {
    const left = Math.max(part.left + dx, 0);
    const right = Math.min(part.right + dx, window.innerWidth);
    const top = Math.max(part.top + dy, 0);
    const bottom = Math.min(part.bottom + dy, window.innerHeight);
    if (right - left > 0 && bottom - top > 0 && (right - left) * (bottom - top) > 0.99) {
      return { x: (left + right) / 2, y: (top + bottom) / 2 };
    }
  }
  return null;
}

/** Scroll only where the click point is out of sight or clipped by something that scrolls. */
function bringIntoView(el) {
  const point = clickPoint(el);
  const part = el.getClientRects()[0];
  const [dx, dy] = frameOffset(el);
  const middle = part && { x: part.x + dx + part.width / 2, y: part.y + dy + part.height / 2 };
  const inView = point && (middle.y >= 0 && middle.y <= window.innerHeight && middle.x >= 0 && middle.x <= window.innerWidth);
  if (inView && !clippedByScroller(el, middle)) return false;
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
    const box = el.getBoundingClientRect();
    const style = getComputedStyle(el);
    x -= box.x + el.clientLeft + parseFloat(style.paddingLeft);
    y -= box.y + el.clientTop + parseFloat(style.paddingTop);
    const deeper = doc.elementFromPoint(x, y);
    if (!deeper) return el;
    el = deeper;
  }
}

/** Why a click at the point would not reach the element, or null where it would. */
function notScoped(via, el, point) {
  const hit = topmostAt(point);
  if (!hit) return "nothing can be hit at its middle";
  if (closestFlat(hit, (node) => node === via || node === el)) return null;
  if (closestFlat(hit, (node) => tagOf(node) === "label" && (node.control === el || node.contains(via)))) return null;
  if (closestFlat(via, (node) => node === hit) || hit.contains(via)) {
    if (getComputedStyle(via).pointerEvents === "none") return "it lets the pointer through (pointer-events: none)";
    return `its middle is cut off or see-through; ${describe(hit)} around it would be hit`;
  }
  const cover = closestFlat(hit, (node) => isOverlay(node) && !node.contains(via)) || hit;
  return `covered by ${describe(cover)}${cover === hit ? "" : ` (${describe(hit)} in it)`}`;
}

function isOverlay(node) {
  if (attr(node, "role") === "dialog" || tagOf(node) === "dialog") return true;
  return ["fixed", "sticky", "absolute"].includes(getComputedStyle(node).position);
}
