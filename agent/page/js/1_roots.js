// Documents, shadow roots and frames; visibility; text. The other files build on these.
// web_pages/element_tree.py defines the same for stored pages.

const VISUAL_TAGS = new Set(["img", "svg", "area"]);
const FIELD_TAGS = new Set(["input", "select", "textarea", "button"]);
const TEXTLESS_TAGS = new Set([
  "script", "style", "template", "noscript", "textarea", "iframe", "frame", "noembed", "noframes",
  "pp-shadow-root", "pp-frame-document",
]);
// Elements that do not separate the words around them; all others do.
const INLINE_TAGS = new Set([
  "a", "abbr", "acronym", "b", "bdi", "bdo", "big", "cite", "code", "data", "del", "dfn", "em", "font", "i",
  "ins", "kbd", "label", "mark", "nobr", "q", "rp", "rt", "ruby", "s", "samp", "small", "span", "strike",
  "strong", "sub", "sup", "time", "tspan", "tt", "u", "var", "wbr",
]);
const TEXT_ATTRIBUTES = ["aria-label", "alt", "title", "placeholder"];
const INPUT_BUTTONS = new Set(["button", "submit", "reset"]);

/** A text, or its beginning and an ellipsis: by it redaction sees that a secret may have been cut. */
const excerpt = (text, most) => (text.length <= most ? text : `${text.slice(0, most - 1)}\u2026`);

const elementProto = window.Element.prototype;
const attr = (el, name) => elementProto.getAttribute.call(el, name);
const hasAttr = (el, name) => elementProto.hasAttribute.call(el, name);
const tagOf = (el) => el.localName;
/** Reads the browser's own property: in a form, fields can shadow properties by their names. */
function ownGetter(prototype, name) {
  const { get } = Object.getOwnPropertyDescriptor(prototype, name);
  return (node) => get.call(node);
}
const nodeTypeOf = ownGetter(window.Node.prototype, "nodeType");
const parentOf = ownGetter(window.Node.prototype, "parentNode");
const slotOfElement = ownGetter(elementProto, "assignedSlot");
const isElement = (node) => nodeTypeOf(node) === 1;
const UNSQUEEZED = /[\t\n\r\f\u00a0\u00ad\u200b]|^ | $| {2}/;
/** One space for white space, and no soft hyphens and zero-width spaces: Playwright compares texts and names without them, too. */
const squeeze = (text) =>
  UNSQUEEZED.test(text) ? text.replace(/[\u00ad\u200b]/g, "").replace(/[ \t\n\r\f\u00a0]+/g, " ").replace(/^ | $/g, "") : text;
const fold = (text) => squeeze(text).toLowerCase();

function frameDocument(el) {
  if (tagOf(el) !== "iframe" && tagOf(el) !== "frame") return null;
  try {
    return el.contentDocument;
  } catch {
    return null;
  }
}

/** The root itself and every shadow root and same-origin frame below it, outermost first. `shadow`: returns the root of an element, by default an open one. */
function rootsBelow(start, withFrames = true, shadow = (el) => el.shadowRoot) {
  const found = [start];
  for (let i = 0; i < found.length; i += 1) {
    for (const el of found[i].querySelectorAll("*")) {
      const own = shadow(el);
      if (own) found.push(own);
      const inner = withFrames ? frameDocument(el) : null;
      if (inner && inner.documentElement) found.push(inner);
    }
  }
  return found;
}

/** Parent in the rendered tree: through slots and shadow roots, not through frames. */
function flatParent(node) {
  const slot = isElement(node) ? slotOfElement(node) : node.assignedSlot;
  if (slot) return slot;
  const parent = parentOf(node);
  if (!parent) return null;
  if (isElement(parent)) return parent;
  return nodeTypeOf(parent) === 11 ? parent.host || null : null;
}

function frameOf(node) {
  const view = node.ownerDocument && node.ownerDocument.defaultView;
  try {
    return view && view !== window ? view.frameElement : null;
  } catch {
    return null;
  }
}

function closestFlat(el, test) {
  for (let node = el; node; node = flatParent(node)) if (test(node)) return node;
  return null;
}

// -- visibility ----------------------------------------------------------------------------------

/** A new cache of visibility, valid for one synchronous pass over the page. */
const newLook = () => new Map();

function visible(el, look) {
  const known = look.get(el);
  if (known !== undefined) return known;
  look.set(el, false); // an answer for cycles, which display: contents could otherwise make
  const answer = isVisible(el, look);
  look.set(el, answer);
  return answer;
}

function isVisible(el, look) {
  const frame = frameOf(el);
  if (frame && !visible(frame, look)) return false;
  const tag = tagOf(el);
  if (tag === "option" || tag === "optgroup") return optionVisible(el, look);
  if (!painted(el, look)) {
    return getComputedStyle(el).display === "contents" && contentsVisible(el, look);
  }
  const box = boxOf(el, look);
  return box.width > 0 && box.height > 0;
}

/** A value that is computed once per element in one pass. */
function remembered(look, what, el, ask) {
  const known = look[what] || (look[what] = new Map());
  let answer = known.get(el);
  if (answer === undefined) known.set(el, (answer = ask(el)));
  return answer;
}

const painted = (el, look) => remembered(look, "painted", el, (each) => each.checkVisibility({ visibilityProperty: true }));
const boxOf = (el, look) => remembered(look, "boxes", el, (each) => each.getBoundingClientRect());

/** A closed list shows the chosen option only. */
function optionVisible(el, look) {
  const list = el.closest("select");
  if (!list) return el.getClientRects().length > 0;
  if (!visible(list, look)) return false;
  if (list.multiple || list.size > 1) return el.getClientRects().length > 0;
  if (tagOf(el) === "optgroup") return [...el.querySelectorAll("option")].some((o) => o.selected);
  return el.selected;
}

