// CSS, with Playwright's `:has-text("...")` on any compound and, optionally, through shadow roots.
// A selector with neither goes to the browser. Same rules for stored pages: web_pages/css_queries.py.

const CUSTOM = ":has-text(";
const COMBINATORS = new Set([">", "+", "~"]);

function queryCss(root, selector, pierce = false) {
  if (!selector.trim()) throw new Error("an empty selector");
  if (!pierce && !selector.includes(CUSTOM)) return [...root.querySelectorAll(selector)];
  const list = parseList(selector);
  return [...root.querySelectorAll("*")].filter((el) => matchesList(el, list, pierce));
}

function matchesList(el, list, pierce, anchor = null) {
  return list.some((complex) => matchesComplex(el, complex, complex.length - 1, pierce, anchor));
}

/** complex: [{combinator, native, tests}], right to left as browsers do it. */
function matchesComplex(el, complex, at, pierce, anchor) {
  const part = complex[at];
  if (part.anchor ? el !== anchor : !matchesCompound(el, part, pierce)) return false;
  if (at === 0) return true;
  const before = (node) => matchesComplex(node, complex, at - 1, pierce, anchor);
  const parentOf = (node) =>
    pierce && !node.parentElement ? (node.getRootNode().host || null) : node.parentElement;
  if (part.combinator === ">") {
    const parent = parentOf(el);
    return Boolean(parent) && before(parent);
  }
  if (part.combinator === "+") {
    return Boolean(el.previousElementSibling) && before(el.previousElementSibling);
  }
  if (part.combinator === "~") {
    for (let node = el.previousElementSibling; node; node = node.previousElementSibling) {
      if (before(node)) return true;
    }
    return false;
  }
  for (let node = parentOf(el); node; node = parentOf(node)) if (before(node)) return true;
  return false;
}

function matchesCompound(el, part, pierce) {
  if (part.native && !el.matches(part.native)) return false;
  return part.tests.every((test) => {
    if (test.name === "has-text") return rawText(el).toLowerCase().includes(test.text);
    if (test.name === "not") return !matchesList(el, test.list, pierce);
    if (test.name === "has") return hasRelative(el, test.list, pierce);
    return matchesList(el, test.list, pierce);
  });
}

function hasRelative(el, list, pierce) {
  return list.some((complex) => {
    const first = complex[1].combinator;
    const beside = first === "+" || first === "~";
    const scope = beside ? el.parentElement : el;
    if (!scope) return false;
    return [...scope.querySelectorAll("*")].some((node) =>
      matchesComplex(node, complex, complex.length - 1, pierce, el));
  });
}

// -- reading -------------------------------------------------------------------------------------

/** Index after the string or bracket that begins at `i`. */
function skipGroup(text, i) {
  const open = text[i];
  if (open === '"' || open === "'") {
    for (let j = i + 1; j < text.length; j += 1) {
      if (text[j] === "\\") j += 1;
      else if (text[j] === open) return j + 1;
    }
    throw new Error(`a quote is not closed in ${text}`);
  }
  const close = { "(": ")", "[": "]" }[open];
  let j = i + 1;
  while (j < text.length) {
    if (text[j] === close) return j + 1;
    if (text[j] === "\\") j += 2;
    else if ("\"'([".includes(text[j])) j = skipGroup(text, j);
    else j += 1;
  }
  throw new Error(`${open} is not closed in ${text}`);
}

function splitTopLevel(text, separator) {
  const parts = [];
  let start = 0;
  for (let i = 0; i < text.length;) {
    if (text[i] === "\\") i += 2;
    else if ("\"'([".includes(text[i])) i = skipGroup(text, i);
    else if (text[i] === separator) {
      parts.push(text.slice(start, i));
      i += 1;
      start = i;
    } else i += 1;
  }
  parts.push(text.slice(start));
  return parts;
}

function parseList(text, relative = false) {
  return splitTopLevel(text, ",").map((piece) => parseComplex(piece.trim(), relative));
}

function parseComplex(text, relative) {
  if (!text) throw new Error("an empty selector");
  const complex = relative ? [{ anchor: true, combinator: null }] : [];
  let combinator = null;
  let i = 0;
  while (i < text.length) {
    if (/\s/.test(text[i])) {
      combinator = combinator || " ";
      i += 1;
    } else if (COMBINATORS.has(text[i])) {
      if (combinator && combinator !== " ") throw new Error(`two combinators in ${text}`);
      combinator = text[i];
      i += 1;
    } else {
      const end = compoundEnd(text, i);
      if (!complex.length && combinator && combinator !== " ") throw new Error(`${text} begins with ${combinator}`);
      complex.push({ combinator: combinator || " ", ...parseCompound(text.slice(i, end)) });
      combinator = null;
      i = end;
    }
  }
  if (combinator && combinator !== " ") throw new Error(`${text} ends with ${combinator}`);
  return complex;
}

function compoundEnd(text, start) {
  let i = start;
  while (i < text.length && !/\s/.test(text[i]) && !COMBINATORS.has(text[i])) {
    if (text[i] === "\\") i += 2;
    else if ("\"'([".includes(text[i])) i = skipGroup(text, i);
    else i += 1;
  }
  return i;
}

function parseCompound(text) {
  let native = "";
  const tests = [];
  let i = 0;
  while (i < text.length) {
    const pseudo = /^:(has-text|has|not|is|where)\(/.exec(text.slice(i));
    if (pseudo) {
      const open = i + pseudo[0].length - 1;
      const end = skipGroup(text, open);
      const inside = text.slice(open + 1, end - 1);
      if (pseudo[1] === "has-text") tests.push({ name: "has-text", text: fold(unquoted(inside)) });
      else if (!inside.includes(CUSTOM)) native += text.slice(i, end);
      else tests.push({ name: pseudo[1], list: parseList(inside, pseudo[1] === "has") });
      i = end;
    } else {
      const end = text[i] === "\\" ? i + 2 : "\"'([".includes(text[i]) ? skipGroup(text, i) : i + 1;
      native += text.slice(i, end);
      i = end;
    }
  }
  if (native) document.createDocumentFragment().querySelector(native); // throws for what cannot be parsed
  return { native, tests };
}

/** The text of a CSS string, or the text itself where it is not quoted. */
function unquoted(text) {
  const trimmed = text.trim();
  const quote = trimmed[0];
  if ((quote !== '"' && quote !== "'") || trimmed[trimmed.length - 1] !== quote) return trimmed;
  return trimmed.slice(1, -1).replace(/\\(?:([0-9a-fA-F]{1,6})[ \t\n]?|(.))/gs, (_, hex, char) =>
    hex ? String.fromCodePoint(parseInt(hex, 16) || 0xfffd) : char);
}
