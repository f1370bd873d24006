// Roles and accessible names: ARIA in HTML, HTML-AAM and accname 1.2, read as Chromium reads them
// (checked against its accessibility tree); and labels. For stored pages: web_pages/accessible_names.py.

const SECTIONING_TAGS = new Set(["article", "aside", "main", "nav", "section"]);
const TAG_ROLES = {
  address: "group", article: "article", aside: "complementary", blockquote: "blockquote", button: "button",
  caption: "caption", code: "code", datalist: "listbox", dd: "definition", del: "deletion", details: "group",
  dfn: "term", dialog: "dialog", dt: "term", em: "emphasis", fieldset: "group", figure: "figure", form: "form",
  h1: "heading", h2: "heading", h3: "heading", h4: "heading", h5: "heading", h6: "heading", hgroup: "group",
  hr: "separator", ins: "insertion", main: "main", mark: "mark", math: "math", menu: "list", meter: "meter",
  nav: "navigation", ol: "list", optgroup: "group", option: "option", output: "status", p: "paragraph",
  progress: "progressbar", search: "search", strong: "strong", sub: "subscript", summary: "button",
  sup: "superscript", svg: "img", table: "table", tbody: "rowgroup", textarea: "textbox", tfoot: "rowgroup",
  thead: "rowgroup", time: "time", tr: "row", ul: "list",
};
const INPUT_ROLES = {
  button: "button", submit: "button", reset: "button", image: "button", file: "button", checkbox: "checkbox",
  radio: "radio", range: "slider", number: "spinbutton", search: "searchbox", email: "textbox", tel: "textbox",
  text: "textbox", url: "textbox", password: "textbox",
};
const ARIA_ROLES = new Set([
  "alert", "alertdialog", "application", "article", "banner", "blockquote", "button", "caption", "cell",
  "checkbox", "code", "columnheader", "combobox", "comment", "complementary", "contentinfo", "definition",
  "deletion", "dialog", "document", "emphasis", "feed", "figure", "form", "generic", "grid", "gridcell",
  "group", "heading", "img", "insertion", "link", "list", "listbox", "listitem", "log", "main", "mark",
  "marquee", "math", "menu", "menubar", "menuitem", "menuitemcheckbox", "menuitemradio", "meter", "navigation",
  "note", "option", "paragraph", "presentation", "progressbar", "radio", "radiogroup", "region", "row",
  "rowgroup", "rowheader", "scrollbar", "search", "searchbox", "separator", "slider", "spinbutton", "status",
  "strong", "subscript", "suggestion", "superscript", "switch", "tab", "table", "tablist", "tabpanel", "term",
  "textbox", "time", "timer", "toolbar", "tooltip", "tree", "treegrid", "treeitem",
]);
const ROLE_SYNONYMS = { none: "presentation", image: "img", directory: "list" };
const NAMED_BY_CONTENT = new Set([
  "button", "cell", "checkbox", "columnheader", "gridcell", "heading", "link", "menuitem", "menuitemcheckbox",
  "menuitemradio", "option", "radio", "rowheader", "switch", "tab", "tooltip", "treeitem",
]);
const INTERACTIVE_ROLES = new Set([
  "button", "link", "menuitem", "menuitemcheckbox", "menuitemradio", "tab", "option", "checkbox", "switch",
  "radio", "treeitem", "textbox", "searchbox", "combobox", "listbox", "slider", "spinbutton",
]);
const SVG_SHAPES = new Set(["circle", "ellipse", "line", "path", "polygon", "polyline", "rect"]);
const NATIVE_NAMING_CHILD = { fieldset: "legend", table: "caption", svg: "title" };
const DEEPEST_NAME = 100; // further down inside one name, only text counts
const VALUE_ROLES = new Set(["textbox", "searchbox", "combobox", "listbox", "slider", "spinbutton", "progressbar", "meter", "scrollbar"]);

// -- roles ---------------------------------------------------------------------------------------

/** The ARIA role: the first known explicit one, unless it is ignored; else that of HTML. */
function roleOf(el) {
  const given = givenRole(el);
  return given === null ? nativeRole(el) : given;
}

function givenRole(el) {
  const said = attr(el, "role");
  if (!said) return null;
  for (const token of said.toLowerCase().split(/\s+/)) {
    const role = Object.hasOwn(ROLE_SYNONYMS, token) ? ROLE_SYNONYMS[token] : token;
    if (!ARIA_ROLES.has(role)) continue;
    // An element that can be focused or has its own name keeps its role.
    if (role === "presentation" && (isFocusable(el) || hasAttr(el, "aria-label") || hasAttr(el, "aria-labelledby"))) return null;
    return role === "generic" ? null : role;
  }
  return null;
}

