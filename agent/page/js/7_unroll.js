// Scrolls lists that render only what is in view, step by step, until they contain the element.

const UNROLLED_CONTAINERS = 4;
const UNROLL_PART = 0.8; // of a container's height for one step, so that nothing is stepped over
const UNROLL_MIN_OVERFLOW = 40;

/** The page has been at rest for some time, so a missing element is not about to appear. */
function atRestFor(ms) {
  const record = recordOf(document);
  flush(record);
  const last = record.bursts.length ? record.bursts[record.bursts.length - 1].end : record.began;
  return epoch() - last >= ms && document.readyState !== "loading";
}

function scrollersOf(selector) {
  const { roots } = scopeOf(selector, false, newLook());
  const scrolls = (el) => {
    if (el.scrollHeight < el.clientHeight + UNROLL_MIN_OVERFLOW || !el.clientHeight) return false;
    return el === el.ownerDocument.scrollingElement || ["auto", "scroll"].includes(getComputedStyle(el).overflowY);
  };
  return roots.flatMap((root) => [...root.querySelectorAll("*")]).filter(scrolls)
    .sort((a, b) => b.scrollHeight - a.scrollHeight).slice(0, UNROLLED_CONTAINERS);
}

/** Scrolls through all containers; to the end only those that load more while being scrolled. */
function newUnroller(selector, policy) {
  const places = scrollersOf(selector).map((el) => ({ el, from: el.scrollTop }));
  let at = 0;
  let steps = 0;
  let started = false;
  const leave = () => {
    places[at].el.scrollTop = places[at].from;
    at += 1;
    started = false;
  };
  return {
    /** Scroll one step; false if nothing is left to scroll. */
    async step(deadline) {
      while (at < places.length && steps < policy.unroll_steps && nativeNow() < deadline) {
        const { el } = places[at];
        steps += 1;
        const before = el.scrollTop;
        const filling = fills(el);
        if (started) el.scrollBy({ top: el.clientHeight * UNROLL_PART, behavior: "instant" });
        else el.scrollTo({ top: el.scrollTop > 0 ? 0 : el.clientHeight * UNROLL_PART, behavior: "instant" });
        const moved = el.scrollTop !== before;
        const patience = Math.max(100, undrawn() / 2); // lists are filled when a frame tells that they were scrolled
        await nextFrame(patience);
        await nextFrame(patience);
        const filled = filling();
        if (moved && filled) {
          started = true;
          return true;
        }
        leave();
      }
      return false;
    },
    /** Restore all scroll positions. */
    restore() {
      for (const { el, from } of places) el.scrollTop = from;
    },
  };
}

/** Observe whether anything in a container is added or replaced from now on. */
function fills(el) {
  let changed = false;
  const observer = new MutationObserver(() => {
    changed = true;
  });
  observer.observe(el, { childList: true, subtree: true, characterData: true });
  return () => {
    changed = changed || observer.takeRecords().length > 0;
    observer.disconnect();
    return changed;
  };
}