/** An element with display: contents has no box: its children count. */
function contentsVisible(el, look) {
  for (const child of el.childNodes) {
    if (isElement(child) && visible(child, look)) return true;
    if (child.nodeType === 3 && child.data.trim()) {
      const range = document.createRange();
      range.selectNodeContents(child);
      const box = range.getBoundingClientRect();
      if (box.width > 0 && box.height > 0) return true;
    }
  }
  return false;
}

// -- text and values -----------------------------------------------------------------------------

/** Text of what is below a node: the visible part of it, or (look null) all of it. */
function textOf(node, look) {
  const out = [];
  gatherText(node, look, out);
  return squeeze(out.join(""));
}

function gatherText(node, look, out, attributes = gatherAttributes) {
  const stack = [[node, 0]];
  while (stack.length) {
    const [at, leaving] = stack.pop();
    if (leaving) {
      out.push(" ");
    } else if (at.nodeType === 3) {
      out.push(at.data);
    } else if (!isElement(at)) {
      pushChildren(at, look, stack);
    } else {
      const parts = !INLINE_TAGS.has(tagOf(at));
      if (parts) out.push(" ");
      const seen = look === null || visible(at, look);
      if (seen) attributes(at, out);
      if (!TEXTLESS_TAGS.has(tagOf(at))) {
        if (parts) stack.push([at, 1]);
        pushChildren(at, look, stack, seen);
      }
    }
  }
}

function pushChildren(node, look, stack, seen = true) {
  const children = node.childNodes;
  for (let i = children.length - 1; i >= 0; i -= 1) {
    const child = children[i];
    if (isElement(child) || (child.nodeType === 3 && seen && (look === null || textRendered(child)))) {
      stack.push([child, 0]);
    }
  }
}

/** Text directly below a shadow host without a slot, or in closed details, is not rendered. */
function textRendered(text) {
  const parent = text.parentNode;
  if (tagOf(parent) === "details") return parent.open;
  return !parent.shadowRoot || text.assignedSlot !== null;
}

function gatherAttributes(el, out) {
  const tag = tagOf(el);
  if (!FIELD_TAGS.has(tag) && !VISUAL_TAGS.has(tag) && attr(el, "role") !== "img") return;
  if (tag === "input" && INPUT_BUTTONS.has(el.type)) out.push(" ", buttonText(el));
  for (const name of TEXT_ATTRIBUTES) {
    const value = attr(el, name);
    if (value) out.push(" ", value);
  }
  out.push(" ");
}

/** The text of an input button; the browser's default where the page gives none. */
function buttonText(el) {
  if (hasAttr(el, "value")) return attr(el, "value");
  return { submit: "Submit", reset: "Reset" }[el.type] || "";
}

/** All text of the markup; words that only tags separate are joined (`:has-text`). */
function rawText(node) {
  const out = [];
  const stack = [node];
  while (stack.length) {
    const at = stack.pop();
    if (at.nodeType === 3) out.push(at.data);
    else if (!isElement(at) || !TEXTLESS_TAGS.has(tagOf(at))) {
      if (isElement(at) && tagOf(at) === "input" && INPUT_BUTTONS.has(at.type)) out.push(buttonText(at));
      const children = at.childNodes;
      for (let i = children.length - 1; i >= 0; i -= 1) stack.push(children[i]);
    }
  }
  return squeeze(out.join(""));
}

const isToggle = (el) => tagOf(el) === "input" && (el.type === "checkbox" || el.type === "radio");
const TOGGLE_ROLES = new Set(["checkbox", "switch", "radio", "menuitemcheckbox", "menuitemradio"]);
const editingHost = (el) => {
  const flag = attr(el, "contenteditable");
  return flag !== null && flag.toLowerCase() !== "false";
};

/** The value of a field; `true` or `false` for a checkbox or radio button; null for other elements. */
function valueOf(el) {
  const tag = tagOf(el);
  if (isToggle(el)) return String(el.checked);
  if (tag === "input" && el.type === "file") return [...el.files].map((file) => file.name).join(", ");
  if (tag === "select" && el.multiple) return [...el.selectedOptions].map((o) => o.value).join(", ");
  if (tag === "input" || tag === "textarea" || tag === "select") return el.value;
  if (TOGGLE_ROLES.has(attr(el, "role"))) return String(attr(el, "aria-checked") === "true");
  if (editingHost(el)) return textOf(el, null);
  return null;
}

/** The reason why an element is disabled, or null. */
function disabledBy(el) {
  if (FIELD_TAGS.has(tagOf(el)) || tagOf(el) === "option" || tagOf(el) === "optgroup" || tagOf(el) === "fieldset") {
    if (el.matches(":disabled")) {
      return hasAttr(el, "disabled") ? "it is disabled" : "it stands in a disabled group";
    }
  }
  const shut = closestFlat(el, (node) => attr(node, "aria-disabled") === "true" || hasAttr(node, "inert"));
  if (!shut) return null;
  const how = hasAttr(shut, "inert") ? "inert" : 'aria-disabled="true"';
  return shut === el ? `it is ${how}` : `${describe(shut)} around it is ${how}`;
}

// -- words for people ----------------------------------------------------------------------------

/** `button#save.primary`: short enough to read, exact enough to find. */
function describe(el) {
  const id = attr(el, "id");
  const classes = (attr(el, "class") || "").split(/\s+/).filter(Boolean).slice(0, 3);
  return tagOf(el) + (id ? `#${id}` : "") + classes.map((name) => `.${name}`).join("");
}
