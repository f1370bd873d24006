// The page's revision: an identifier of its state. An equal revision means an unchanged page.
//
// It changes with every mutation of any document or open shadow root of the page, with its address, and with
// every resource that arrives. The contents of fields are not part of it. While an animation may show or hide
// something, or the page is still loading, there is no revision: such a page must be read again.

const HIDING_PROPERTIES = new Set(["opacity", "visibility", "contentVisibility", "filter", "clip", "clipPath", "mask"]);
const counted = new WeakMap(); // record -> mutations heard so far

function changesOf(record) {
  if (!counted.has(record)) {
    counted.set(record, 0);
    record.listeners.add(() => counted.set(record, counted.get(record) + 1));
  }
  flush(record);
  return counted.get(record);
}

/** Animations of colours do not change the state. */
function mayShowOrHide(effect) {
  if (!effect.getKeyframes) return true;
  return effect.getKeyframes().some((frame) =>
    Object.keys(frame).some((property) => !STILL_PROPERTIES.has(property) || HIDING_PROPERTIES.has(property)));
}

/** The revision, or null if there is none. */
function revision() {
  if (document.readyState !== "complete") return null;
  const roots = rootsBelow(document);
  let watched = 0; // a root seen for the first time may have changed before
  const records = new Set();
  for (const root of roots) {
    const record = recordOf(root.ownerDocument || root);
    if (root.host && !record.observed.has(root)) {
      watchRoot(record, root);
      watched += 1;
    }
    records.add(record);
  }
  const changes = [...records].map(changesOf);
  if (watched || roots.some((root) => root.getAnimations().some((each) => running(each) && mayShowOrHide(each.effect)))) {
    return null;
  }
  const arrived = performance.getEntriesByType("resource").length;
  return `${documentKey}.${roots.length}.${changes.join(".")}.${arrived}.${document.URL}`;
}
