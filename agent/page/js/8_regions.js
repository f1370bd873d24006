// Regions: the parts of a page that a person would name, and the words next to an element.
// Used by the index (9_index.js) while it walks; agent/locators/page_index.py says what each kind is.

const REGION_KINDS = {
  form: "form", dialog: "dialog", alertdialog: "dialog", banner: "landmark", navigation: "landmark",
  main: "landmark", complementary: "landmark", contentinfo: "landmark", region: "landmark", search: "landmark",
  group: "group", radiogroup: "group", toolbar: "group", tabpanel: "group", article: "group", menu: "group",
  menubar: "group", tablist: "group", table: "table", grid: "table", treegrid: "table", row: "row",
  listitem: "item", treeitem: "item",
};
const SECTION_STOPS = new Set([
  "form", "dialog", "section", "article", "main", "nav", "aside", "fieldset", "details", "li", "tr", "td", "th", "body",
]);
const OPERABLE_CSS = "a[href],button,input:not([type=hidden]),select,textarea,summary,[tabindex],[role=button],[role=link],"
  + "[role=tab],[role=checkbox],[role=switch],[role=radio],[role=combobox],[role=textbox],[contenteditable]";
const BARS_NEIGHBOURS = `${OPERABLE_CSS},h1,h2,h3,h4,h5,h6,[role=heading]`; // what is behind them belongs to them
const CELL_ROLES = new Set(["cell", "gridcell", "rowheader", "columnheader"]);
const MOST_PIECES = 12;
const PIECE_LENGTH = 80;

const regionKind = (el, role) => (tagOf(el) === "form" ? "form" : Object.hasOwn(REGION_KINDS, role) ? REGION_KINDS[role] : null);

/** The section of a heading: its nearest ancestor with an operable element after the heading. */
function sectionScope(heading) {
  let at = heading.parentElement;
  while (at && !SECTION_STOPS.has(tagOf(at))) {
    const operable = at.querySelectorAll(OPERABLE_CSS);
    const last = operable[operable.length - 1];
    if (last && !heading.contains(last) && heading.compareDocumentPosition(last) & Node.DOCUMENT_POSITION_FOLLOWING) break;
    at = at.parentElement;
  }
  return at;
}

function headingLevel(el) {
  const said = Number(attr(el, "aria-level"));
  if (said > 0) return said;
  const match = /^h([1-6])$/.exec(tagOf(el));
  return match ? Number(match[1]) : 2;
}

/** The text of a region's own title element: `summary` of `details`, `legend` of `fieldset`. */
function namingPart(el, look) {
  const part = [...el.children].find((child) => tagOf(child) === "summary" || tagOf(child) === "legend");
  return part ? briefText(part, look, PIECE_LENGTH) : "";
}

/** The separate texts inside a row or item that may identify it. */
function piecesOf(el, look) {
  const pieces = [];
  const walker = document.createTreeWalker(el, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node && pieces.length < MOST_PIECES; node = walker.nextNode()) {
    const text = squeeze(node.data);
    const around = node.parentElement;
    if (!text || TEXTLESS_TAGS.has(tagOf(around)) || tagOf(around) === "option" || !visible(around, look)) continue;
    if (around.closest("[aria-hidden=true]")) continue;
    if (text.length <= PIECE_LENGTH && !pieces.includes(text)) pieces.push(text);
  }
  return pieces;
}

/** Visible text up to a length; never the value of a field. */
function briefText(el, look, most) {
  const only = el.firstChild;
  if (only && !only.nextSibling && only.nodeType === 3 && !el.shadowRoot) {
    return TEXTLESS_TAGS.has(tagOf(el)) || !visible(el, look) ? "" : squeeze(only.data.slice(0, 4 * most)).slice(0, most);
  }
  const out = { text: "" };
  gatherBrief(el, look, most, out);
  return squeeze(out.text).slice(0, most);
}

function gatherBrief(node, look, most, out) {
  for (const child of flatChildren(node)) {
    if (out.text.length > 2 * most) return;
    if (child.nodeType === 3) out.text += child.data;
    else if (isElement(child)) {
      const tag = tagOf(child);
      if (TEXTLESS_TAGS.has(tag) || tag === "select" || editingHost(child) || !visible(child, look)) continue;
      if (INLINE_TAGS.has(tag)) gatherBrief(child, look, most, out);
      else {
        out.text += " ";
        gatherBrief(child, look, most, out);
        out.text += " ";
      }
    }
  }
}

// -- neighbours ----------------------------------------------------------------------------------

/** The text just before (or after) an element within its line, cell or field. */
function besideText(el, look, side) {
  let at = el;
  for (let climbed = 0; climbed < 3; climbed += 1) {
    for (let node = at[side]; node; node = node[side]) {
      if (node.nodeType === 3) {
        const text = squeeze(node.data);
        if (text && /[\p{L}\p{N}]/u.test(text)) return text.slice(0, PIECE_LENGTH);
      } else if (isElement(node) && !TEXTLESS_TAGS.has(tagOf(node))) {
        if (node.matches(BARS_NEIGHBOURS) || node.querySelector(BARS_NEIGHBOURS)) return "";
        const text = briefText(node, look, PIECE_LENGTH);
        if (text && visible(node, look)) return text;
      }
    }
    at = at.parentElement;
    if (!at || SECTION_STOPS.has(tagOf(at)) || hasAttr(at, "role")) return "";
  }
  return "";
}

/** The header of a cell's column. */
function columnHeader(cell, look) {
  const row = cell.parentElement;
  const table = row && row.closest("table, [role=table], [role=grid], [role=treegrid]");
  if (!table) return "";
  const known = look.columns || (look.columns = new Map());
  if (!known.has(table)) known.set(table, headersOf(table, look));
  const headers = known.get(table);
  let column = 0;
  for (const each of row.children) {
    if (each === cell) break;
    column += each.colSpan || 1;
  }
  return row === headers.row ? "" : headers.texts[column] || "";
}

function headersOf(table, look) {
  const row = table.querySelector("thead tr") || table.querySelector("tr, [role=row]");
  const cells = row ? [...row.children] : [];
  const inHead = row !== null && row.parentElement !== null && tagOf(row.parentElement) === "thead";
  const heads = inHead || cells.every((cell) => tagOf(cell) === "th" || attr(cell, "role") === "columnheader");
  if (!heads) return { row: null, texts: [] };
  const texts = cells.flatMap((cell) => Array(cell.colSpan || 1).fill(briefText(cell, look, PIECE_LENGTH)));
  return { row, texts };
}