const isFocusable = (el) => hasAttr(el, "tabindex") || isInteractive(el);

const DEPENDING_ROLES = {
  a: (el) => (hasAttr(el, "href") ? "link" : null),
  area: (el) => (hasAttr(el, "href") ? "link" : null),
  img: imageRole,
  input: inputRole,
  li: (el) => (listAround(el) ? "listitem" : null),
  select: (el) => (el.multiple || el.size > 1 ? "listbox" : "combobox"),
  td: (el) => (gridAround(el) ? "gridcell" : "cell"),
  th: headerRole,
  section: (el) => (namesItself(el) ? "region" : null),
  header: (el) => (inSection(el) ? null : "banner"),
  footer: (el) => (inSection(el) ? null : "contentinfo"),
};

function nativeRole(el) {
  const tag = tagOf(el);
  if (Object.hasOwn(DEPENDING_ROLES, tag)) return DEPENDING_ROLES[tag](el);
  if (SVG_SHAPES.has(tag)) return "graphics-symbol";
  if (Object.hasOwn(TAG_ROLES, tag)) return TAG_ROLES[tag];
  return el.firstChild === null && getComputedStyle(el).content.startsWith("url(") ? "img" : null;
}

function imageRole(el) {
  return attr(el, "alt") === "" && !namesItself(el) && !isInteractive(el) ? "presentation" : "img";
}

function inputRole(el) {
  const role = INPUT_ROLES[el.type] || null;
  return (role === "textbox" || role === "searchbox") && hasAttr(el, "list") ? "combobox" : role;
}

function headerRole(el) {
  const scope = (attr(el, "scope") || "").toLowerCase();
  if (scope === "row" || scope === "rowgroup") return "rowheader";
  if (scope === "col" || scope === "colgroup") return "columnheader";
  const row = el.parentElement;
  const cells = row ? [...row.children] : [];
  const inHead = row && row.parentElement && tagOf(row.parentElement) === "thead";
  return !inHead && cells.some((cell) => tagOf(cell) === "td") ? "rowheader" : "columnheader";
}

const namesItself = (el) => Boolean((attr(el, "aria-label") || "").trim() || attr(el, "aria-labelledby") || attr(el, "title"));
const inSection = (el) => closestFlat(el.parentElement || flatParent(el), (node) => SECTIONING_TAGS.has(tagOf(node))) !== null;
const listAround = (el) => el.parentElement !== null && ["list", "menu", "group"].includes(roleOf(el.parentElement));

function gridAround(el) {
  const table = el.closest("table");
  const role = table ? attr(table, "role") : null;
  return role === "grid" || role === "treegrid";
}

// -- labels --------------------------------------------------------------------------------------

/** The elements that an attribute with ids refers to, in the element's own document or shadow root. */
function namedBy(el, attribute) {
  const value = attr(el, attribute);
  if (!value) return [];
  const root = el.getRootNode();
  const ids = value.trim().split(/\s+/).filter(Boolean);
  return ids.map((id) => root.getElementById && root.getElementById(id)).filter(Boolean);
}

/** Label elements of a control: `for`, or wrapped around it. */
function labelsOf(el) {
  return el.labels ? [...el.labels] : [];
}

/** The visible label of a control: label elements, `aria-labelledby`, `aria-label`. */
function labelText(el, look) {
  const parts = [
    ...namedBy(el, "aria-labelledby").map((node) => referenced(node, look, new Set())),
    attr(el, "aria-label") || "",
    ...labelsOf(el).map((node) => referenced(node, look, new Set([el]))),
  ];
  return squeeze(parts.join(" "));
}

// -- names ---------------------------------------------------------------------------------------

/** The accessible name. */
function nameOf(el, look) {
  return remembered(look, "names", el, (each) =>
    squeeze(alternative(each, look, { seen: new Set(), referred: false, inside: false, hidden: false, depth: 0 })));
}

/** The text of an element that another refers to; of a hidden element all of it counts. */
function referenced(el, look, seen) {
  return squeeze(alternative(el, look, { seen, referred: true, inside: true, hidden: !rendered(el, look), depth: 0 }));
}

/**
 * The text alternative of one element (accname 1.2, 4.3.2).
 * `seen` are the elements already used; `referred`: it was reached by an id or a label, which are
 * followed once; `inside`: it is part of another element; `hidden`: hidden parts count.
 */
