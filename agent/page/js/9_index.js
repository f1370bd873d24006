// The page index: all elements a person could mean, with roles, names, neighbours and regions, in one pass.
// Rows and their order are read by agent/locators/page_scan.py; the models are in agent/locators/page_index.py.

const TEXT_LENGTH = 200;
const MOST_ELEMENTS = 20000;
const LOOKS_KEPT = 3;
const MOST_FORM_KINDS = 60; // fields and buttons of one form that its rows lay out
const looks = new Map(); // token -> elements of that look, for Python to fetch
const KEPT_ATTRIBUTES = new Set([
  "id", "class", "name", "type", "href", "src", "placeholder", "title", "alt", "role", "aria-label", "autocomplete",
  "for", "action", "method", "target", "rel", "accept", "inputmode", "aria-controls", "aria-haspopup", "aria-pressed", "value",
]);
const TEST_ID = /^data-(test-?id|test|qa|cy|pw)$/;
const FRAMEWORK_MARK = /^data-(v|pp|react|original)/; // of styles, and of what a framework notes for itself
const CONTAINER_ROLES = new Set([
  "form", "dialog", "alertdialog", "banner", "navigation", "main", "complementary", "contentinfo", "region", "search",
  "group", "radiogroup", "toolbar", "tabpanel", "article", "menu", "menubar", "tablist", "table", "grid", "treegrid",
  "row", "rowgroup", "list", "tree", "feed", "document", "application",
]);
const TEXT_ROLES = new Set(["paragraph", "emphasis", "strong", "code", "mark", "time", "term", "definition", "blockquote",
  "deletion", "insertion", "subscript", "superscript", "presentation", "caption", "separator", "graphics-symbol"]);
const DISABLED_TAGS = new Set([...FIELD_TAGS, "option", "optgroup", "fieldset"]);
const FLAG = { visible: 1, interactive: 2, enabled: 4, required: 8, tickable: 16, ticked: 32, clickable: 64, standIn: 128, behind: 256 };

/**
 * @param everything whether to include elements without meaning for a person.
 * @param question the query, to read only possible matches (9_asked.js); null: read everything.
 * @param rows how many rows or items of each list are read; the controls of the others are counted. 0: all.
 * @param values whether what fields show is read.
 */
function pageIndex(everything, question = null, rows = 0, values = false) {
  const walk = {
    rows: [], mostRows: rows, rowsOf: new Map(), further: [], formKinds: new Map(), formRows: [],
    look: newLook(), everything, asked: question === null ? null : askedFor(question),
    elements: [], rootAt: [], operable: [], regions: [], roots: [], path: [], parent: -1, root: 0,
    inside: false, pointer: false, shut: false, cell: null, row: -1, dx: 0, dy: 0, full: false,
    layers: frontLayers(), front: false,
  };
  walk.roots.push(["document", null, null, null, document.URL]);
  if (document.documentElement) walkElement(document.documentElement, walk);
  if (walk.asked) readRegionsAround(walk);
  else for (const region of walk.regions) textsOf(region, walk);
  const token = remember(walk.elements);
  return { ...pageFacts(), token, elements: walk.rows, regions: walk.regions, roots: walk.roots, truncated: walk.full, further: walk.further, formRows: walk.formRows, values: values ? shownValues(walk.elements) : [] };
}

/** Store the elements of an index for later calls from Python; return its token. */
function remember(elements) {
  const token = newToken();
  looks.set(token, elements);
  while (looks.size > LOOKS_KEPT) looks.delete(looks.keys().next().value);
  return token;
}

