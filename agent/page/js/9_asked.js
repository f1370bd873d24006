// An index for one query reads only elements that could match it: the others keep
// their positions but are empty. Elements left out certainly do not match; elements read may match.
// agent/locators/scan_query.py builds the query and defines what matches.

const UNREAD = 0;
/** Parts that may contribute to a name besides visible text. */
const SPEAKING_PARTS = "[aria-label],[aria-labelledby],[title],[alt],[contenteditable],[role],img,svg,input,select,textarea,slot,iframe";
const FOREIGN = "[^\\x00-\\x7f]"; // other letters may be folded into ours: only Python can tell
/** Only characters that are no words: punctuation, and glyphs of icon fonts. */
const WORDLESS_CONTENT = /^(normal|none|(?:"(?:[^"\\A-Za-z0-9\x80-\udfff\uf900-\uffff]|\\["\\])*"\s*)+)$/;
const FAR_REACHING = /&|::part|:host|::slotted/; // they name elements of other roots, or of rules around them
const DEFAULT_WORDS = new Set([...INPUT_BUTTONS, "image"]); // the browser's own, where the page has none

/** The query for the pass: a pattern of possible matches, and whether regions are wanted. */
function askedFor({ words, regions }) {
  const spaced = words.map((word) => [...word].join("[\\W_]*"));
  return { pattern: new RegExp([FOREIGN, ...spaced].join("|"), "i"), regions, generating: new Map() };
}

/** Whether an element could match, or share its name with a match. */
function mayBeMeant(el, tag, usable, walk) {
  if (!usable && !isControl(el) && !hasAttr(el, "placeholder")) return false;
  return saysAsked(el, tag, walk.asked) || calledAsked(el, tag, walk);
}

/** Whether its text, an attribute, or a part with its own name could match. */
function saysAsked(el, tag, asked) {
  const { pattern } = asked;
  for (const name of el.getAttributeNames()) {
    if (name === "aria-labelledby" || (name !== "class" && name !== "style" && pattern.test(attr(el, name)))) return true;
  }
  if (tag === "input") return DEFAULT_WORDS.has(el.type) && !hasAttr(el, "value");
  if (tag === "slot" || el.shadowRoot !== null || pattern.test(el.textContent)) return true;
  return (el.firstElementChild !== null && el.querySelector(SPEAKING_PARTS) !== null) || generatesWords(el, asked);
}

/** A control is named by its labels; a field without labels by its surroundings, which Python reads. */
function calledAsked(el, tag, walk) {
  const labels = labelsOf(el);
  if (labels.some((label) => saysAsked(label, "label", walk.asked))) return true;
  if (tag === "button" || !FIELD_TAGS.has(tag)) return false;
  const plainly = labels.some((label) => label.firstElementChild === null && label.textContent.trim() !== "");
  return !plainly && labelText(el, walk.look) === "";
}

/** Whether style sheets of its document or shadow root may generate text before or after its own. */
function generatesWords(el, asked) {
  const root = el.getRootNode();
  let where = asked.generating.get(root);
  if (where === undefined) asked.generating.set(root, (where = whereWordsAreGenerated(root)));
  if (where === null || where === "") return where === null;
  return el.matches(where) || (el.firstElementChild !== null && el.querySelector(where) !== null);
}

/** CSS of the elements with generated text: empty for none, null if unknown. */
function whereWordsAreGenerated(root) {
  const found = [];
  for (const rule of generatingRules(root, WORDLESS_CONTENT)) {
    if (rule === null || FAR_REACHING.test(rule.selectorText)) return null;
    for (const part of splitTopLevel(rule.selectorText, ",")) {
      if (GENERATED.test(part)) found.push(part.replace(/::?(before|after)\b/g, "").replace(/(^|[\s>+~])\s*$/, "$1*"));
    }
  }
  try {
    if (found.length) document.createDocumentFragment().querySelector(found.join(","));
  } catch {
    return null;
  }
  return found.join(",");
}

/** After the pass: the regions around the elements read, or all if a region is wanted. */
function readRegionsAround(walk) {
  const { regions, rows } = walk;
  const wanted = new Set(walk.asked.regions ? regions.keys() : []);
  for (const row of rows) {
    for (let at = row === UNREAD ? -1 : row[2]; at >= 0 && !wanted.has(at); at = regions[at][2]) wanted.add(at);
  }
  for (const [at, region] of regions.entries()) {
    if (wanted.has(at)) readRegion(region, walk);
    else if (region[4] === null) region[4] = [];
  }
}

/** Its texts, and the attributes of its element for selectors. */
function readRegion(region, walk) {
  textsOf(region, walk);
  const [, at, parent] = region;
  if (walk.rows[at] !== UNREAD) return;
  const el = walk.elements[at];
  const tag = tagOf(el);
  walk.rows[at] = [walk.rootAt[at], -1, parent, tag, roleOf(el), "", "", "", attributesOf(el, tag), 0, 0, 0, 0, 0, 0, ""];
}