function alternative(el, look, way) {
  if (way.seen.has(el)) return "";
  way.seen.add(el);
  if (!way.referred) {
    const named = namedBy(el, "aria-labelledby").map((node) => referenced(node, look, new Set())).join(" ");
    if (squeeze(named)) return named;
  }
  if (way.inside) {
    const value = embeddedValue(el, look, way);
    if (value !== null) return value;
  }
  const own = attr(el, "aria-label");
  if (own && own.trim()) return own;
  const role = roleOf(el);
  const native = role === "presentation" ? "" : nativeName(el, look, way);
  if (native || (native !== null && !way.inside && isTextField(el) && labelsOf(el).length)) return native;
  if (way.inside || namedByContent(el, role)) {
    const content = contentOf(el, look, way);
    if (squeeze(content) || (way.inside && role === null)) return content;
  }
  return attr(el, "title") || (isTextField(el) ? attr(el, "placeholder") || attr(el, "aria-placeholder") || "" : "");
}

/** Rows are named by their contents if rows are operated: in grids, or if they can be focused. */
function namedByContent(el, role) {
  if (role === "row") return hasAttr(el, "tabindex") || el.closest("[role=grid], [role=treegrid]") !== null;
  return NAMED_BY_CONTENT.has(role) || (tagOf(el) === "dt" && role === "term");
}

/** The name for `role_name`: the accessible name; a row without one is named by its contents. */
function callingName(el, look) {
  const name = nameOf(el, look);
  if (name || roleOf(el) !== "row") return name;
  return squeeze(contentOf(el, look, { seen: new Set([el]), referred: false, inside: false, hidden: false, depth: 0 }));
}

const isTextField = (el) => tagOf(el) === "input" || tagOf(el) === "textarea" || hasAttr(el, "aria-placeholder");

/** The part a field adds to the label around it: its value. Null for other elements. */
function embeddedValue(el, look, way) {
  const role = roleOf(el);
  if (!VALUE_ROLES.has(role)) return null;
  const tag = tagOf(el);
  if (tag === "select") return [...el.selectedOptions].map((option) => option.text).join(" ");
  if (isSecretField(el)) return "";
  if (tag === "input" || tag === "textarea") return el.value;
  if (role === "textbox" || role === "searchbox") return contentOf(el, look, way);
  if (role === "combobox" || role === "listbox") {
    const chosen = [...el.querySelectorAll("[role=option][aria-selected=true]")];
    return chosen.map((option) => nameOf(option, look)).join(" ");
  }
  return attr(el, "aria-valuetext") || attr(el, "aria-valuenow") || "";
}

/** The name by HTML: values of buttons, labels, alternative texts, captions. */
function nativeName(el, look, way) {
  const tag = tagOf(el);
  if (tag === "input" && INPUT_BUTTONS.has(el.type)) return buttonText(el) || labelled(el, look, way);
  if (tag === "input" && el.type === "file") return labelled(el, look, way) || (way.inside ? "" : fileButton(el));
  if (tag === "input" && el.type === "image") return attr(el, "alt") || attr(el, "title") || "Submit";
  if (FIELD_TAGS.has(tag) || tag === "meter" || tag === "progress" || tag === "output") return labelled(el, look, way);
  if (tag === "img" || tag === "area") return attr(el, "alt") || "";
  if (tag === "optgroup" || tag === "option") return attr(el, "label") || (tag === "option" ? el.text : "");
  const child = SVG_SHAPES.has(tag) ? "title" : NATIVE_NAMING_CHILD[tag];
  if (!child) return "";
  const naming = [...el.children].find((node) => tagOf(node) === child);
  if (!naming) return "";
  return child === "title" ? naming.textContent : alternative(naming, look, { ...way, inside: true });
}

/** The browser's default text of a file field without a name. */
const fileButton = (el) => (hasAttr(el, "title") ? "" : el.multiple ? "Choose Files" : "Choose File");

function labelled(el, look, way) {
  if (way.inside) return "";
  return labelsOf(el).map((label) => referenced(label, look, new Set([el]))).filter(Boolean).join(" ");
}

/** Text alternatives of everything inside. */
function contentOf(el, look, way) {
  if (way.depth > DEEPEST_NAME) return textOf(el, look);
  const plain = el.firstChild;
  if (plain && !plain.nextSibling && plain.nodeType === 3 && !el.shadowRoot && tagOf(el) !== "slot" && !pseudoTexts(el, look)) return plain.data;
  const out = [];
  const pseudo = pseudoTexts(el, look);
  if (pseudo) out.push(pseudo.before);
  for (const child of flatChildren(el)) {
    if (child.nodeType === 3) out.push(child.data);
    else if (isElement(child)) out.push(partOf(child, look, way));
  }
  if (pseudo) out.push(pseudo.after);
  return out.join("");
}

/** The rendered contents of an element: its shadow root, the nodes assigned to its slot, or its children. */
function flatChildren(el) {
  if (el.shadowRoot) return el.shadowRoot.childNodes;
  if (tagOf(el) === "slot") {
    const given = el.assignedNodes();
    if (given.length) return given;
  }
  return el.childNodes;
}