function walkElement(el, walk) {
  const tag = tagOf(el);
  if (walk.full || EMPTIED_INDEX.has(tag)) return;
  const before = { parent: walk.parent, inside: walk.inside, pointer: walk.pointer, shut: walk.shut, cell: walk.cell, row: walk.row, front: walk.front };
  walk.front = walk.front || walk.layers.includes(el);
  const role = roleOf(el);
  const ofForm = addsToForm(el, role, walk);
  if (walk.mostRows && isFurtherRow(el, role, walk) && !ofForm) {
    countFurther(el, walk);
    return;
  }
  const shown = rendered(el, walk.look) || tag === "html";
  const operable = isInteractive(el);
  walk.shut = walk.shut || hasAttr(el, "inert") || attr(el, "aria-disabled") === "true"; // as disabledBy has it
  const at = wanted(el, tag, role, shown, operable, walk) ? addRow(el, tag, role, shown, operable, walk) : -1;
  const frame = { el, region: -1, sections: [] };
  walk.path.push(frame);
  if (at >= 0) {
    walk.parent = at;
    const kind = regionKind(el, role);
    if (kind) frame.region = addRegion(el, kind, at, walk);
    if (ofForm && frame.region >= 0) walk.formRows.push(frame.region);
    if (role === "heading") addSection(el, at, walk);
    if (tag === "label" && !el.control) addField(el, at, walk);
    if (role === "row") walk.row = frame.region;
  }
  if (CELL_ROLES.has(role)) walk.cell = el;
  walk.inside = walk.inside || (operable && NAMED_BY_CONTENT.has(role));
  walkInside(el, tag, walk);
  walk.path.pop();
  Object.assign(walk, before);
}

/** Whether an element is a row or an item beyond those that are read of its list. */
function isFurtherRow(el, role, walk) {
  const kind = regionKind(el, role);
  if (kind !== "row" && kind !== "item") return false;
  const list = `${currentRegion(walk)} ${kind}`;
  const before = walk.rowsOf.get(list) || 0;
  walk.rowsOf.set(list, before + 1);
  return before >= walk.mostRows;
}

/**
 * Whether a row has a field or button of the form around its list that no row before it has: rows then lay out a form, and none of
 * its parts is folded away. Fields that differ only by a number, and buttons of one text, are those of data.
 */
function addsToForm(el, role, walk) {
  const kind = regionKind(el, role);
  if (kind !== "row" && kind !== "item") return false;
  const list = `${currentRegion(walk)} ${kind}`;
  if (!walk.formKinds.has(list)) walk.formKinds.set(list, el.closest("form") ? new Set() : null);
  const known = walk.formKinds.get(list);
  if (known === null || known.size >= MOST_FORM_KINDS) return false;
  const form = el.closest("form");
  const before = known.size;
  for (const each of el.querySelectorAll("input:not([type=hidden]), select, textarea, button")) {
    if (each.closest("form") === form) known.add(formKind(each));
  }
  return known.size > before;
}

function formKind(el) {
  const kind = `${tagOf(el)} ${el.type}`;
  const pressed = ["submit", "button", "image", "reset"].includes(el.type);
  return pressed ? `${kind} ${squeeze(tagOf(el) === "input" ? el.value : el.textContent)}` : `${kind} ${(attr(el, "name") || "").replace(/\d+/g, "#")}`;
}

/** Count the controls of a row that is not read, with the position of the element that comes next. */
function countFurther(el, walk) {
  let controls = 0;
  for (const each of [el, ...el.querySelectorAll(OPERABLE_CSS)]) {
    if (isInteractive(each) && each.checkVisibility({ visibilityProperty: true })) controls += 1;
  }
  const at = walk.elements.length;
  const last = walk.further[walk.further.length - 1];
  if (last && last[0] === at) last[1] += controls;
  else if (controls) walk.further.push([at, controls]);
}

const EMPTIED_INDEX = new Set(["script", "style", "noscript", "template", "head", "noembed", "noframes"]);

