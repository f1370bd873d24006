// Roles and accessible names (a working subset of W3C ARIA in HTML and accname 1.2), and labels.
// Stored twin: kb_schema/pages/names.py.

const LANDMARK_TAGS = new Set(["article", "aside", "main", "nav", "section"]);
const TAG_ROLES = {
  article: "article", aside: "complementary", button: "button", datalist: "listbox", dd: "definition",
  details: "group", dialog: "dialog", dt: "term", fieldset: "group", figure: "figure", form: "form",
  h1: "heading", h2: "heading", h3: "heading", h4: "heading", h5: "heading", h6: "heading", hr: "separator",
  li: "listitem", main: "main", math: "math", menu: "list", meter: "meter", nav: "navigation", ol: "list",
  optgroup: "group", option: "option", output: "status", progress: "progressbar", search: "search",
  table: "table", tbody: "rowgroup", textarea: "textbox", tfoot: "rowgroup", thead: "rowgroup", tr: "row",
  ul: "list", td: "cell", svg: "img", p: "paragraph", blockquote: "blockquote", caption: "caption",
  code: "code", em: "emphasis", strong: "strong", time: "time", address: "group",
};
const INPUT_ROLES = {
  button: "button", submit: "button", reset: "button", image: "button", checkbox: "checkbox", radio: "radio",
  range: "slider", number: "spinbutton", search: "searchbox", email: "textbox", tel: "textbox", text: "textbox",
  url: "textbox",
};
const NAMED_BY_CONTENT = new Set([
  "button", "cell", "checkbox", "columnheader", "gridcell", "heading", "link", "menuitem", "menuitemcheckbox",
  "menuitemradio", "option", "radio", "row", "rowheader", "switch", "tab", "tooltip", "treeitem",
]);
const INTERACTIVE_ROLES = new Set([
  "button", "link", "menuitem", "menuitemcheckbox", "menuitemradio", "tab", "option", "checkbox", "switch",
  "radio", "treeitem", "textbox", "searchbox", "combobox", "listbox", "slider", "spinbutton",
]);

function roleOf(el) {
  const given = (attr(el, "role") || "").trim().split(/\s+/)[0].toLowerCase();
  if (given) return given;
  const tag = tagOf(el);
  if (tag === "a" || tag === "area") return hasAttr(el, "href") ? "link" : null;
  if (tag === "img") return attr(el, "alt") === "" ? "presentation" : "img";
  if (tag === "input") return inputRole(el);
  if (tag === "select") return el.multiple || el.size > 1 ? "listbox" : "combobox";
  if (tag === "summary") return "button";
  if (tag === "th") return attr(el, "scope") === "row" ? "rowheader" : "columnheader";
  if (tag === "section") return hasAttr(el, "aria-label") || hasAttr(el, "aria-labelledby") ? "region" : null;
  if (tag === "header" || tag === "footer") {
    const inside = closestFlat(el, (node) => LANDMARK_TAGS.has(tagOf(node)));
    return inside ? null : { header: "banner", footer: "contentinfo" }[tag];
  }
  return Object.hasOwn(TAG_ROLES, tag) ? TAG_ROLES[tag] : null;
}

function inputRole(el) {
  const role = INPUT_ROLES[el.type] || null;
  return (role === "textbox" || role === "searchbox") && hasAttr(el, "list") ? "combobox" : role;
}

/** The elements an attribute of ids names, in the element's own document or shadow root. */
function namedBy(el, attribute) {
  const root = el.getRootNode();
  const ids = (attr(el, attribute) || "").trim().split(/\s+/).filter(Boolean);
  return ids.map((id) => root.getElementById && root.getElementById(id)).filter(Boolean);
}

/** Label elements of a control: `for`, or wrapped around it. */
function labelsOf(el) {
  return el.labels ? [...el.labels] : [];
}

/** What labels a control, as a person sees it: label elements, `aria-labelledby`, `aria-label`. */
function labelText(el, look) {
  const parts = [
    ...namedBy(el, "aria-labelledby").map((node) => nameFromContent(node, look, true)),
    attr(el, "aria-label") || "",
    ...labelsOf(el).map((node) => labelContent(node, el, look)),
  ];
  return squeeze(parts.join(" "));
}

