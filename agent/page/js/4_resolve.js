// Resolves selectors: one entry per strategy, tried in the given order.
// For stored pages: web_pages/selector_resolution.py.

const quoted = (text) => `"${text.replace(/["\\]/g, "\\$&").replace(/[\0-\x1f\x7f]/g, (c) => `\\${c.charCodeAt(0).toString(16)} `)}"`;
const byAttribute = (name) => (s, scope) => inRoots(scope, (root) => queryCss(root, `[${name}=${quoted(s.value)}]`));
const byCss = (s, scope) => inRoots(scope, (root) => queryCss(root, s.value));
const byXPath = (s, scope) => inRoots(scope, (root) => (root.nodeType === 9 ? queryXPath(root, s.value) : []));
const inRoots = (scope, find) => scope.roots.flatMap(find);
const every = (scope) => inRoots(scope, (root) => [...root.querySelectorAll("*")]);

const STRATEGIES = {
  "data-qa": byAttribute("data-qa"),
  "data-testid": byAttribute("data-testid"),
  "id": byAttribute("id"),
  "aria": (s, scope) => byAttribute("aria-label")(s, scope).filter((el) => !s.role || roleOf(el) === s.role),
  "css": byCss,
  "relational_css": byCss,
  "fallback_css": byCss,
  "shadow_pierce": (s, scope) => pierced(s.value, scope),
  "xpath": byXPath,
  "xpath-text": byXPath,
  "xpath-class": byXPath,
  "semantic": bySemantics,
  "label": (s, scope) => every(scope).filter((el) => isControl(el) && hasName(s, labelText(el, scope.look), el)),
  "placeholder": (s, scope) => byCss({ value: "[placeholder]" }, scope)
    .filter((el) => hasName(s, attr(el, "placeholder"), el)),
  "role_name": (s, scope) => every(scope)
    .filter((el) => roleOf(el) === s.role && hasName({ ...s, role: null }, callingName(el, scope.look), el)),
  "dom_index": (s, scope) => every(scope)
    .filter((el) => isInteractive(el) && visible(el, scope.look)).slice(s.index, s.index + 1),
};

function hasName(s, text, el) {
  if (s.role && roleOf(el) !== s.role) return false;
  return s.exact ? squeeze(text) === squeeze(s.name) : fold(text).includes(fold(s.name));
}

function isControl(el) {
  const tag = tagOf(el);
  if (tag === "input") return el.type !== "hidden";
  if (tag === "select" || tag === "textarea" || tag === "button" || editingHost(el)) return true;
  if (tag === "meter" || tag === "progress" || tag === "output") return true;
  return hasAttr(el, "role") && INTERACTIVE_ROLES.has(roleOf(el));
}

function pierced(value, scope) {
  const steps = value.split(">>>").map((step) => step.trim());
  if (steps.length === 1) return inRoots(scope, (root) => queryCss(root, value, true));
  let roots = scope.roots;
  for (const step of steps.slice(0, -1)) {
    roots = roots.flatMap((root) => queryCss(root, step)).filter((el) => el.shadowRoot).map((el) => el.shadowRoot);
    roots = [...new Set(roots.flatMap((root) => rootsBelow(root, false)))];
  }
  return roots.flatMap((root) => queryCss(root, steps[steps.length - 1]));
}

function queryXPath(doc, expression) {
  const result = doc.evaluate(expression, doc, null, 0, null);
  if (result.resultType !== 4 && result.resultType !== 5) throw new Error(`${expression} does not select elements`);
  const found = [];
  for (let node = result.iterateNext(); node; node = result.iterateNext()) if (isElement(node)) found.push(node);
  return found;
}

// -- semantic ------------------------------------------------------------------------------------

function bySemantics(s, scope) {
  const asksField = s.label_contains || s.placeholder_contains || s.field_type;
  const fits = (el) => semanticFit(s, el, scope.look);
  const all = every(scope);
  if (asksField) return all.filter((el) => isControl(el) && fits(el));
  const operable = all.filter((el) => isInteractive(el) && fits(el));
  if (operable.length || !s.text_contains || s.button_type) {
    return operable.length || s.text_contains ? operable : all.filter(fits);
  }
  const saying = new Set(all.filter((el) => visible(el, scope.look) && fits(el)));
  const outer = new Set();
  for (const el of saying) for (let up = el.parentElement; up; up = up.parentElement) outer.add(up);
  return [...saying].filter((el) => !outer.has(el));
}

