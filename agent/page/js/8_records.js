// The texts of a page, each line for itself, with what tells whether it is a text of a record: the row it stands in, the headings
// above it, and whether it stands where a page tells what happened, and not what there is.

const RECORD_LINES = 6000;
const RECORD_LINE_LENGTH = 400;
const LEAD_LEVELS = 3;
const LEAD_LENGTH = 120;
const REPORTING = '[role=log], [role=status], [role=alert], [role=alertdialog], [role=tooltip], [role=timer], [role=marquee], [role=search], [role=contentinfo], [role=listbox], '
  + "footer, output, pre, code, samp, kbd, [aria-live=polite], [aria-live=assertive], s, strike, del, select, datalist, button, search";
const SEARCHES = "form[method=get]"; // what stands in one is about a search, but for the rows of a table
const REPORTING_NAMES = new Set([
  "log", "logs", "debug", "debugger", "console", "terminal", "toast", "toasts", "snackbar", "notification", "notifications", "notice", "flash",
  "alert", "alerts", "breadcrumb", "breadcrumbs", "footer",
]);
const BESIDES = "nav, [role=navigation], [role=menu], [role=menubar], [role=tablist], aside, [role=complementary], [role=banner], body > header";
const PRESSED = "button, input[type=submit], input[type=button], input[type=image], [role=button], a[class*=btn], a[class*=button]";
const LINKS = "a[href], area[href], a[*|href]";
const LEAST_MENU = 3; // links on one line
const HEADINGS = "h1, h2, h3, h4, h5, h6, [role=heading]";
const HEADING_SCOPES = "section, article, aside, nav, main, dialog, [role=dialog], fieldset, details, td, li, [role=region], [role=listitem], body";
const NUMBER = /^\W*\d[\d.,'\s]*\W*$/;
const NO_DIGIT = /\D/g;
const ROWS = "tr, [role=row], li, [role=listitem]";
const ARTICLES = "article, [role=article]"; // rows where there are several
const NAMED_LISTS = "table, ul, ol, dl, section, [role=table], [role=grid], [role=list], [role=region], [role=feed], [role=tabpanel], [role=dialog], dialog, fieldset, details";

/**
 * What agent/page/record_texts.py says of `RecordPage`. `typed`: the texts that were typed; of other lines less is said.
 */
function recordTexts(typed) {
  const look = newLook();
  const facts = { look, rows: new Map(), headings: headingsOf(look) };
  const wanted = typed.map(fold);
  const drawn = linesBelow(document.body, look).slice(0, RECORD_LINES);
  facts.loneLinks = loneLinks(drawn);
  const lines = drawn.map((line) => describeLine(line, wanted, facts));
  const columns = [...document.querySelectorAll("th, [role=columnheader], dt, label")].filter((el) => visible(el, look)).map((el) => drawnText(el, look));
  return { title: squeeze(document.title), lines, labels: [...columns, ...facts.headings.map((each) => each.text)], ...goingOn(facts), chosen: listChosen(look), carried: carries(wanted) };
}

const CHOSEN = "[role=tab][aria-selected=true], [aria-current]:not([aria-current=false]), form[method=get] option:checked, select:not(form *) option:checked";

/** What a person chose of what the page can show. */
const listChosen = (look) =>
  drawnRoots().flatMap((root) => [...root.querySelectorAll(CHOSEN)])
    .filter((el) => !closestFlat(el, isRow) && visible(el.closest("select") || el, look))
    .map((el) => squeeze(tagOf(el) === "option" ? el.textContent : drawnText(el, look) || nameOf(el, look)).slice(0, LEAD_LENGTH)).filter(Boolean);

/** Runs of pieces that one block lays out: `{block, pieces}`. */
function linesBelow(start, look) {
  const lines = [];
  let line = null;
  for (const piece of drawnPieces(start, look)) {
    if (!piece.text.trim()) {
      if (tagOf(piece.el) === "br") line = null;
      else if (line && piece.node) line.pieces.push(piece); // between words of one line
      continue;
    }
    const block = lineOf(piece.el);
    if (!line || line.block !== block) lines.push((line = { block, pieces: [] }));
    line.pieces.push(piece);
  }
  return lines;
}

/** The element that lays out the line in which an element stands; a box among words is one of them. */
function lineOf(el) {
  let at = el;
  for (let up = flatParent(at); up && at !== document.body; up = flatParent(at)) {
    const { display } = getComputedStyle(at);
    const isAmongWords = (display.startsWith("inline-") || /flex|grid/.test(getComputedStyle(up).display)) && hasWordsOfItsOwn(up);
    if (!FLOWS.has(display) && !isAmongWords) return at;
    at = up;
  }
  return at;
}

const hasWordsOfItsOwn = (el) => [...el.childNodes].some((node) => node.nodeType === 3 && /\p{L}/u.test(node.data));

const linkAround = (el, block) => {
  const link = closestFlat(el, (node) => node === block || node.matches("a[href], button, [role=button], [role=link]"));
  return link && link !== block ? link : null;
};

function describeLine({ block, pieces }, wanted, facts) {
  const text = plainly(pieces.map((piece) => piece.text).join("")).slice(0, RECORD_LINE_LENGTH);
  const links = new Map();
  const plain = [];
  for (const piece of pieces) {
    const link = linkAround(piece.el, block);
    if (link) links.set(link, (links.get(link) || "") + piece.text);
    else plain.push(piece.text);
  }
  const folded = fold(text);
  const sought = wanted.some((each) => folded.includes(each) || (NUMBER.test(each) && folded.replace(NO_DIGIT, "").includes(each.replace(NO_DIGIT, ""))));
  const heading = closestFlat(block, (node) => node.matches(HEADINGS));
  const said = { text, plain: plainly(plain.join("")), links: [...links.values()].map(plainly), area: areaOf(pieces, facts), heading: Boolean(heading) };
  if (!sought) return { ...said, row: -1, rows: repeatedAround(block, facts), names: [], nearest: [], top: "", near: "", column: "", columns: false, cells: [], unseen: false };
  const row = recordRow(block);
  return {
    ...said,
    rows: repeatedAround(block, facts),
    row: row ? numberOf(row, facts) : -1,
    near: row ? [drawnText(row, facts.look), ...unwritten(row, facts)].join(" ").slice(0, 4 * RECORD_LINE_LENGTH) : text,
    ...namesAbove(block, row, heading, facts),
    column: columnAbove(block, facts),
    columns: columnsOf(block, facts).length > 0,
    cells: row ? cellsOf(row, facts.look) : [],
    unseen: pieces.some((piece) => piece.node && piece.text.trim() && whyUnseen(piece.el, () => boxesOf([[piece, 0, piece.text.length]])) !== null),
  };
}

/** The cells of a row of a table and the names of their columns. A box says whether it is ticked. */
function cellsOf(row, look) {
  const cells = tagOf(row) === "tr" ? [...row.cells] : [...row.children].filter((el) => CELL_ROLES.has(attr(el, "role")));
  return cells.map((cell) => {
    const boxes = [...cell.querySelectorAll("input:is([type=checkbox], [type=radio]), [role=checkbox], [role=switch]")].filter((el) => visible(el, look));
    const isTicked = (el) => (el.matches("input") ? el.checked : attr(el, "aria-checked") === "true");
    return [columnHeader(cell, look), drawnText(cell, look) || (boxes.length ? (boxes.some(isTicked) ? "yes" : "no") : "")].map((each) => each.slice(0, LEAD_LENGTH));
  }).filter(([header]) => header);
}

/** The texts of cells of rows above that reach down to a row. */
function spanningOf(row, look) {
  const table = tagOf(row) === "tr" && row.closest("table");
  const at = table ? [...table.rows].indexOf(row) : 0;
  const above = table ? [...table.rows].slice(0, at).flatMap((each, n) => [...each.cells].filter((cell) => cell.rowSpan === 0 || n + cell.rowSpan > at)) : [];
  return above.filter((cell) => visible(cell, look)).map((cell) => drawnText(cell, look));
}

const DESCRIBING = ["aria-label", "aria-description", "title"];

/** What a row says otherwise than in its text: its own name, titles of icons, values of fields that cannot be changed, columns of ticked boxes. */
function unwritten(row, { look }) {
  const said = [...spanningOf(row, look), ...DESCRIBING.map((name) => attr(row, name) || "")];
  for (const el of row.querySelectorAll("[title], svg title, input")) {
    if (el.closest(`${PRESSED}, ${LINKS}`)) continue;
    if (tagOf(el) === "title") {
      if (visible(el.closest("svg"), look)) said.push(el.textContent);
    } else if (visible(el, look)) {
      if (hasAttr(el, "title")) said.push(attr(el, "title"));
      if (el.matches("input:is([type=checkbox], [type=radio]):checked")) said.push(columnAbove(el, { look }), nameOf(el, look));
      else if (el.matches("input:is(:read-only, :disabled):not([type=checkbox], [type=radio], [type=hidden], [type=password])")) said.push(el.value);
    }
  }
  return said.map(squeeze).filter(Boolean);
}

/** The name of the group in which a row stands: a row of one cell, or another kind of item, above it in its table or list. */
function groupAbove(row, look) {
  const table = tagOf(row) === "tr" && row.closest("table");
  const before = table ? [...table.rows].slice(0, [...table.rows].indexOf(row)) : precedingOf(row);
  for (const each of before.reverse()) {
    const isOther = table ? row.cells.length > 1 && isGroupRow(each) : tagOf(each) === tagOf(row) && isGroupName(each, row);
    const text = isOther && visible(each, look) ? drawnText(each, look) : "";
    if (text) return text.length <= LEAD_LENGTH ? text : "";
  }
  return "";
}

/** Whether a row of a table has one cell, or one that says something, and that is emphasised. */
function isGroupRow(row) {
  if (row.cells.length === 1) return true;
  const [said, ...more] = [...row.cells].filter((cell) => squeeze(cell.textContent) || cell.querySelector("input, img, svg, select"));
  if (!said || more.length) return false;
  const [only] = said.children;
  return tagOf(said) === "th" || (said.children.length === 1 && only.matches("b, strong, em, h1, h2, h3, h4, h5, h6") && squeeze(only.textContent) === squeeze(said.textContent));
}

const precedingOf = (el) => (el.parentElement ? [...el.parentElement.children].slice(0, [...el.parentElement.children].indexOf(el)) : []);

/** Whether an item is no item as `row` is: it has another class or role, or all that it says is emphasised. */
function isGroupName(el, row) {
  if ((attr(el, "role") || "") !== (attr(row, "role") || "")) return true;
  const [only] = el.children;
  if (el.children.length === 1 && only.matches("b, strong, h1, h2, h3, h4, h5, h6") && squeeze(only.textContent) === squeeze(el.textContent)) {
    return !(row.children.length === 1 && tagOf(row.children[0]) === tagOf(only));
  }
  return el.classList.length > 0 && !row.classList.contains(el.classList[0]) && /head|title|divid|separat|group|section|label/i.test(attr(el, "class"));
}

/** The links that stand in a line of their own: no value beside its label, no part of a sentence, and no menu on one line. */
function loneLinks(lines) {
  const found = new Set();
  for (const { pieces } of lines) {
    const links = new Set();
    let beside = "";
    for (const piece of pieces) {
      const link = closestFlat(piece.el, (node) => node.matches(LINKS));
      if (link) links.add(link);
      else beside += piece.text;
    }
    if (links.size < LEAST_MENU && !/\p{L}/u.test(beside)) for (const link of links) found.add(link);
  }
  return found;
}

function numberOf(el, facts) {
  if (!facts.rows.has(el)) facts.rows.set(el, facts.rows.size);
  return facts.rows.get(el);
}

/** "report": where a page tells what happened; "beside": what frames its content; "content": all else. */
function areaOf(pieces, facts) {
  const areas = new Set(pieces.map((piece) => areaAround(piece.el, facts)));
  return ["report", "beside"].find((area) => areas.has(area)) || "content";
}

const areaAround = (el, { look }) => remembered(look, "areas", el, (each) => {
  const around = [];
  for (let node = each; node && node !== document.body; node = flatParent(node)) around.push(node);
  if (around.some((node) => node.matches(REPORTING) || namesReport(node) || getComputedStyle(node).textDecorationLine.includes("line-through"))) return "report";
  if (around.some((node) => node.matches(SEARCHES)) && !around.some((node) => tagOf(node) === "tr")) return "report";
  return around.some((node) => node.matches(BESIDES)) && !around.some((node) => node.matches(HEADINGS)) ? "beside" : "content";
});

function namesReport(el) {
  const said = `${attr(el, "class") || ""} ${attr(el, "id") || ""}`;
  return said.trim() !== "" && said.replace(/([a-z])([A-Z])/g, "$1-$2").toLowerCase().split(/[^a-z]+/).some((word) => REPORTING_NAMES.has(word));
}

const isRow = (el) =>
  el.matches(ROWS) || (el.matches(ARTICLES) && [...el.parentElement.children].some((each) => each !== el && tagOf(each) === tagOf(el)));

/** The row of a line: a row of a table that is no list of labels and values, an item, a card like the one beside it. */
function recordRow(block) {
  const row = closestFlat(block, isRow);
  if (row) return isLabelled(row) ? null : row;
  let first = null;
  for (let node = block; node && node !== document.body; node = flatParent(node)) {
    if (!isRepeated(node)) continue;
    if (node !== block && hasSeveralLines(node)) return node;
    first = first || node;
  }
  return first;
}

/** Whether a row of a table has a label and its value, as the others have theirs. */
const isLabelled = (row) => tagOf(row) === "tr" && row.cells.length === 2 && tagOf(row.cells[0]) === "th" && tagOf(row.cells[1]) === "td";

const isRepeated = (el) => {
  const named = attr(el, "class");
  const parent = parentOf(el);
  return Boolean(named) && parent && isElement(parent) && !el.matches(HEADINGS)
    && [...parent.children].some((each) => each !== el && tagOf(each) === tagOf(el) && each.classList[0] === el.classList[0]);
};

function hasSeveralLines(el) {
  const walker = document.createTreeWalker(el, NodeFilter.SHOW_TEXT);
  const blocks = new Set();
  for (let node = walker.nextNode(); node && blocks.size < 2; node = walker.nextNode()) {
    if (node.data.trim()) blocks.add(lineOf(node.parentElement));
  }
  return blocks.size > 1;
}

function repeatedAround(block, facts) {
  const found = [];
  for (let node = block; node && node !== document.body; node = flatParent(node)) {
    if ((isRow(node) && !isLabelled(node)) || isRepeated(node)) found.push(numberOf(node, facts));
  }
  return found;
}

const headingsOf = (look) =>
  [...document.querySelectorAll(HEADINGS)].filter((el) => visible(el, look)).map((el) => ({
    el, level: headingLevel(el), text: drawnText(el, look), scope: el.parentElement.closest(HEADING_SCOPES) || document.body,
  }));

/** The headings above a line, outermost first, and what the lists and parts around it are called. `near`: the last of them. */
function namesAbove(block, row, heading, facts) {
  const stack = [];
  for (const each of facts.headings) {
    if (each.el === heading || each.el === block || (row && row.contains(each.el))) continue;
    const before = each.el.compareDocumentPosition(block) & Node.DOCUMENT_POSITION_FOLLOWING;
    if (!before || !each.scope.contains(block)) continue;
    while (stack.length && stack[stack.length - 1].level >= each.level) stack.pop();
    stack.push(each);
  }
  if (heading) while (stack.length && stack[stack.length - 1].level >= headingLevel(heading)) stack.pop();
  const called = [];
  for (let node = flatParent(block); node && node !== document.body; node = flatParent(node)) {
    if (node === row || !node.matches(NAMED_LISTS)) continue;
    const own = [...node.children].find((child) => ["caption", "legend", "summary"].includes(tagOf(child)));
    const labels = (attr(node, "aria-labelledby") || "").split(/\s+/).map((id) => id && document.getElementById(id)).filter((el) => el && !el.contains(block));
    const name = attr(node, "aria-label") || labels.map((el) => drawnText(el, facts.look)).join(" ") || (own && own !== block ? drawnText(own, facts.look) : "");
    if (name) called.unshift(squeeze(name));
  }
  const top = stack.length && stack[0].level === 1 ? stack[0].text : "";
  const lead = leadOf(row || block, Boolean(row), facts.look);
  const group = row ? groupAbove(row, facts.look) : "";
  return { names: [...stack.map((each) => each.text), ...called, ...[lead, group].filter(Boolean)], nearest: called.length ? called : stack.slice(-1).map((each) => each.text), top };
}

/** The short text right before a line or the list of its row: a heading that is none by its markup. */
function leadOf(el, isRow, look) {
  let at = isRow ? el.parentElement : el;
  for (let climbed = 0; at && at !== document.body && climbed < LEAD_LEVELS; climbed += 1, at = at.parentElement) {
    for (let before = at.previousSibling; before; before = before.previousSibling) {
      if (before.nodeType === 3 && before.data.trim()) return before.data.trim().length <= LEAD_LENGTH ? squeeze(before.data) : "";
      if (before.nodeType !== 1) continue;
      const text = before.matches("thead, colgroup, caption, script, style, form, table, ul, ol, dl") ? "" : drawnText(before, look);
      if (text) return text.length <= LEAD_LENGTH ? text : "";
      if (before.matches("form, table, ul, ol, dl")) return "";
    }
  }
  return "";
}

const columnAbove = (block, facts) => {
  const cell = closestFlat(block, (node) => ["td", "th"].includes(tagOf(node)) || CELL_ROLES.has(attr(node, "role")));
  return cell ? columnHeader(cell, facts.look) : "";
};

function columnsOf(block, facts) {
  const table = closestFlat(block, (node) => node.matches("table, [role=table], [role=grid], [role=treegrid]"));
  return table ? headersOf(table, facts.look).texts.filter(Boolean) : [];
}

/**
 * What a person can use outside of what frames the page: what can be pressed, outside of rows with the fields of its form, and in rows
 * with their number; what is pressed there and in what frames the page; fields with no button of their own, and frames that cannot be read; where links lead.
 */
function goingOn(facts) {
  const { look } = facts;
  const buttons = [], inRows = [], fields = [], turns = [], ways = new Set(), judged = new Set();
  for (const root of drawnRoots()) {
    for (const el of root.querySelectorAll("*")) {
      const plain = !el.matches(PRESSED);
      const away = plain && el.matches(LINKS) && !isPressable(el);
      const way = el.matches(LINKS) ? wayOf(el) : "";
      if (way) ways.add(way);
      const field = plain && isOpenField(el);
      if ((plain && !away && !field && !isPressable(el)) || el.matches(":disabled") || !visible(el, look)) continue;
      const form = el.form || el.closest("form");
      const frames = form && !form.closest("footer") ? BESIDES : `${BESIDES}, footer`; // a button of a form elsewhere
      const apart = closestFlat(el, (node) => node.matches(`${frames}, ${field ? "search, [role=search], " : ""}form[method=get]`));
      const row = closestFlat(el, isRow);
      if ((apart || row) && !field && turns.length < MOST_TURNS) turns.push({ name: nameOf(el, look).slice(0, LEAD_LENGTH), way });
      if (apart || (row && (away || field))) continue;
      const name = (plain && !field && drawnText(el, look)) || (field && frameName(el)) || nameOf(el, look);
      if (field) fields.push({ name: name.slice(0, LEAD_LENGTH), kind: attr(el, "type") || tagOf(el), form });
      else if (row) {
        if (name && name.length <= LEAD_LENGTH) inRows.push({ name, row: numberOf(row, facts), plain });
      } else {
        if (form && !away) judged.add(form);
        const asked = form ? [...form.elements].some((each) => each.matches(SEEN_FIELDS) && visible(each, look)) : false;
        const alone = away && facts.loneLinks.has(el) && !closestFlat(el, (node) => tagOf(node) === "dd");
        if (!plain || (name && name.length <= LEAD_LENGTH)) buttons.push({ name, fields: asked, form: Boolean(form), plain, away, alone, way });
      }
    }
  }
  const free = fields.filter(({ form }) => !form || !judged.has(form)).map(({ name, kind }) => ({ name, kind }));
  return { buttons, row_buttons: inRows, turns, fields: free, ways: [...ways].slice(0, MOST_WAYS) };
}

const SEEN_FIELDS = "input:not([type=hidden], [type=submit], [type=button], [type=image]), textarea, select";
const MOST_WAYS = 3000;
const MOST_TURNS = 1000;

/** Whether an element can be filled in, or is a frame that cannot be read, which may hold all. */
const isOpenField = (el) =>
  (el.matches(`${SEEN_FIELDS}, [role=slider], [role=spinbutton]`) && !el.readOnly && el.type !== "search") || isEditor(el)
  || (tagOf(el) === "iframe" && frameDocument(el) === null);
const isEditor = (el) => editingHost(el) && !el.parentElement.isContentEditable;

/** Of a frame that cannot be read: the website that it is from. */
const frameName = (el) => (tagOf(el) === "iframe" && el.src ? new URL(el.src, document.baseURI).host : "");

/** The address to which a link leads, without its fragment if that is a place in the page; "" if it leads to none. */
function wayOf(link) {
  const said = attr(link, "href") ?? link.getAttributeNS("http://www.w3.org/1999/xlink", "href") ?? "";
  let way = null;
  try {
    way = new URL(said.trim(), link.baseURI);
  } catch {
    return "";
  }
  if (!/^https?:$/.test(way.protocol)) return "";
  if (!/^#[/!]/.test(way.hash)) way.hash = "";
  return way.href;
}

/** Whether an element that is no button can be pressed to do something here: it is drawn so, or is a link to this page with another query. */
function isPressable(el) {
  if (el.matches("input, select, textarea, label, option, summary, body, html") || el.closest("label")) return false;
  const link = el.closest(LINKS);
  if (link) return link === el && (leadsNowhere(el) || leadsToItself(el));
  if (el.closest(PRESSED)) return false;
  const up = flatParent(el);
  if (hasAttr(el, "onclick") || (el.tabIndex >= 0 && hasAttr(el, "tabindex"))) return true;
  return getComputedStyle(el).cursor === "pointer" && (!up || getComputedStyle(up).cursor !== "pointer");
}

/** Whether a link has a script's deed for an address: `#`, or the name of no place in the page. */
function leadsNowhere(link) {
  const said = (attr(link, "href") ?? "").trim();
  if (/^javascript:/i.test(said)) return true;
  if (!said.startsWith("#") || /^#[/!]/.test(said)) return false;
  const place = said.slice(1);
  return place !== "top" && !document.getElementById(place) && !document.getElementsByName(place).length;
}

/** Whether a link leads to this page with another query. */
function leadsToItself(link) {
  const way = wayOf(link);
  if (!way) return false;
  const { origin, pathname, search, hash } = new URL(way);
  return origin === location.origin && pathname === location.pathname && search !== location.search && hash === "";
}

/** Whether a hidden field of a form has one of the texts as its value: what was typed is carried along to be sent. */
const carries = (wanted) =>
  drawnRoots().some((root) => [...root.querySelectorAll("form input[type=hidden]")].some((el) => wanted.includes(fold(el.value))));