/** What decides what a press does beside the control's own words; null if the selector leads to no element. */
function pressSurroundings(selector, byEnter) {
  const { element: el } = resolve(selector, newLook(), false);
  if (!el) return null;
  const pressed = el.closest("button, input") || el;
  const writes = byEnter && isWritten(pressed);
  const form = pressed.form || (writes && pressed.closest("form")) || null;
  const entered = Boolean(form) && (writes || (byEnter && pressed.localName === "input" && !sendsForm(pressed)));
  const sender = entered ? defaultButton(form) : null;
  const senders = sender ? [sender] : writes ? buttonsBeside(pressed) : [];
  const button = sender || pressed;
  const submits = form && (entered || sendsForm(pressed));
  const override = submits && [...form.elements].find((field) => attr(field, "name") === "_method");
  const deeds = submits ? [...form.elements, button].filter((field) => (field.type === "hidden" || field === button) && SAYS_DEED.test(attr(field, "name") || "")) : [];
  const link = el.closest("a[href], area[href]");
  const dialog = dialogAround(el);
  const layers = layersAround(el, dialog);
  const method = submits ? attr(button, "formmethod") || attr(form, "method") || "" : "";
  const action = submits ? attr(button, "formaction") || attr(form, "action") || "" : "";
  return {
    title: [attr(el, "title") || "", ...titlesIn(el)].filter(Boolean).join(". "),
    drawn: drawnText(el, newLook()),
    link: link ? attr(link, "href") : "",
    action: action || !/^post$/i.test(method) ? action : location.href, // a form without an address goes to its own page
    method: (override && override.value) || method,
    chosen: submits ? [...form.elements].flatMap(chosenWords).join("\n") : "",
    heading: (submits && headingOf(form)) || headingAbove(el),
    group: groupOf(el),
    card: submits && [...form.elements].some((field) => /\bcc-(number|csc|exp)/.test(attr(field, "autocomplete") || "")) ? "card" : "",
    sender: senders.flatMap(wordsOfButton).join("\n"),
    marks: marksOf(link || closestFlat(el, (node) => node.localName === "button" || attr(node, "role") === "button") || el),
    options: el.localName === "select" ? [...el.options].map((each) => `${each.value}\t${squeeze(each.label)}`).join("\n") : "",
    deed: deeds.map((field) => field.value).join(" ").slice(0, 200),
    dialog: dialog ? textAround(dialog) : "",
    fields: dialog && dialog.querySelector("input, select, textarea") ? "fields" : "",
    layers: textsOfLayers(layers).join("\n"),
    beside: layers.length ? textsOfLayers(besideLayer(layers[0])).join("\n") : "",
    described: describedBy(el),
    column: columnOf(el),
    row: closestFlat(el, (node) => node === dialog || isRow(node)) !== dialog && closestFlat(el, isRow) ? "row" : "",
  };
}

/** Names of fields whose value says what a form does. */
const SAYS_DEED = /(^|[^a-z])(action|op|operation|cmd|do)$/i;
/** Attributes by which scripts know what a press does. */
const MARKING = /^(hx|ic|up|data|ping|wire|phx|x-on|v-on)\b|^@|^on[a-z]/;
const BUTTONS = "button, input[type=submit], input[type=image], input[type=button], [role=button]";
const NEAR_LEVELS = 4; // ancestors in which the button of an editor is looked for
const NEAR_BUTTONS = 5; // more of them are a toolbar

/** Whether it takes several lines: there the Enter key is a line break, or sends what is written, as its script wants. */
function isWritten(el) {
  return el.localName === "textarea" || el.isContentEditable === true;
}

/** The button that the Enter key presses. An image is none of `form.elements`. */
function defaultButton(form) {
  const buttons = [...form.getRootNode().querySelectorAll("button, input")];
  return buttons.find((field) => field.form === form && sendsForm(field) && !field.disabled) || null;
}

/** The few buttons nearest around an editor without a form. */
function buttonsBeside(el) {
  let around = flatParent(el);
  for (let level = 0; around && level < NEAR_LEVELS; level += 1, around = flatParent(around)) {
    const found = isElement(around) ? [...around.querySelectorAll(BUTTONS)] : [];
    if (found.length) return found.length <= NEAR_BUTTONS ? found : [];
  }
  return [];
}

/** All that a button is called. */
function wordsOfButton(button) {
  const said = [button.ariaLabel, button.value, button.alt, button.textContent, button.title];
  return said.map((each) => squeeze(each || "")).filter((each) => each);
}