function semanticFit(s, el, look) {
  if (s.field_type && !fieldKinds(el).includes(s.field_type.toLowerCase())) return false;
  if (s.button_type && buttonType(el) !== s.button_type.toLowerCase()) return false;
  if (s.role && roleOf(el) !== s.role) return false;
  if (s.label_contains && !fold(labelText(el, look)).includes(fold(s.label_contains))) return false;
  if (s.placeholder_contains && !fold(attr(el, "placeholder") || "").includes(fold(s.placeholder_contains))) {
    return false;
  }
  return !s.text_contains || fold(textOf(el, look)).includes(fold(s.text_contains));
}

function fieldKinds(el) {
  const tag = tagOf(el);
  if (tag === "input") return [el.type, "input"];
  return editingHost(el) ? [tag, "contenteditable", roleOf(el)] : [tag];
}

function buttonType(el) {
  return tagOf(el) === "button" || tagOf(el) === "input" ? el.type : null;
}

// -- the whole selector --------------------------------------------------------------------------

/** The roots a selector searches: its frame, else the page with its shadow roots (optionally frames). */
function scopeOf(selector, withFrames, look) {
  if (!selector.frame) return { roots: rootsBelow(document, withFrames), look };
  const frames = rootsBelow(document).flatMap((root) => queryCss(root, selector.frame));
  const documents = frames.map(frameDocument).filter((doc) => doc && doc.documentElement);
  return { roots: documents.flatMap((doc) => rootsBelow(doc, withFrames)), look, frameMissing: !documents.length };
}

/**
 * Try the strategies in order. The first that finds exactly one visible element wins; else the first
 * that found exactly one; else what the first that found anything found.
 * @returns {{found: Element[], element: Element|null, strategy: number, tried: object[], error: string|null}}
 */
function resolve(selector, look, withFrames) {
  let scope;
  try {
    scope = scopeOf(selector, withFrames, look);
  } catch (problem) {
    return { found: [], element: null, strategy: -1, tried: [], error: `frame ${selector.frame}: ${problem.message}` };
  }
  const tried = [];
  for (const [s, index] of inOrder(selector)) {
    tried.push(attempt(s, index, scope));
    if (tried[tried.length - 1].visible.length === 1) break;
  }
  const single = tried.find((t) => t.visible.length === 1) || tried.find((t) => t.found.length === 1);
  const best = single || tried.find((t) => t.found.length) || null;
  const errors = tried.filter((t) => t.error).map((t) => t.error);
  return {
    found: best ? best.found : [],
    element: single ? (single.visible.length === 1 ? single.visible[0] : single.found[0]) : null,
    strategy: best ? best.index : -1,
    tried,
    error: best || !errors.length ? null : errors.join("; "),
    frameMissing: scope.frameMissing || false,
  };
}

/** Fallbacks last; strategies that only their source can resolve are left out, unless there are no others. */
function inOrder(selector) {
  const order = selector.strategies.map((s, i) => [s, i]);
  order.sort(([a], [b]) => Number(a.fallback || false) - Number(b.fallback || false));
  const usable = order.filter(([s]) => s.type !== "framework_id" && s.type !== "agent");
  return usable.length ? usable : order;
}

function attempt(s, index, scope) {
  const report = { index, type: s.type, found: [], visible: [], error: null };
  if (s.type in { parameterized: 1, parameterized_css: 1, parameterized_xpath: 1 }) {
    report.error = `the parameters of ${s.template} have no values`;
    return report;
  }
  const finder = Object.hasOwn(STRATEGIES, s.type) ? STRATEGIES[s.type] : null;
  if (!finder) report.error = `${s.type} cannot be resolved on a page`;
  else if (s.type === "dom_index" && typeof s.index !== "number") report.error = `${s.index} has no value`;
  else {
    try {
      report.found = [...new Set(finder(s, scope))];
      report.visible = report.found.filter((el) => visible(el, scope.look));
    } catch (problem) {
      report.error = `${s.type} ${s.value || ""}: ${problem.message}`;
    }
  }
  return report;
}
