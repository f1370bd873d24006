// An animation that begins, iterates or ends dispatches an event, and a listener may move
// elements then. The time is known beforehand, so the gate treats it like a timer.

const ANIMATIONS_KEPT = 50; // a page with more of them under way is a page in motion, which shows by itself
const ROUND_SHOWS_MS = 60; // what was changed because of it changed by then
const ours = new WeakSet(); // listeners that are not the page's
const listening = new Map(); // kind of event -> targets with a listener for it

function overhearListeners() {
  overhear(EventTarget.prototype, "addEventListener", () => ({
    apply(native, self, args) {
      const [kind, listener] = args;
      if (ROUNDS.includes(kind) && listener && !ours.has(listener)) {
        if (!listening.has(kind)) listening.set(kind, new WeakSet());
        listening.get(kind).add(self || window);
      }
      return Reflect.apply(native, self, args);
    },
  }));
}

const roundKey = (kind, name) => `${kind} ${name}`;

function noteRound(event) {
  if (event.isTrusted) noteRun(roundKey(event.type, event.animationName || event.propertyName || ""));
}

/** The next animation whose event a listener may receive, in words; or null. */
function roundComing(doc, when, horizon) {
  const { bursts } = recordOf(doc);
  for (const animation of doc.getAnimations().slice(0, ANIMATIONS_KEPT)) {
    const round = running(animation) ? nextRound(animation) : null;
    if (!round || !isHeard(animation, round.kind)) continue;
    const name = animation.animationName || animation.transitionProperty || animation.id || "by script";
    const entry = { key: roundKey(round.kind, name), due: when.now + round.in, delay: round.every };
    if (neverMattered(entry.key, bursts) || !stirring(entry, when, horizon)) continue;
    return `an animation (${name}) is about to ${round.kind === "animationiteration" ? "come around" : "begin or end"}`;
  }
  return null;
}

/** The next event, in how many ms it is due, and its period; null if there is none. */
function nextRound(animation) {
  const { duration, delay, iterations, activeDuration } = animation.effect.getComputedTiming();
  const rate = animation.playbackRate;
  const at = animation.currentTime;
  if (typeof duration !== "number" || duration <= 0 || typeof at !== "number" || rate === 0) return null;
  const scripted = !animation.animationName && !animation.transitionProperty;
  const ending = scripted ? "finish" : animation.transitionProperty ? "transitionend" : "animationend";
  const told = (kind, time, every) => ({ kind, in: Math.max(0, (time - at) / rate), every: Math.abs(every / rate) });
  if (rate > 0 && at < delay) return scripted ? null : told("animationstart", delay, activeDuration);
  const around = rate > 0 ? Math.floor((at - delay) / duration) + 1 : Math.ceil((at - delay) / duration) - 1;
  const last = rate > 0 ? around >= iterations : around <= 0;
  if (last) return told(ending, rate > 0 ? delay + activeDuration : delay, activeDuration);
  return scripted ? null : told("animationiteration", delay + around * duration, duration);
}

/** Whether a listener may exist. Promises for the end of a script's animation cannot be detected. */
function isHeard(animation, kind) {
  if (kind === "finish") return true;
  const nodes = listening.get(kind);
  const hears = (node) => typeof node[`on${kind}`] === "function" || (nodes !== undefined && nodes.has(node));
  const { target } = animation.effect;
  for (let node = target; node; node = flatParent(node)) if (hears(node)) return true;
  return (target !== null && hears(target.ownerDocument)) || hears(window);
}

/** Whether the event occurred more than once without any change in the document. */
function neverMattered(key, bursts) {
  const times = expectation.ran.get(key) || [];
  const followed = (at) => bursts.some((burst) => burst.end >= at && burst.start <= at + ROUND_SHOWS_MS);
  return times.length > 1 && !times.some(followed);
}