function walkInside(el, tag, walk) {
  if (el.shadowRoot) inRoot(["shadow", walk.root, hostRow(el, walk), uniqueCss(el), null], el.shadowRoot, walk);
  if (tag === "select" && !walk.everything) return; // what can be chosen is no target of its own
  for (let child = el.firstElementChild; child; child = child.nextElementSibling) walkElement(child, walk);
  const inner = frameDocument(el);
  if (inner && inner.documentElement) {
    const { dx, dy } = walk;
    const box = el.getBoundingClientRect();
    walk.dx += box.left + el.clientLeft;
    walk.dy += box.top + el.clientTop;
    const around = walk.frameRoots || (walk.frameRoots = rootsBelow(document)); // a frame's selector is looked up in all
    inRoot(["frame", walk.root, hostRow(el, walk), uniqueCss(el, around), inner.URL], inner, walk);
    Object.assign(walk, { dx, dy });
  }
}

function inRoot(record, root, walk) {
  const outer = walk.root;
  walk.root = walk.roots.push(record) - 1;
  for (let child = root.firstElementChild; child; child = child.nextElementSibling) walkElement(child, walk);
  walk.root = outer;
}

/** The host's own row; hosts are always included. */
const hostRow = (el, walk) => (walk.elements[walk.parent] === el ? walk.parent : null);

function wanted(el, tag, role, shown, operable, walk) {
  if (walk.everything) return true;
  if (operable || el.shadowRoot || tag === "iframe" || tag === "frame") return true;
  const region = regionKind(el, role) !== null;
  if (!shown) return region;
  if (region || role === "heading" || hasTestId(el) || hasAttr(el, "onclick")) return true;
  if (walk.inside) return false;
  if (role !== null && !TEXT_ROLES.has(role) && role !== "rowgroup" && role !== "list") return true;
  return hasOwnText(el) || (role === "graphics-symbol" && nameOf(el, walk.look) !== "") || (!walk.pointer && showsHand(el)) || isScripted(el, tag);
}

function hasTestId(el) {
  for (const name of ["data-testid", "data-test-id", "data-test", "data-qa", "data-cy", "data-pw"]) if (hasAttr(el, name)) return true;
  return false;
}

function hasOwnText(el) {
  for (let node = el.firstChild; node; node = node.nextSibling) if (node.nodeType === 3 && /\S/.test(node.data)) return true;
  return false;
}

/** A label has the same name, but its control is meant. */
const showsHand = (el) => !(tagOf(el) === "label" && el.control) && getComputedStyle(el).cursor === "pointer";

/** Whether it is a link without an address that has attributes of a script: a listener further out may read them. */
const isScripted = (el, tag) => tag === "a" && !hasAttr(el, "href") && el.getAttributeNames().some((name) =>
  name.startsWith("data-") && !TEST_ID.test(name) && !FRAMEWORK_MARK.test(name) && /\S/.test(attr(el, name)));

function addRow(el, tag, role, shown, operable, walk) {
  const at = walk.elements.push(el) - 1;
  if (at >= MOST_ELEMENTS) walk.full = true;
  walk.rootAt.push(walk.root);
  walk.operable.push(operable);
  const apart = !walk.pointer || tag === "a"; // a link in a row that shows a pointer as a whole, too
  const clickable = !operable && shown && apart && (hasAttr(el, "onclick") || showsHand(el) || isScripted(el, tag));
  if (clickable) walk.pointer = true;
  const read = walk.asked === null || mayBeMeant(el, tag, operable || clickable, walk);
  walk.rows.push(read ? rowOf(el, tag, role, { shown, operable, clickable }, walk) : UNREAD);
  return at;
}

