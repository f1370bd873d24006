// The text as a person reads it: with generated content, through slots and shadow roots also closed ones, into frames.
// `verify` and the rules about a press both read it here; whether a place of it can be seen is in 8_seen.js.

const INVISIBLE = /[\p{Cf}\u115f\u1160\u3164\uffa0]|[\ufe00-\ufe0f]|\u034f/gu; // soft hyphens, zero-width characters
const BREAK = "\n"; // separates texts of different blocks
const FLOWS = new Set(["inline", "contents", "none", "ruby", "ruby-text"]); // others stand apart from the words around them
const closedRoots = new WeakMap(); // host -> its shadow root, which the page itself keeps hidden

overhear(elementProto, "attachShadow", () => ({
  apply(native, self, args) {
    const root = Reflect.apply(native, self, args);
    if (root.mode === "closed") closedRoots.set(self, root);
    return root;
  },
}));

/** The shadow root of an element, also a closed one that a script made. */
function shadowOf(el) {
  if (el.shadowRoot) return el.shadowRoot;
  const view = el.ownerDocument.defaultView;
  const theirs = view && view !== window ? view[KEY] : null;
  return theirs && theirs.closedRoot ? theirs.closedRoot(el) : closedRoots.get(el) || null;
}

/** The document and every shadow root, also closed ones that scripts made, and same-origin frame in it. */
const drawnRoots = () => rootsBelow(document, true, shadowOf);

/** What is drawn in an element, in its order: what its shadow root has, a slot's elements, a frame's document. */
function drawnChildren(el) {
  const shadow = shadowOf(el);
  if (shadow) return shadow.childNodes;
  if (tagOf(el) === "slot") {
    const given = el.assignedNodes();
    if (given.length) return given;
  }
  const inner = frameDocument(el);
  return inner && inner.documentElement ? [inner.documentElement] : el.childNodes;
}

/**
 * The pieces of text that are drawn below a node: `{text, node, el, made}`; node is null for what no text node has, made names the
 * generated content (`::before`). `fixed`: with
 * the values of fields that a person cannot change; `named`: with what frames and drawings are called; `pass`: leaves out an element
 * with all in it.
 */
function drawnPieces(start, look, { fixed = false, named = false, pass = () => false } = {}) {
  const pieces = [];
  const add = (text, node, el, made = null) => pieces.push({ text, node, el, made });
  const stack = [[start, null]];
  while (stack.length) {
    const [at, after] = stack.pop();
    if (after) {
      if (after.text) add(after.text, null, at, "::after");
      if (after.apart) add(after.parts ? BREAK : "", null, at);
    } else if (at.nodeType === 3) {
      const el = at.parentElement || at.parentNode.host || null;
      const list = el && el.closest("select");
      if (list) add(at.data, null, list); // an option has no box of its own
      else if (el && rendered(el, look) && textRendered(at)) add(at.data, at, el);
    } else if (!isElement(at)) stackChildren(at.childNodes, stack);
    else if (!pass(at) && !(SILENT_TAGS.has(tagOf(at)) && !frameDocument(at))) drawElement(at, look, { fixed, named, add, stack });
  }
  return pieces;
}

/** Elements whose text is drawn nowhere. */
const SILENT_TAGS = new Set([...TEXTLESS_TAGS].filter((tag) => tag !== "textarea"));

function drawElement(el, look, { fixed, named, add, stack }) {
  const tag = tagOf(el);
  if ((tag === "option" || tag === "optgroup") && !visible(el, look)) return;
  const parts = !INLINE_TAGS.has(tag);
  const apart = parts || !FLOWS.has(getComputedStyle(el).display) || standsAlone(el);
  if (apart) add(parts ? BREAK : "", null, el);
  const seen = rendered(el, look);
  const made = seen ? pseudoTexts(el, look) : null;
  const marker = seen ? markerText(el, look) : "";
  if (marker) add(marker, null, el);
  if (made && made.before) add(made.before, null, el, "::before");
  if (seen) {
    const said = [];
    gatherAttributes(el, said);
    if (said.length) add(said.join(""), null, el);
    const called = named ? calledBy(el) : "";
    if (called) add(` ${called} `, null, el);
    if (fixed && isFixedField(el)) add(` ${el.value} `, null, el);
  }
  stack.push([el, { text: made ? made.after : "", parts, apart }]);
  if (tag !== "textarea") stackChildren(drawnChildren(el), stack); // its text is a value
}

const MARKER_RULE = /::marker\b/;

/** The words that a style sheet puts before a list item; "" for bullets and numbers. */
function markerText(el, look) {
  const marks = remembered(look, "markers", el.getRootNode(), (root) => generatingRules(root, NO_CONTENT, MARKER_RULE).length > 0);
  if (!marks && tagOf(el) !== "li") return "";
  const style = getComputedStyle(el);
  if (style.display !== "list-item") return "";
  return (marks && pseudoText(el, "::marker")) || (/^"(.*)"$/.exec(style.listStyleType) || [])[1] || "";
}

/** What a frame or a drawing is called: a picture says its words itself. */
function calledBy(el) {
  const tag = tagOf(el);
  if (tag === "iframe" || tag === "frame") return attr(el, "title") || attr(el, "aria-label") || "";
  const title = tag === "svg" ? el.querySelector("title") : null;
  return title ? title.textContent : "";
}

function stackChildren(children, stack) {
  for (let i = children.length - 1; i >= 0; i -= 1) {
    if (isElement(children[i]) || children[i].nodeType === 3) stack.push([children[i], null]);
  }
}

/** Whether a field shows a value that a person cannot change: it is a text of the page, and no entry. */
function isFixedField(el) {
  const tag = tagOf(el);
  if (tag !== "textarea" && (tag !== "input" || UNSHOWN_TYPES.has(el.type) || isToggle(el) || el.type === "file")) return false;
  return (el.readOnly || el.matches(":disabled")) && !isSecretField(el);
}

/** A text without what nobody sees in it. */
const plainly = (text) => squeeze(text.replace(INVISIBLE, ""));

/** The text that is drawn below a node, one space for what separates. */
const drawnText = (node, look, how) => plainly(drawnPieces(node, look, how).map((piece) => piece.text).join(""));
