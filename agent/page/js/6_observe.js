// Records when something last happened that could move an element, before the gate needs to know.
// One record per document, kept by the library of the document's own window if it has one.

const BURST_GAP_MS = 12; // disturbances closer than this (one frame) are one burst
const BURSTS_KEPT = 24;
const ANSWER_MS = 80; // what begins this soon after an input is the page's answer to it, not its habit
const SETTLING_MS = 1000; // what happens this early in a document is its coming about, not its habit
const FRAME_APART_MS = 3; // 240 frames a second are 4 ms apart
const UNDRAWN_MS = 2000; // a page that draws nothing for so long is judged by time alone, a hidden one at once
const FRAME_COUNTS_MS = 34; // so much rest a frame can show at most (two of 60 a second): what came late is no longer rest for that
const FRAMES_KEPT_MS = 2000;
const NOTED = ["scroll", "resize", "transitionrun", "transitionend", "transitioncancel", "animationstart",
  "animationend", "animationcancel", "load", "toggle", "fullscreenchange"];
const ROUNDS = ["animationstart", "animationiteration", "animationend", "transitionend"];
const INPUTS = ["pointermove", "pointerdown", "pointerup", "click", "keydown", "input", "change"];
const records = new WeakMap(); // document -> record
const nativeNow = performance.now.bind(performance);
const nativeFrame = window.requestAnimationFrame.bind(window);
const nativeTimeout = window.setTimeout.bind(window);
const nativeClear = window.clearTimeout.bind(window);
const epoch = () => performance.timeOrigin + nativeNow();

/** Record a change now (or at a time that the browser gives). */
function disturb(record, at = epoch()) {
  const bursts = record.bursts;
  const last = bursts[bursts.length - 1];
  if (last !== undefined && at - last.end < BURST_GAP_MS) last.end = Math.max(last.end, at);
  else bursts.push({ start: at, end: at, own: at - record.lastInput >= ANSWER_MS && !settling(record, at) });
  if (bursts.length > BURSTS_KEPT) bursts.shift();
}

function recordOf(doc) {
  const view = doc.defaultView;
  const theirs = view && view !== window ? view[KEY] : null;
  if (theirs && theirs.record) return theirs.record(doc);
  return ownRecord(doc);
}

function settling(record, at) {
  return record.doc.readyState !== "complete" && at - record.began < SETTLING_MS;
}

function ownRecord(doc) {
  const known = records.get(doc);
  if (known) return known;
  const here = doc === document;
  const record = {
    doc, bursts: [], lastInput: -Infinity, began: epoch(), observed: new WeakSet(), observer: null, listeners: new Set(),
    coming: here ? (...how) => comingSoon(doc, ...how) : ({ now, inner }) => (inner ? null : resourceComing(doc, now)),
    wellKnown: here ? wellKnown : () => false,
    note(event) {
      const property = (event.propertyName || "").replace(/-(\w)/g, (_, letter) => letter.toUpperCase());
      if (!STILL_PROPERTIES.has(property)) disturb(record); // where a colour fades, nothing moves
    },
    input() {
      record.lastInput = epoch();
    },
  };
  records.set(doc, record);
  ours.add(record.note).add(noteRound);
  record.observer = new MutationObserver((changes) => {
    disturb(record);
    for (const listener of [...record.listeners]) listener(changes);
  });
  watchRoot(record, doc);
  listen(record);
  if (here) watchShifts(record);
  return record;
}

/** Listen to the document's events; repeated before each judgement, because `document.open` removes listeners. */
function listen(record) {
  for (const kind of NOTED) record.doc.addEventListener(kind, record.note, { capture: true, passive: true });
  for (const kind of ROUNDS) record.doc.addEventListener(kind, noteRound, { capture: true, passive: true });
  for (const kind of INPUTS) record.doc.addEventListener(kind, record.input, { capture: true, passive: true });
  if (record.doc.defaultView) record.doc.defaultView.addEventListener("resize", record.note, { passive: true });
}

function watchRoot(record, root) {
  if (record.observed.has(root)) return;
  record.observed.add(root);
  record.observer.observe(root, { subtree: true, childList: true, attributes: true, characterData: true });
}

function watchShifts(record) {
  try {
    new PerformanceObserver((list) => {
      for (const entry of list.getEntries()) disturb(record, performance.timeOrigin + entry.startTime);
    }).observe({ type: "layout-shift", buffered: true });
  } catch {
    // a browser without layout-shift entries still has the other evidence
  }
}

/** The records of an element's document and of every document around it; its shadow roots watched. */
function recordsAround(el) {
  const found = [];
  for (let node = el; node; node = frameOf(node)) {
    const record = recordOf(node.ownerDocument);
    listen(record);
    for (let root = node.getRootNode(); root && root.host; root = root.host.getRootNode()) {
      if (!record.observed.has(root)) disturb(record); // what happened in it so far is not known
      watchRoot(record, root);
    }
    found.push(record);
  }
  return found;
}

/**
 * The records of all frames of the page, whose scripts can move what is outside them; null for one that
 * cannot be read because it has another origin (it can still send messages).
 */
function recordsOfFrames(view = window) {
  const found = [];
  for (let i = 0; i < view.length; i += 1) {
    let inner = null;
    try {
      inner = view[i].document;
    } catch {
      found.push(null);
      continue;
    }
    // The empty initial document of a frame has no scripts.
    if (inner.URL !== "about:blank" || inner.scripts.length) found.push(recordOf(inner));
    found.push(...recordsOfFrames(view[i]));
  }
  return found;
}