function partOf(child, look, way) {
  const tag = tagOf(child);
  if (tag === "br") return " ";
  if (TEXTLESS_TAGS.has(tag) && tag !== "textarea" && tag !== "iframe") return "";
  if (hasAttr(child, "data-pp-secret") || (attr(child, "aria-hidden") === "true" && !way.hidden)) return "";
  const shown = rendered(child, look);
  if (!shown && !way.hidden && !mayShowInside(child)) return "";
  const said = shown || way.hidden
    ? alternative(child, look, { ...way, inside: true, depth: way.depth + 1 })
    : contentOfHidden(child, look, way);
  return staysInLine(child, tag) ? said : ` ${said} `;
}

/** `visibility: hidden` hides the text of an element, not that of its children. */
const mayShowInside = (el) => el.firstElementChild !== null && getComputedStyle(el).display !== "none";

function contentOfHidden(el, look, way) {
  return [...flatChildren(el)].filter(isElement).map((child) => partOf(child, look, way)).join("");
}

/** Whether its text joins its neighbours' text without a space. */
function staysInLine(el, tag) {
  if (VISUAL_TAGS.has(tag) || FIELD_TAGS.has(tag)) return false;
  const display = getComputedStyle(el).display;
  return display === "inline" || display === "contents";
}

/** Rendered at all, at any size: hidden elements contribute no name. */
function rendered(el, look) {
  return remembered(look, "rendered", el, (each) => isRendered(each, look));
}

function isRendered(el, look) {
  const tag = tagOf(el);
  if (tag === "option" || tag === "optgroup") return el.closest("select, datalist") === null || rendered(el.parentElement, look);
  if (tag === "area") return true;
  if (painted(el, look)) return true;
  const style = getComputedStyle(el);
  if (style.display !== "contents" || style.visibility !== "visible") return false;
  const parent = flatParent(el);
  return parent === null || rendered(parent, look);
}

// -- generated content ---------------------------------------------------------------------------

/** The text of `::before` and `::after`, or null; read only if a style sheet has any. */
function pseudoTexts(el, look) {
  const sheets = look.sheets || (look.sheets = new Map());
  const root = el.getRootNode();
  let any = sheets.get(root);
  if (any === undefined) {
    any = generatesText(root);
    sheets.set(root, any);
  }
  if (!any) return null;
  const before = pseudoText(el, "::before");
  const after = pseudoText(el, "::after");
  return before || after ? { before, after } : null;
}

const NO_CONTENT = /^(normal|none|["']\s*["'])$/;
const GENERATED = /::?(before|after)\b/;

function generatesText(root) {
  return generatingRules(root, NO_CONTENT).length > 0;
}

/** Rules that generate content before or after elements (or where `where` says); null for a style sheet that cannot be read. */
function generatingRules(root, nothing, where = GENERATED) {
  const found = [];
  for (const sheet of [...(root.styleSheets || []), ...(root.adoptedStyleSheets || [])]) {
    try {
      gatherGenerating(sheet.cssRules, nothing, found, where);
    } catch {
      found.push(null); // from elsewhere: it may
    }
  }
  return found;
}

function gatherGenerating(rules, nothing, found, where) {
  for (const rule of rules) {
    if (rule.style && rule.style.content && !nothing.test(rule.style.content) && where.test(rule.selectorText || "")) found.push(rule);
    if (rule.cssRules && rule.cssRules.length) gatherGenerating(rule.cssRules, nothing, found, where);
  }
}

function pseudoText(el, which) {
  const style = getComputedStyle(el, which);
  const content = style.content;
  if (!content || content === "none" || content === "normal" || style.display === "none" || style.visibility !== "visible") return "";
  const [said, instead] = content.split(/ \/ (?=")/);
  const text = [...(instead || said).matchAll(/"((?:[^"\\]|\\.)*)"/g)].map((m) => m[1].replace(/\\(.)/g, "$1")).join("");
  return style.display === "inline" && !instead ? text : ` ${text} `;
}

// -- operable elements ---------------------------------------------------------------------------

/** Elements a person can operate: counted by `dom_index`, preferred by `semantic`. */
function isInteractive(el) {
  const tag = tagOf(el);
  if (tag === "input") return el.type !== "hidden";
  if (tag === "a" || tag === "area") return hasAttr(el, "href") || INTERACTIVE_ROLES.has(attr(el, "role"));
  if (tag === "option") return false;
  if (tag === "button" || tag === "select" || tag === "textarea" || tag === "summary") return true;
  const given = attr(el, "role");
  if (given && INTERACTIVE_ROLES.has(given.trim().split(/\s+/)[0])) return true;
  const stop = attr(el, "tabindex");
  return (stop !== null && /^\s*\d+\s*$/.test(stop)) || editingHost(el);
}
