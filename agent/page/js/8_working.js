// What of the page shows that it is at work, such as a turning wheel: it has not shown yet what it will show.

const WORK_SIGNS_KEPT = 50;
const SHOWS_WORK = "[aria-busy='true'], [role='progressbar']:not([aria-valuenow]), progress:not([value])";

/** The visible signs of work, as texts that are equal for the same sign: waits without an end, and animations without one. */
function workSigns() {
  const look = newLook();
  const signs = new Set();
  const note = (el, what) => {
    if (signs.size < WORK_SIGNS_KEPT && visible(el, look)) signs.add(`${tagOf(el)}.${attr(el, "class") || ""} ${what}`);
  };
  for (const root of rootsBelow(document)) {
    for (const el of root.querySelectorAll(SHOWS_WORK)) note(el, "busy");
    for (const animation of root.getAnimations()) {
      const target = running(animation) ? animation.effect.target : null;
      if (target && animation.effect.getComputedTiming().endTime === Infinity) note(target, animation.animationName || "by script");
    }
  }
  return [...signs];
}