function rowOf(el, tag, role, { shown, operable, clickable }, walk) {
  const { look } = walk;
  const seen = shown && visible(el, look);
  const box = boxOf(el, look);
  const ticked = tickedState(el, role);
  const flags = (seen ? FLAG.visible : 0) | (operable ? FLAG.interactive : 0) | (clickable ? FLAG.clickable : 0) |
    (walk.shut || (DISABLED_TAGS.has(tag) && el.matches(":disabled")) ? 0 : FLAG.enabled) |
    (el.required || attr(el, "aria-required") === "true" ? FLAG.required : 0) |
    (!seen && operable && visibleStandIn(el, look) ? FLAG.standIn : 0) |
    (ticked === null ? 0 : FLAG.tickable) | (ticked ? FLAG.ticked : 0) |
    (walk.layers.length && !walk.front && (operable || clickable) && behindLayers(el, walk.layers) ? FLAG.behind : 0);
  const named = shown || operable || walk.everything;
  return [
    walk.root, walk.parent, currentRegion(walk), tag, role, named ? nameOf(el, look) : "",
    isControl(el) ? labelText(el, look) : "", textFor(el, role, seen, look), attributesOf(el, tag),
    neighbours(el, operable || clickable, walk),
    Math.round(box.left + walk.dx), Math.round(box.top + walk.dy), Math.round(box.width), Math.round(box.height), flags,
    operable || clickable ? iconOf(el) : "",
  ];
}

function textFor(el, role, seen, look) {
  if (!seen || CONTAINER_ROLES.has(role) || hasAttr(el, "data-pp-secret") || editingHost(el)) return "";
  const tag = tagOf(el);
  if (tag === "input") return INPUT_BUTTONS.has(el.type) ? squeeze(buttonText(el)) : "";
  if (tag === "select" || tag === "textarea" || tag === "html" || tag === "body") return "";
  return briefText(el, look, TEXT_LENGTH) || (isInteractive(el) ? titlesInside(el) : "");
}

/** The tooltip of an icon. */
function titlesInside(el) {
  const icon = el.querySelector("[title]:not([title='']), [alt]:not([alt=''])");
  return icon ? squeeze(attr(icon, "title") || attr(icon, "alt") || "").slice(0, TEXT_LENGTH) : "";
}

function tickedState(el, role) {
  if (isToggle(el)) return el.checked;
  return TOGGLE_ROLES.has(role) ? attr(el, "aria-checked") === "true" : null;
}

function attributesOf(el, tag) {
  const kept = {};
  for (const name of el.getAttributeNames()) {
    if (!KEPT_ATTRIBUTES.has(name) && !(name.startsWith("data-") && !name.startsWith("data-pp-"))) continue;
    if (name === "value" && !(tag === "button" || (tag === "input" && (INPUT_BUTTONS.has(el.type) || isToggle(el))))) continue;
    const value = attr(el, name);
    if (name === "src" && value.startsWith("data:")) continue;
    if (name.startsWith("data-") && !TEST_ID.test(name) && value.length > PIECE_LENGTH) continue;
    kept[name] = value.slice(0, TEXT_LENGTH);
  }
  return kept;
}

function neighbours(el, operable, walk) {
  const heading = currentHeading(walk);
  if (!operable) return heading ? [heading, "", "", "", ""] : 0;
  const { look } = walk;
  const first = walk.row >= 0 ? textsOf(walk.regions[walk.row], walk)[0] || "" : "";
  const own = first && walk.cell ? briefText(walk.cell, look, PIECE_LENGTH) : "";
  return [
    heading, besideText(el, look, "previousSibling"), besideText(el, look, "nextSibling"),
    own === first ? "" : first,
    walk.cell ? columnHeader(walk.cell, look) : "",
  ];
}

// -- regions and sections ------------------------------------------------------------------------

/** Region rows: kind, element, parent, name, texts (null: not read yet). */
function addRegion(el, kind, at, walk) {
  const { look } = walk;
  const leaf = kind === "row" || kind === "item";
  const name = kind === "item" || kind === "row" ? squeeze(attr(el, "aria-label") || "") : nameOf(el, look) || namingPart(el, look);
  const region = [kind, at, currentRegion(walk), name, leaf ? null : []];
  return walk.regions.push(region) - 1;
}

/** Other names of a region, read on first use. */
function textsOf(region, walk) {
  if (region[4] === null) region[4] = piecesOf(walk.elements[region[1]], walk.look);
  return region[4];
}

