// Annotated HTML, as kb_schema/page_snapshots.py says.
//
// A shadow root or frame document travels in the `srcdoc` attribute of its <pp-...> element: inline it
// would be torn apart by the HTML parser (a <div> in a <p>, a second <body>).

// Scripts also build what no parser would: a <div> in a <p>, a link in a link, a table without <tbody>. Such elements
// are written as <pp-tag-p>, so that the parser leaves them where they are; `html_parser.py` gives them back their tag.

const VOID_TAGS = new Set([
  "area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "param", "source", "track", "wbr",
]);
// Elements whose contents are not needed, or not visible.
const EMPTIED_TAGS = new Set(["script", "style", "noscript", "template", "iframe", "noembed", "noframes"]);
const OWN_ATTRIBUTES = new Set(["data-pp-hidden", "data-pp-value", "data-pp-checked", "data-pp-name", "data-pp-at"]);
const KEPT_ON_SECRETS = new Set(["id", "class", "name", "type", "role", "for", "data-testid", "data-qa", "data-pp-secret"]);
const SECRET_AUTOCOMPLETE = new Set("SECRET_AUTOCOMPLETE".split(" ")); // kb_schema/secret_fields.py
const DATA_URI_LIMIT = 512; // characters; longer embedded pictures are left out

const escapeText = (text) => text.replace(/[&<>\u00a0]/g, (c) => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;", "\u00a0": "&nbsp;" })[c]);
const escapeAttribute = (text) => text.replace(/[&"<>\u00a0]/g, (c) =>
  ({ "&": "&amp;", "\"": "&quot;", "<": "&lt;", ">": "&gt;", "\u00a0": "&nbsp;" })[c]);

const RENAMED = "pp-tag-";
const ENDS_P = [
  "address", "article", "aside", "blockquote", "center", "dd", "details", "dialog", "dir", "div", "dl", "dt", "fieldset",
  "figcaption", "figure", "footer", "form", "h1", "h2", "h3", "h4", "h5", "h6", "header", "hgroup", "hr", "li", "listing", "main",
  "menu", "nav", "ol", "p", "pre", "search", "section", "summary", "table", "ul", "xmp",
].join();
const NESTED = "a a, button button, form form, nobr nobr, :is(h1,h2,h3,h4,h5,h6) > :is(h1,h2,h3,h4,h5,h6)";
const TABLE_PARTS = "table, caption, colgroup, col, thead, tbody, tfoot, tr, td, th";
const MISPLACED = [
  "table > :not(caption, colgroup, thead, tbody, tfoot, script, style, template)",
  ":is(thead, tbody, tfoot) > :not(tr, script, style, template)",
  "tr > :not(td, th, script, style, template)",
  ":not(table) > :is(caption, colgroup, thead, tbody, tfoot)",
  ":not(thead, tbody, tfoot, table) > tr",
  ":not(tr) > :is(td, th)",
].join();

let renamed = new Set(); // elements of the look that the parser would put elsewhere

let places = new Map(); // elements of the look that is being written down -> their places in it

/** @param elements those of a page index whose positions the HTML carries. */
function snapshotHtml(secretSelectors, elements = []) {
  const look = newLook();
  places = new Map(elements.map((el, at) => [el, at]));
  renamed = new Set();
  const secrets = new Set();
  for (const selector of secretSelectors) {
    const scope = scopeOf(selector, true, look);
    for (const [s, index] of inOrder(selector)) for (const el of attempt(s, index, scope).found) secrets.add(el);
  }
  const html = rootHtml(document, look, secrets);
  places = new Map();
  return html;
}

function rootHtml(root, look, secrets) {
  const out = [];
  findRenamed(root);
  const stack = [...root.childNodes].reverse();
  while (stack.length) {
    const node = stack.pop();
    if (typeof node === "string") out.push(node);
    else if (node.nodeType === 3) {
      if (!node.parentNode.shadowRoot || textRendered(node)) out.push(escapeText(node.data));
    }
    else if (node.nodeType === 10) out.push(`<!DOCTYPE ${node.name}>`);
    else if (isElement(node)) writeElement(node, look, secrets, out, stack);
  }
  return out.join("");
}

/** Note the elements of a root that the parser would put elsewhere, with their siblings: places are counted by tag. */
function findRenamed(root) {
  const found = [...root.querySelectorAll("p")].filter((el) => el.querySelector(ENDS_P));
  found.push(...root.querySelectorAll(NESTED));
  for (const el of root.querySelectorAll(MISPLACED)) {
    const table = el.parentElement?.closest("table");
    if (table || el.matches(TABLE_PARTS)) found.push(table || el);
  }
  for (const el of found) { // not `children` of the parent: a form may have a field of that name
    for (let each = el; each; each = each.previousElementSibling) if (tagOf(each) === tagOf(el)) rename(each);
    for (let each = el; each; each = each.nextElementSibling) if (tagOf(each) === tagOf(el)) rename(each);
  }
}

function rename(el) {
  if (renamed.has(el)) return;
  renamed.add(el);
  if (el.matches(TABLE_PARTS)) for (const part of el.querySelectorAll(TABLE_PARTS)) renamed.add(part);
}

const writtenTag = (el) => (renamed.has(el) ? RENAMED : "") + tagOf(el);

function writeElement(el, look, secrets, out, stack) {
  const tag = tagOf(el);
  const secret = secrets.has(el) || hasAttr(el, "data-pp-secret");
  out.push(openTag(el, look, secret, secrets));
  if (VOID_TAGS.has(tag)) return;
  stack.push(`</${writtenTag(el)}>${frameElement(el, look, secrets, secret)}`);
  if (EMPTIED_TAGS.has(tag) || tag === "textarea" || secret) return;
  const children = el.childNodes;
  for (let i = children.length - 1; i >= 0; i -= 1) stack.push(children[i]);
  if (el.shadowRoot) stack.push(holder("pp-shadow-root", el.shadowRoot, look, secrets));
  if (tag === "pre" || tag === "listing") stack.push("\n"); // the parser eats the first one
}

function frameElement(el, look, secrets, secret) {
  const doc = secret || tagOf(el) !== "iframe" ? null : frameDocument(el);
  if (!doc || !doc.documentElement) return "";
  return holder("pp-frame-document", doc, look, secrets);
}

const holder = (tag, root, look, secrets) =>
  `<${tag} srcdoc="${escapeAttribute(rootHtml(root, look, secrets))}"></${tag}>`;

function openTag(el, look, secret, secrets) {
  const tag = tagOf(el);
  const isField = FIELD_TAGS.has(tag);
  const hideValue = secret || isSecretField(el);
  const parts = [writtenTag(el)];
  for (const { name, value } of el.attributes) {
    if (OWN_ATTRIBUTES.has(name) || (tag === "iframe" && name === "srcdoc")) continue;
    if (secret && !isField && !KEPT_ON_SECRETS.has(name)) continue;
    if (hideValue && /value/i.test(name)) continue;
    const long = value.length > DATA_URI_LIMIT && /^\s*data:/i.test(value);
    parts.push(`${name}="${long ? "data:," : escapeAttribute(value)}"`);
  }
  if (places.has(el)) parts.push(`data-pp-at="${places.get(el)}"`);
  if (!visible(el, look)) parts.push('data-pp-hidden=""');
  const value = tag === "button" ? null : valueOf(el);
  if (value !== null && isTicked(el)) {
    if (!hideValue) parts.push(`data-pp-checked="${value}"`);
  } else if (value !== null && (!hideValue || value === "")) {
    // Of a secret only whether it is empty is stored.
    parts.push(`data-pp-value="${escapeAttribute(value)}"`);
  }
  const name = secret ? null : toldName(el, look, secrets);
  if (name !== null) parts.push(`data-pp-name="${escapeAttribute(name)}"`);
  if (tag === "option" && !secret) parts.push(`data-pp-checked="${el.selected}"`);
  return `<${parts.join(" ")}>`;
}

/** The accessible name if it cannot be computed from the markup and contains no secret; else null. */
function toldName(el, look, secrets) {
  const role = roleOf(el);
  if (!isInteractive(el) && (role === null || TEXT_ROLES.has(role))) return null;
  const name = nameOf(el, look);
  const plain = attr(el, "aria-label") || (el.firstElementChild || !namedByContent(el, role) ? "" : el.textContent);
  if (name === squeeze(plain)) return null;
  for (const each of secrets) {
    const said = valueOf(each) || textOf(each, null);
    if (said && name.includes(squeeze(said))) return null;
  }
  return name;
}

const isTicked = (el) => isToggle(el) || TOGGLE_ROLES.has(attr(el, "role"));

let isAlsoSecret = () => false; // a recorder's

function isSecretField(el) {
  if (tagOf(el) !== "input" && tagOf(el) !== "textarea" && tagOf(el) !== "select") return false;
  const filling = (attr(el, "autocomplete") || "").toLowerCase().split(/\s+/);
  return el.type === "password" || passwords.has(el) || filling.some((each) => SECRET_AUTOCOMPLETE.has(each)) || isAlsoSecret(el);
}