/** The heading of the table's column in which an element stands. */
function columnOf(el) {
  const cell = closestFlat(el, (node) => node.localName === "td" || ["cell", "gridcell"].includes(attr(node, "role")));
  return cell ? columnHeader(cell, newLook()).slice(0, 100) : "";
}

const LONGEST_MARK = 100; // characters of the value of an attribute
const LONGEST_CODE = 2000; // and of one that is code
const CODE = /^(on|@|x-on|v-on|wire|phx)/;
const PRESSED_BY = /^on(click|mousedown|mouseup|pointerdown|pointerup|touchstart|touchend)$/;

/** Attributes of scripts, a line each: name, tab, value. Of what is around the element: the code that its press runs, too (`onclick around`). */
function marksOf(el) {
  const marks = el.getAttributeNames().filter((name) => MARKING.test(name)).map((name) => [name, attr(el, name)]);
  for (let node = flatParent(el); node && isElement(node); node = flatParent(node)) {
    for (const name of node.getAttributeNames()) if (PRESSED_BY.test(name)) marks.push([`${name} around`, attr(node, name)]);
  }
  return marks.map(([name, value]) => `${name}\t${squeeze(value).slice(0, CODE.test(name) ? LONGEST_CODE : LONGEST_MARK)}`).join("\n");
}

/** What a person reads while the pointer is over parts of an element. */
const titlesIn = (el) => [...el.querySelectorAll("svg title, [title]")].map((each) => squeeze(tagOf(each) === "title" ? each.textContent : attr(each, "title")));

const GROUPS = "[role=group], [role=menu], [role=toolbar], [role=radiogroup], fieldset, details";
const GROUPED = "button, a[href], [role=button], [role=link], [role^=menuitem], input[type=submit], input[type=button]";

/** What the groups around a control are called that does something at once, a line each. */
function groupOf(el) {
  const names = [];
  for (let node = el.closest(GROUPED) ? flatParent(el) : null; node && isElement(node); node = flatParent(node)) {
    if (!node.matches(GROUPS)) continue;
    const own = [...node.children].find((child) => ["legend", "summary"].includes(tagOf(child)));
    if (own && own.contains(el)) continue;
    names.push(attr(node, "aria-label") || referredTexts(node, "aria-labelledby").join(" ") || (own ? drawnText(own, newLook()) : ""));
  }
  return names.map((each) => squeeze(each).slice(0, 100)).filter(Boolean).join("\n");
}

const HEADING = "h1, h2, h3, h4, h5, h6, [role=heading]";

/** The heading above such a control in the smallest part of the page that has one; at most 600 characters. */
function headingAbove(el) {
  for (let node = el.closest(GROUPED) ? flatParent(el) : null; node && isElement(node) && !node.matches("main, [role=main], body"); node = flatParent(node)) {
    const before = [...node.querySelectorAll(HEADING)].filter((each) => each.compareDocumentPosition(el) & Node.DOCUMENT_POSITION_FOLLOWING);
    if (before.length) return drawnText(before[before.length - 1], newLook()).slice(0, 600);
    if (isDialog(node)) return "";
  }
  return "";
}

/** The dialog or open popover in which an element is shown: also one that it is slotted into, that owns it, or around its frame. */
function dialogAround(el) {
  for (let node = el; node; node = flatParent(node) || frameOf(node)) {
    if (!isElement(node)) continue;
    const owner = isDialog(node) ? node : ownerOf(node);
    if (owner && isDialog(owner)) return owner;
  }
  return null;
}

/** The element that says it owns another one (`aria-owns`), wherever it is. */
function ownerOf(el) {
  return el.id ? el.getRootNode().querySelector(`[aria-owns~=${quoted(el.id)}]`) : null;
}

const LAYERS = 3; // layers around an element whose texts are told
const BESIDE_PX = 12; // two layers that are so near to each other look like one

/** What is laid over the page around an element, inner ones first: dialogs that only their style makes one. */
function layersAround(el, dialog) {
  const layers = [];
  for (let node = el; node && node !== dialog; node = flatParent(node) || frameOf(node)) {
    if (isElement(node) && isLaidOver(node)) layers.push(node);
  }
  return layers;
}

/** The different texts of layers, of so many. */
function textsOfLayers(layers) {
  const texts = new Set();
  for (const layer of layers) if (texts.size < LAYERS) texts.add(textAround(layer, true));
  texts.delete("");
  return [...texts];
}