/** A label's own words, without what the control inside it says. */
function labelContent(label, control, look) {
  const out = [];
  const visit = (node) => {
    for (const child of node.childNodes) {
      if (child.nodeType === 3) out.push(child.data);
      else if (isElement(child) && child !== control && !TEXTLESS_TAGS.has(tagOf(child)) && tagOf(child) !== "select") {
        if (!INLINE_TAGS.has(tagOf(child))) out.push(" ");
        if (tagOf(child) === "img") out.push(attr(child, "alt") || "");
        visit(child);
        if (!INLINE_TAGS.has(tagOf(child))) out.push(" ");
      }
    }
  };
  visit(label);
  return squeeze(out.join(""));
}

/** The accessible name. */
function nameOf(el, look) {
  const labelled = namedBy(el, "aria-labelledby");
  if (labelled.length) {
    const name = squeeze(labelled.map((node) => nameFromContent(node, look, true)).join(" "));
    if (name) return name;
  }
  const aria = squeeze(attr(el, "aria-label") || "");
  if (aria) return aria;
  const native = nativeName(el, look);
  if (native) return native;
  if (NAMED_BY_CONTENT.has(roleOf(el))) {
    const content = nameFromContent(el, look, false);
    if (content) return content;
  }
  return squeeze(attr(el, "title") || "") || squeeze(attr(el, "placeholder") || "");
}

function nativeName(el, look) {
  const tag = tagOf(el);
  if (tag === "input" && INPUT_BUTTONS.has(el.type)) return squeeze(buttonText(el));
  if (tag === "input" && el.type === "image") return squeeze(attr(el, "alt") || attr(el, "title") || "Submit");
  if (FIELD_TAGS.has(tag)) {
    const text = squeeze(labelsOf(el).map((node) => labelContent(node, el, look)).join(" "));
    if (text || tag !== "button") return text;
  }
  if (tag === "img" || tag === "area") return squeeze(attr(el, "alt") || "");
  const child = { fieldset: "legend", table: "caption", figure: "figcaption", svg: "title" }[tag];
  if (!child) return "";
  const naming = [...el.children].find((node) => tagOf(node) === child);
  return naming ? nameFromContent(naming, look, true) : "";
}

/** Text alternatives of everything inside; hidden parts only where the whole was named on purpose. */
function nameFromContent(el, look, named) {
  const everything = named && !visible(el, look);
  const out = [];
  const visit = (node) => {
    for (const child of node.childNodes) {
      if (child.nodeType === 3) {
        out.push(child.data);
      } else if (isElement(child)) {
        const tag = tagOf(child);
        if (TEXTLESS_TAGS.has(tag) || attr(child, "aria-hidden") === "true") continue;
        if (!everything && !visible(child, look) && !hasVisibleChild(child, look)) continue;
        const own = attr(child, "aria-label") || nativeChildName(child, tag);
        if (!INLINE_TAGS.has(tag)) out.push(" ");
        if (own) out.push(own);
        else visit(child);
        if (!INLINE_TAGS.has(tag)) out.push(" ");
      }
    }
  };
  const own = attr(el, "aria-label") || nativeChildName(el, tagOf(el));
  if (named && own) return squeeze(own);
  visit(el);
  return squeeze(out.join(""));
}

function hasVisibleChild(el, look) {
  return [...el.querySelectorAll("*")].some((node) => visible(node, look));
}

function nativeChildName(el, tag) {
  if (tag === "img" || tag === "area") return attr(el, "alt") || attr(el, "title") || "";
  if (tag === "input" && INPUT_BUTTONS.has(el.type)) return buttonText(el);
  if (tag === "svg") {
    const title = [...el.children].find((node) => tagOf(node) === "title");
    return title ? title.textContent : "";
  }
  return "";
}

/** What a person can operate: counted by `dom_index`, preferred by `semantic`. */
function isInteractive(el) {
  const tag = tagOf(el);
  if (tag === "input") return el.type !== "hidden";
  if (tag === "a" || tag === "area") return hasAttr(el, "href") || INTERACTIVE_ROLES.has(attr(el, "role"));
  if (tag === "option") return false;
  if (tag === "button" || tag === "select" || tag === "textarea" || tag === "summary") return true;
  if (INTERACTIVE_ROLES.has((attr(el, "role") || "").trim().split(/\s+/)[0])) return true;
  const stop = attr(el, "tabindex");
  return editingHost(el) || (stop !== null && /^\s*\d+\s*$/.test(stop));
}
