// Annotated HTML, as kb_schema/page_snapshots.py says.
//
// A shadow root or frame document travels in the `srcdoc` attribute of its <pp-...> element: inline it
// would be torn apart by the HTML parser (a <div> in a <p>, a second <body>).

const VOID_TAGS = new Set([
  "area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "param", "source", "track", "wbr",
]);
// Elements whose contents are not needed, or not visible.
const EMPTIED_TAGS = new Set(["script", "style", "noscript", "template", "iframe", "noembed", "noframes"]);
const OWN_ATTRIBUTES = new Set(["data-pp-hidden", "data-pp-value", "data-pp-checked", "data-pp-name", "data-pp-at"]);
const KEPT_ON_SECRETS = new Set(["id", "class", "name", "type", "role", "for", "data-testid", "data-qa", "data-pp-secret"]);
const SECRET_AUTOCOMPLETE = /(^|\s)(current-password|new-password|one-time-code|cc-number|cc-csc)(\s|$)/i;
const DATA_URI_LIMIT = 512; // characters; longer embedded pictures are left out

const escapeText = (text) => text.replace(/[&<>\u00a0]/g, (c) => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;", "\u00a0": "&nbsp;" })[c]);
const escapeAttribute = (text) => text.replace(/[&"<>\u00a0]/g, (c) =>
  ({ "&": "&amp;", "\"": "&quot;", "<": "&lt;", ">": "&gt;", "\u00a0": "&nbsp;" })[c]);

let places = new Map(); // elements of the look that is being written down -> their places in it

/** @param elements those of a page index whose positions the HTML carries. */
function snapshotHtml(secretSelectors, elements = []) {
  const look = newLook();
  places = new Map(elements.map((el, at) => [el, at]));
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

function writeElement(el, look, secrets, out, stack) {
  const tag = tagOf(el);
  const secret = secrets.has(el) || hasAttr(el, "data-pp-secret");
  out.push(openTag(el, look, secret, secrets));
  if (VOID_TAGS.has(tag)) return;
  stack.push(`</${tag}>${frameElement(el, look, secrets, secret)}`);
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
  const parts = [tag];
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

function isSecretField(el) {
  if (tagOf(el) !== "input" && tagOf(el) !== "textarea" && tagOf(el) !== "select") return false;
  return el.type === "password" || passwords.has(el) || SECRET_AUTOCOMPLETE.test(attr(el, "autocomplete") || "");
}
