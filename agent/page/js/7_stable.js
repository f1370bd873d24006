// Stable: the element stays in place, judging by recorded changes and scheduled events.

// element -> {box, since, seen, moves, gap, last, put}: how long it has been where it is; `put`: since when to the hair
const tracks = new WeakMap();
const STILL_PROPERTIES = new Set([
  "opacity", "color", "backgroundColor", "backgroundImage", "backgroundPosition", "backgroundPositionX",
  "backgroundPositionY", "backgroundSize", "boxShadow", "textShadow", "borderColor", "borderTopColor",
  "borderRightColor", "borderBottomColor", "borderLeftColor", "borderRadius", "outlineColor", "outlineOffset",
  "outlineWidth", "outline", "fill", "fillOpacity", "stroke", "strokeOpacity", "filter", "backdropFilter", "caretColor",
  "accentColor", "textDecorationColor", "cursor", "visibility", "willChange", "strokeDashoffset", "strokeDasharray",
  "offset", "computedOffset", "easing", "composite",
]);
// Properties that move only the animated element and its contents; others also move its neighbours.
const OWN_PROPERTIES = new Set([
  "transform", "translate", "rotate", "scale", "left", "right", "top", "bottom", "zIndex", "offsetDistance", "clipPath",
  "perspective", "transformOrigin",
]);

/** The reason why the element may not stay in place, or null. */
function unstable(el, policy, { tracked, scrolled, replaced }) {
  const animation = runningAnimation(el);
  if (animation) return animation;
  const now = epoch();
  const around = recordsAround(el);
  around.forEach(flush);
  const beside = recordsOfFrames().filter((record) => !around.includes(record));
  const bursts = around.flatMap((record) => record.bursts);
  const track = trackOf(el, around, bursts, now, { tracked, scrolled });
  const known = around.every((record) => record.wellKnown()) && beside.every((record) => record && record.wellKnown());
  const need = Math.max(habitOf(track, policy, known), lookNeeded(bursts, around, now, policy, known));
  const unrested = restless(track, need, now, policy);
  if (unrested) return unrested + (replaced ? `; it was replaced ${replaced} times by another one like it` : "");
  // When an animation reverses or begins, its neighbours move by less than the usual threshold.
  if (now - track.put < policy.young_look_ms && layoutAnimated(around)) return "an animation elsewhere pushes the page about";
  return soon(track, around, beside, now, policy);
}

/** The reason if it has not rested long enough, or too few frames were rendered to know; or null. */
function restless(track, need, now, policy) {
  const still = now - track.since;
  if (still < need) {
    const times = track.moves === 1 ? "once" : `${track.moves} times`;
    const what = track.moves ? `it ${track.how} ${times} while it was watched, last` : "the page last changed";
    return `${what} ${Math.round(still)} ms ago; ${Math.round(need)} ms of rest are asked for`;
  }
  // The observer covers the time before the element was watched; after that, rendered frames count.
  const watched = Math.max(track.since, track.seen);
  const rest = watched - track.since + drawnTime(watched, now);
  if (need <= policy.frame_ms || rest >= need) return null;
  return `the browser draws too slowly: ${Math.round(rest)} ms of rest were seen; ${Math.round(need)} ms are asked for`;
}

/** Its box and since when it has been there, from its own record and that of the page. */
function trackOf(el, around, bursts, now, { tracked, scrolled }) {
  const box = pageBox(el);
  const before = tracks.get(el);
  const same = before && !scrolled && sameBox(before.box, box); // having to scroll to it again is a move of its own
  let track = before;
  if (!before || !tracked) {
    // Nothing could have moved it since the last change: that time counts as watched.
    const quiet = Math.max(...around.map((record) => record.began), ...bursts.map((burst) => burst.end));
    track = { box, since: same ? Math.max(before.since, quiet) : quiet, seen: same ? before.seen : now, moves: 0, gap: 0 };
  } else if (!same) {
    const gap = before.moves ? Math.max(before.gap, now - before.since) : 0;
    track = { box, since: now, seen: now, moves: before.moves + 1, gap, how: howMoved(before.box, box) };
    disturb(around[0], now); // nothing told of it, but it moved
  }
  track.put = before && tracked && sameBox(before.last, box, 0) ? before.put : now;
  track.last = box;
  tracks.set(el, track);
  return track;
}

/** In words: `moved (40 px right)`, `changed its size (15 px wider)`. */
function howMoved(from, to) {
  const part = (by, more, less) => (Math.abs(by) < 1 ? [] : [`${Math.round(Math.abs(by))} px ${by > 0 ? more : less}`]);
  const moved = [...part(to.x - from.x, "right", "left"), ...part(to.y - from.y, "down", "up")];
  const grown = [...part(to.width - from.width, "wider", "narrower"), ...part(to.height - from.height, "taller", "shorter")];
  return grown.length ? `changed its size (${grown.join(", ")})` : `moved (${moved.join(", ") || "and came back"})`;
}