/** The innermost region at this point of the pass. */
function currentRegion(walk) {
  for (let i = walk.path.length - 1; i >= 0; i -= 1) {
    const { sections, region } = walk.path[i];
    if (sections.length) return sections[sections.length - 1].region;
    if (region >= 0) return region;
  }
  return -1;
}

function currentHeading(walk) {
  for (let at = currentRegion(walk); at >= 0; at = walk.regions[at][2]) {
    const [kind, , , name] = walk.regions[at];
    if (name && kind !== "row" && kind !== "item" && kind !== "landmark") return name;
  }
  return "";
}

/** A heading names the region it begins, or opens a section of its own. */
function addSection(el, at, walk) {
  const name = briefText(el, walk.look, PIECE_LENGTH) || nameOf(el, walk.look);
  if (!name) return;
  const around = currentRegion(walk);
  if (around >= 0 && walk.regions[around][3] === name && !operatedSince(walk.regions[around][1], walk)) return;
  const nameless = around >= 0 && !walk.regions[around][3] ? walk.regions[around] : null;
  if (nameless && nameless[0] !== "row" && nameless[0] !== "table" && !operatedSince(nameless[1], walk)) {
    nameless[3] = name;
    return;
  }
  const scope = sectionScope(el);
  const frame = scope && walk.path.findLast((each) => each.el === scope);
  if (!frame) return;
  const level = headingLevel(el);
  while (frame.sections.length && frame.sections[frame.sections.length - 1].level >= level) frame.sections.pop();
  const region = walk.regions.push(["section", at, regionOfFrame(frame, walk), name, []]) - 1;
  frame.sections.push({ level, region });
}

/** A label without a control names the fields beside it, which form one value. */
function addField(el, at, walk) {
  const frame = walk.path.length > 1 ? walk.path[walk.path.length - 2] : null;
  if (!frame || frame.el !== el.parentElement || frame.region >= 0) return;
  const name = briefText(el, walk.look, PIECE_LENGTH);
  if (name && frame.el.querySelector(OPERABLE_CSS)) frame.region = walk.regions.push(["field", at, currentRegion(walk), name, []]) - 1;
}

function regionOfFrame(frame, walk) {
  const until = walk.path.indexOf(frame) + 1;
  return currentRegion({ path: walk.path.slice(0, until) });
}

function operatedSince(at, walk) {
  return walk.operable.indexOf(true, at + 1) >= 0;
}

// -- hosts, and what Python asks later -------------------------------------------------------------

/** A selector of a frame or shadow host that is unique within its root and, if possible, in all roots. */
function uniqueCss(el, everywhere = []) {
  const root = el.getRootNode();
  const id = attr(el, "id");
  const tries = id ? [`#${CSS.escape(id)}`] : [];
  for (const name of ["data-testid", "name", "title", "src"]) if (hasAttr(el, name)) tries.push(`${tagOf(el)}[${name}=${quoted(attr(el, name))}]`);
  tries.push(tagOf(el));
  const alone = tries.filter((css) => root.querySelectorAll(css).length === 1);
  const found = alone.find((css) => everywhere.every((other) => other === root || !other.querySelector(css))) || alone[0];
  if (found) return found;
  const steps = [];
  for (let at = el; at && at.parentElement; at = at.parentElement) {
    steps.unshift(`${tagOf(at)}:nth-child(${[...at.parentElement.children].indexOf(at) + 1})`);
  }
  return steps.join(" > ");
}

/** The element at a position of an index, if the page still stores it and it is still attached. */
function pick(token, at) {
  const el = (looks.get(token) || [])[at];
  return el && el.isConnected ? el : null;
}

/** Whether each selector leads to exactly the element at its position of the index. */
function leadsTo(token, pairs) {
  const look = newLook();
  const led = new Map(); // one selector may be asked of many elements
  const leads = (selector) => {
    const key = json(selector);
    if (!led.has(key)) led.set(key, resolve(selector, look, false).element);
    return led.get(key);
  };
  return pairs.map(([at, selector]) => {
    const el = pick(token, at);
    return el !== null && leads(selector) === el;
  });
}
