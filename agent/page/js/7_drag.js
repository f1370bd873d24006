// Which place of an element is pressed, where a drag takes hold and where it ends. The guard of the press stands on the dragged element (7_guard.js).

/**
 * The places of a drag in pixels of the top viewport; `problem` says why it cannot be done.
 * `drop`: {target: selector, at: [x, y], grab: [x, y]}, places in fractions of an element's width and height.
 */
function dragPlaces(token, drop) {
  const entry = guarded;
  if (!entry || entry.token !== token) return { start: null, end: null, problem: "it left the page after it was judged" };
  const look = newLook();
  const { element, found } = resolve(drop.target, look, false);
  const target = element && (visible(element, look) ? element : visibleStandIn(element, look));
  if (!target) {
    const problem = element ? "the place where it ends is hidden" : `${found.length || "no"} elements are the place where it ends`;
    return { start: null, end: null, problem };
  }
  if (!inViewport(placeIn(target, drop.at))) target.scrollIntoView({ block: "nearest", inline: "nearest", behavior: "instant" });
  const end = placeIn(target, drop.at);
  let start = placeIn(entry.via, drop.grab);
  const hit = inViewport(start) ? topmostAt(start) : null;
  if (!hit || !belongs(hit, entry.via, entry.el)) start = clickPoint(entry.via);
  const problem = start && inViewport(end) ? null : "both ends of it do not fit into the view";
  return { start, end, problem };
}

/** A place in the judged element, in pixels of the top viewport; `problem` says why it cannot be pressed. */
function pressPlace(token, place) {
  const entry = guarded;
  if (!entry || entry.token !== token) return { at: null, problem: "it left the page after it was judged" };
  if (!inViewport(placeIn(entry.via, place))) entry.via.scrollIntoView({ block: "nearest", inline: "nearest", behavior: "instant" });
  const at = placeIn(entry.via, place);
  return { at, problem: inViewport(at) ? null : "the place that is pressed is not in the view" };
}

function placeIn(el, [across, down]) {
  const box = outermost(el, el.getBoundingClientRect());
  return { x: box.x + box.width * across, y: box.y + box.height * down };
}

function inViewport({ x, y }) {
  return x >= 0 && y >= 0 && x < window.innerWidth && y < window.innerHeight;
}

/** What a slider that is no input is set to, after the page had the time to draw it; null if it is none. */
async function slidTo(el) {
  await nextFrame();
  await nextFrame();
  return el.isConnected && tagOf(el) !== "input" && attr(el, "role") === "slider" ? Number(attr(el, "aria-valuenow")) : null;
}

const LONGEST_ANIMATION_MS = 500;

/** Resolves when the page has drawn what it heard, and moved aside what it moves: a list takes nothing while it makes room. */
async function afterDrawing() {
  await nextFrame();
  await nextFrame();
  const running = document.getAnimations().filter((each) => each.playState === "running" && Number.isFinite(each.effect?.getComputedTiming().endTime));
  const late = new Promise((done) => nativeTimeout(done, LONGEST_ANIMATION_MS));
  await Promise.race([late, Promise.allSettled(running.map((each) => each.finished))]);
  if (running.length) await nextFrame();
  return true;
}