/** Process pending observer records before judging. */
function flush(record) {
  const pending = record.observer.takeRecords();
  if (!pending.length) return;
  disturb(record);
  for (const listener of [...record.listeners]) listener(pending);
}

// -- waiting in the page -------------------------------------------------------------------------

const drawn = []; // when the last frames were drawn that something here waited for

/** Resolves at the next frame, or after `most` ms where frames do not come (a hidden tab). */
function nextFrame(most = 100) {
  return new Promise((done) => {
    const timer = nativeTimeout(done, most);
    nativeFrame(() => {
      noteFrame(epoch());
      nativeClear(timer);
      done();
    });
  });
}

/** Callbacks of the same frame run one after the other: they count as one. */
function noteFrame(at) {
  if (!drawn.length || at - drawn[drawn.length - 1] > FRAME_APART_MS) drawn.push(at);
  while (at - drawn[0] > FRAMES_KEPT_MS) drawn.shift();
}

const undrawn = () => (document.visibilityState === "hidden" ? 0 : UNDRAWN_MS);

/** How much of the time since then is covered by rendered frames. */
function drawnTime(since, now) {
  let seen = 0;
  let last = since;
  for (const at of [...drawn.filter((each) => each > since), now]) {
    seen += at - last >= undrawn() ? at - last : Math.min(at - last, FRAME_COUNTS_MS);
    last = at;
  }
  return seen;
}

/**
 * Whether the effect of something begun at a time would be visible by now. A busy computer renders late, so
 * frames count, and time only if no frames were rendered.
 */
function shows(begun, frames, now) {
  if (now - begun >= undrawn()) return true;
  return drawn.filter((at) => at > begun).length >= frames;
}

/** Resolves when anything changes in the page, or after `most` ms. */
function nextChange(most) {
  return new Promise((done) => {
    const watched = rootsBelow(document).filter((root) => root.nodeType === 9).map(recordOf);
    const finish = () => {
      nativeClear(timer);
      for (const record of watched) record.listeners.delete(finish);
      done();
    };
    const timer = nativeTimeout(finish, most);
    for (const record of watched) record.listeners.add(finish);
  });
}

// -- armed events --------------------------------------------------------------------------------

const armed = new Map(); // token -> {event, fired, stop}

// Unique per document, so that a token of the previous document is never mistaken for a current one.
const documentKey = `${Math.round(performance.timeOrigin)}.${Math.random().toString(36).slice(2)}`;
let tokenCount = 0;
function newToken() {
  tokenCount += 1;
  return `${documentKey}.${tokenCount}`;
}

/** Begin to watch for `dom_mutation`, `element_visible` or `element_hidden`; see armed_triggers.py. */
function arm(trigger) {
  const token = newToken();
  const problem = trigger.selector ? resolve(trigger.selector, newLook(), true).error : null;
  if (problem) return { token: null, error: problem };
  const entry = { trigger, fired: false, stop: () => {} };
  armed.set(token, entry);
  const holds = () => triggerHolds(trigger);
  const before = trigger.event === "element_visible" && holds();
  let gone = !before;
  const known = trigger.event === "dom_mutation" && trigger.selector ? resolve(trigger.selector, newLook(), true).found : [];
  const roots = rootsBelow(document);
  const listener = (changes) => {
    if (entry.fired) return;
    if (trigger.event === "dom_mutation") entry.fired = changes.some((change) => concerns(change, trigger, known));
    else if (trigger.event === "element_visible") {
      const now = holds();
      gone = gone || !now;
      entry.fired = gone && now;
    }
  };
  const watched = [...new Set(roots.map((root) => recordOf(root.ownerDocument || root)))];
  for (const root of roots) if (root.host) watchRoot(recordOf(root.ownerDocument), root);
  for (const record of watched) record.listeners.add(listener);
  entry.stop = () => watched.forEach((record) => record.listeners.delete(listener));
  watched.forEach((record) => record.observer.takeRecords()); // what came before arming does not count
  return { token, error: null };
}

/** Whether a change lies in, adds or removes an element of the selector (none: anywhere). */
function concerns(change, trigger, known) {
  if (!trigger.selector) return true;
  const found = new Set(resolve(trigger.selector, newLook(), true).found);
  if (closestFlat(change.target, (node) => found.has(node))) return true;
  const holds = (nodes, elements) => nodes.some((node) => isElement(node) && elements.some((el) => node.contains(el)));
  return holds([...change.addedNodes], [...found]) || holds([...change.removedNodes], known);
}

function triggerHolds(trigger) {
  const look = newLook();
  const seen = resolve(trigger.selector, look, true).found.filter((el) => visible(el, look)).length;
  return trigger.event === "element_visible" ? seen > 0 : seen === 0;
}

/** Wait for an armed event; true when it occurred. A token of another document is armed again. */
async function waitFor(token, timeoutMs) {
  const entry = armed.get(token);
  if (!entry) return { known: false, fired: false };
  const deadline = nativeNow() + timeoutMs;
  const check = () => {
    for (const root of rootsBelow(document)) flush(recordOf(root.ownerDocument || root));
    if (!entry.fired && entry.trigger.event !== "dom_mutation") entry.fired = triggerHolds(entry.trigger);
    return entry.fired;
  };
  while (!check() && nativeNow() < deadline) {
    await nextChange(Math.max(1, Math.min(100, deadline - nativeNow()))); // styles change without mutations
  }
  entry.stop();
  armed.delete(token);
  return { known: true, fired: entry.fired };
}

overhearPage();
