// Lists that hold only what is in view: scrolled, step by step, until they hold what is looked for.

const UNROLLED_CONTAINERS = 4;
const UNROLL_PART = 0.8; // of a container's height for one step, so that nothing is stepped over
const UNROLL_MIN_OVERFLOW = 40;

/** Nothing has happened in the page for some time, so what is not there is not about to come. */
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

/** Goes through what scrolls; only what fills itself while it is scrolled is gone through to its end. */
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
    /** One step; false where there is nothing left to scroll. */
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
    /** Put everything back where the visitor had it. */
    restore() {
      for (const { el, from } of places) el.scrollTop = from;
    },
  };
}

/** Whether anything in a container is added or exchanged from now on. */
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