/** What is laid over the page next to a layer, and is not in or around it. */
function besideLayer(layer) {
  const view = layer.ownerDocument;
  const { left, top, right, bottom } = layer.getBoundingClientRect();
  const across = [0.1, 0.5, 0.9].map((part) => left + (right - left) * part);
  const down = [0.1, 0.5, 0.9].map((part) => top + (bottom - top) * part);
  const spots = [
    ...across.flatMap((x) => [[x, top - BESIDE_PX], [x, bottom + BESIDE_PX]]),
    ...down.flatMap((y) => [[left - BESIDE_PX, y], [right + BESIDE_PX, y]]),
  ];
  const host = hostOf(layer);
  const found = new Set();
  for (const [x, y] of spots) {
    const hit = view.elementFromPoint(x, y);
    const other = hit && closestFlat(hit, (node) => isElement(node) && isLaidOver(node));
    if (other && !host.contains(other) && !other.contains(host)) found.add(other);
  }
  return [...found];
}

/** Whether an element is laid over other content of its document: what it has below it is neither in it nor around it. */
function isLaidOver(el) {
  const style = getComputedStyle(el);
  if (style.display === "contents" || style.display === "inline") return false;
  const placed = style.position;
  const { left, top, width, height } = el.getBoundingClientRect();
  const view = el.ownerDocument;
  const { clientWidth, clientHeight } = view.documentElement;
  if (placed === "fixed" && (width < clientWidth - 1 || height < clientHeight - 1)) return true; // it stays when the page is scrolled
  const free = placed === "fixed" || placed === "absolute";
  if (!free && !isSolid(el, style)) return false; // one that is in its place is only laid over what it hides
  const host = hostOf(el);
  return [0.5, 0.05, 0.95].some((x) => [0.5, 0.05, 0.95].some((y) => {
    const below = view.elementsFromPoint(left + width * x, top + height * y);
    const at = below.findIndex((each) => host.contains(each));
    if (at < 0) return false;
    const hidden = below.slice(at).filter((each) => !host.contains(each));
    const around = hidden.findIndex((each) => each.contains(host));
    if (free) return hidden.some((each) => !each.contains(host));
    return hidden.slice(0, around < 0 ? hidden.length : around).some((each) => each.textContent.trim());
  }));
}

/** The element of the document itself that an element is, or in whose shadow it is. */
function hostOf(el) {
  let host = el;
  for (let root = host.getRootNode(); root instanceof ShadowRoot; root = host.getRootNode()) host = root.host;
  return host;
}

/** What is said to describe an element; at most 600 characters. */
function describedBy(el) {
  const texts = [attr(el, "aria-description") || "", ...referredTexts(el, "aria-describedby"), ...referredTexts(el, "aria-details")];
  return squeeze(texts.join(" ")).slice(0, 600);
}

/** The texts of the elements that an attribute names by their ids. */
function referredTexts(el, name) {
  const said = (attr(el, name) || "").split(/\s+/).map((id) => id && el.getRootNode().getElementById(id));
  return said.filter((each) => each && !el.contains(each)).map((each) => each.textContent);
}

function isDialog(el) {
  const role = attr(el, "role");
  if (el.localName === "dialog" || role === "dialog" || role === "alertdialog" || attr(el, "aria-modal") === "true") return true;
  return hasAttr(el, "popover") && el.matches(":popover-open");
}

/** Whether a press of it sends its form. An image is none of `form.elements`, but can be pressed. */
function sendsForm(field) {
  return field.type === "submit" || field.type === "image";
}

/** What is chosen in a field of a form: the words of options, and of boxes that are ticked. */
function chosenWords(field) {
  if (field.localName === "select") return [...field.selectedOptions].map((each) => squeeze(each.label));
  if (field.checked !== true || (field.type !== "checkbox" && field.type !== "radio")) return [];
  return labelsOf(field).map((label) => squeeze(label.textContent));
}

/** What a form is called: its own label, headings and legends in it; at most 600 characters. */
function headingOf(form) {
  const texts = [attr(form, "aria-label") || ""];
  const look = newLook();
  for (const each of form.querySelectorAll("h1, h2, h3, h4, h5, h6, legend, [role=heading]")) texts.push(drawnText(each, look));
  return squeeze(texts.join(" ")).slice(0, 600);
}

const CONTROLS = "button, a, label, select, textarea, script, style, [role=button], [role=option], [role=tab], [role=treeitem], [role^=menuitem]";

/**
 * The text of an element as it is read, without that of its controls, at most 600 characters. `pointed`: nor of what shows a pointer
 * as a control does.
 */
function textAround(around, pointed) {
  const look = newLook();
  const pass = (el) => el.matches(CONTROLS) || (pointed && getComputedStyle(el).cursor === "pointer");
  const texts = [attr(around, "aria-label") || ""];
  for (const name of ["aria-labelledby", "aria-describedby"]) texts.push(...referredTexts(around, name));
  if (!around.closest(CONTROLS)) texts.push(drawnText(around, look, { fixed: true, named: true, pass }));
  return squeeze(texts.join(" ")).slice(0, 600);
}