/** An element that moved may move again: it must rest longer than its own period. */
function habitOf(track, policy, known) {
  if (!track.moves) return 0;
  const least = known ? policy.young_look_ms : policy.longest_look_ms;
  return Math.max(least, Math.min(track.gap * policy.gap_factor, policy.habit_ms));
}

/** The rest it needs: longer if the page keeps moving by itself, or its timers are not all known. */
function lookNeeded(bursts, around, now, policy, known) {
  const recent = bursts.filter((burst) => now - burst.end < policy.memory_ms);
  const own = recent.filter((burst) => burst.own).sort((a, b) => a.start - b.start);
  const resting = known ? policy.frame_ms : policy.short_look_ms;
  let need = recent.length ? resting : 0;
  const young = around.some((record) => now - record.began < policy.young_ms || record.doc.readyState === "loading");
  // A document whose timers are not all known may change again at any time while it is young or changes by itself.
  if (!known && (young || own.length)) need = policy.longest_look_ms;
  // A period shows in gaps that repeat: the second longest gap did repeat.
  const gaps = own.slice(1).map((burst, i) => burst.start - own[i].end).sort((a, b) => b - a);
  if (gaps.length > 1) need = Math.max(need, gaps[1] * policy.gap_factor);
  return Math.min(need, policy.longest_look_ms);
}

/** The scheduled event that is due before a click would end; after the longest rest only overdue ones. */
function soon(track, around, beside, now, policy) {
  const lateOnly = drawnTime(track.seen, now) >= policy.longest_look_ms;
  for (const record of [...around, ...beside]) {
    if (!record) continue;
    const changed = record.bursts.some((burst) => burst.end > track.seen);
    const inner = beside.includes(record);
    const coming = record.coming({ seen: track.seen, now, changed, lateOnly, inner }, policy.horizon_ms);
    if (coming) return coming;
  }
  return null;
}

function runningAnimation(el) {
  for (let node = el; node; node = flatParent(node) || frameOf(node)) {
    if (tagOf(node) === "marquee") return `${describe(node)} around it runs`;
    for (const animation of elementProto.getAnimations.call(node)) {
      if (running(animation) && moves(animation.effect)) {
        const name = animation.animationName || animation.transitionProperty || animation.id || "by script";
        return node === el ? `it is being animated (${name})` : `${describe(node)} around it is being animated (${name})`;
      }
    }
  }
  return null;
}

/** Scroll-driven animations run only while something scrolls, which is recorded. */
const running = (animation) =>
  animation.playState === "running" && animation.effect !== null &&
  (!animation.timeline || animation.timeline instanceof DocumentTimeline || !("source" in animation.timeline));

/** Whether an animation keeps moving its neighbours. */
function layoutAnimated(around) {
  return around.some((record) => record.doc.getAnimations().some((animation) =>
    running(animation) && moves(animation.effect, OWN_PROPERTIES)));
}

function moves(effect, but = null) {
  if (!effect.getKeyframes || (effect.pseudoElement && !but)) return false;
  return effect.getKeyframes().some((frame) =>
    Object.keys(frame).some((property) => !STILL_PROPERTIES.has(property) && !(but && but.has(property))));
}

/** The box in the coordinates of the top-level viewport. */
function pageBox(el) {
  return outermost(el, el.getBoundingClientRect());
}

const sameBox = (a, b, apart = 1) => ["x", "y", "width", "height"].every((side) => Math.abs(a[side] - b[side]) <= apart);

/** A box of a frame's viewport in the top-level viewport; frames may be scaled. */
function outermost(el, { x, y, width, height }) {
  let box = { x, y, width, height };
  for (let frame = frameOf(el); frame; frame = frameOf(frame)) {
    const inner = frameView(frame);
    box = {
      x: inner.x + box.x * inner.scaleX, y: inner.y + box.y * inner.scaleY,
      width: box.width * inner.scaleX, height: box.height * inner.scaleY,
    };
  }
  return box;
}

/** The position of a frame's contents, and its scale. */
function frameView(frame) {
  const box = frame.getBoundingClientRect();
  const style = getComputedStyle(frame);
  const scaleX = frame.offsetWidth ? box.width / frame.offsetWidth : 1;
  const scaleY = frame.offsetHeight ? box.height / frame.offsetHeight : 1;
  return {
    x: box.x + (frame.clientLeft + parseFloat(style.paddingLeft)) * scaleX,
    y: box.y + (frame.clientTop + parseFloat(style.paddingTop)) * scaleY,
    scaleX, scaleY,
  };
}
