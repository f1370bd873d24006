// Remembers short texts that appear after a press and may be gone before anybody looks, such as a message of three
// seconds on a busy machine.

const PASSING_LIMIT = 300; // characters of a text; what is longer is a part of the page, not a message
const PASSING_KEPT = 60; // texts of one press
const PASSING_MS = 10_000; // what appears later is not the answer to a press
const PASSING_LOOKS = 40; // elements that are looked at in one frame
const PRESSES = ["pointerdown", "keydown", "change"];

const passing = { texts: new Set(), changed: new Set(), looking: false, until: 0 };

/** A press begins: what appeared before it says nothing about it. */
function forgetPassing(event) {
  if (!event.isTrusted) return;
  passing.texts.clear();
  passing.changed.clear();
  passing.until = epoch() + PASSING_MS;
}

for (const kind of PRESSES) window.addEventListener(kind, forgetPassing, { capture: true, passive: true });

function notePassing(changes) {
  if (epoch() > passing.until || passing.texts.size >= PASSING_KEPT) return;
  for (const change of changes) {
    const changed = change.type === "childList" ? change.addedNodes : [change.target];
    for (const node of changed) {
      const el = isElement(node) ? node : node.parentElement;
      if (el && passing.changed.size < PASSING_LOOKS) passing.changed.add(el);
    }
  }
  if (!passing.changed.size || passing.looking) return;
  passing.looking = true;
  nextFrame().then(lookAtPassing);
}

/** What is seen now of what has just changed. */
function lookAtPassing() {
  passing.looking = false;
  const look = newLook();
  for (const el of passing.changed) {
    if (!el.isConnected || el.textContent.length > PASSING_LIMIT * 4 || !visible(el, look)) continue;
    const text = textOf(el, look);
    if (text && text.length <= PASSING_LIMIT && passing.texts.size < PASSING_KEPT) passing.texts.add(text);
  }
  passing.changed.clear();
}

ownRecord(document).listeners.add(notePassing);

/** For each text probe: whether the page showed its text at any time since the last press began. */
function passed(probes) {
  const texts = [...passing.texts];
  return probes.map((probe) => {
    const wanted = squeeze(probe.value);
    return wanted !== "" && texts.some((text) => textMatches(text, wanted, probe.match));
  });
}
