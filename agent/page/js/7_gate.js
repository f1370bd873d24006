// The five points (PACTS 6): unique, visible, enabled, stable, scoped, judged in one go.
// Stability is in 7_stable.js, scope in 7_scoped.js, what guards the action itself in 7_guard.js.

const held = new Map(); // token -> element judged, for Python to fetch
const passwords = new WeakSet(); // fields that were password fields when they were used
const HELD_KEPT = 32;
const SHOWN = 5; // of the elements that match
const COMPLAINT_MS = 2000; // how long a complaint at a field stands before a button is not waited for any more
const FIELDS_READ = 60; // fields beside a disabled button
const AROUND_BUTTON = 4; // levels above a button outside a form that may hold its fields

/**
 * Judge until all points hold or the time is over, and prepare the action in the same turn.
 * `policy.intent`: `handle` (keep the element for Python), `press`, `double` and `hover` (the point
 * where the pointer must go), `text` (focus it and select what it holds); all but the first are guarded.
 */
async function gate(selector, policy) {
  const began = nativeNow();
  const deadline = began + policy.timeout_ms;
  const watch = { subject: null, replaced: 0, unroller: null };
  let verdict;
  let looked = 0;
  for (;;) {
    verdict = judge(selector, policy, watch);
    looked += 1;
    if (verdict.element && watch.subject && verdict.element !== watch.subject) watch.replaced += 1;
    watch.subject = verdict.element || watch.subject;
    if (!verdict.point || nativeNow() >= deadline) break;
    if (verdict.complained && nativeNow() - began >= COMPLAINT_MS && atRestFor(COMPLAINT_MS)) break;
    await turn(verdict, selector, policy, watch, deadline);
  }
  if (verdict.point && watch.unroller) watch.unroller.restore();
  const report = {
    point: verdict.point || null,
    evidence: verdict.evidence,
    cover: verdict.cover || null,
    complained: Boolean(verdict.point && verdict.complained),
    strategy: verdict.strategy,
    strategy_type: verdict.strategyType,
    described: verdict.element ? describe(verdict.element) : null,
    looked,
    duration_ms: nativeNow() - began,
    token: null,
    via_token: null,
    spot: verdict.spot || null,
    guard: null,
    state: null,
    typable: false,
    glance: null,
  };
  return verdict.point ? report : readied(report, verdict, policy);
}

/** Between two looks: the next frame for what is there, the next change for what is not. */
async function turn(verdict, selector, policy, watch, deadline) {
  if (verdict.element) await nextFrame();
  else if (verdict.point === "not_found" && atRestFor(policy.unroll_after_ms)) {
    watch.unroller = watch.unroller || newUnroller(selector, policy);
    const went = await watch.unroller.step(deadline);
    if (!went) await nextChange(Math.max(1, Math.min(100, deadline - nativeNow())));
  } else await nextChange(Math.max(1, Math.min(100, deadline - nativeNow())));
}

function readied(report, verdict, policy) {
  const { element, via } = verdict;
  if (tagOf(element) === "input" && element.type === "password") passwords.add(element);
  report.typable = policy.intent === "text" && takesText(element, policy.text) && !hasPicker(element);
  // Nothing is focused before the identity check.
  const intent = policy.intent === "text" && (policy.keep || !report.typable) ? "handle" : policy.intent;
  if (intent === "handle" || policy.keep) {
    report.token = hold(element);
    if (via !== element) report.via_token = hold(via);
  }
  if (policy.keep) report.glance = glance(element);
  if (intent === "handle") return report;
  report.state = valueOf(toggleOf(element));
  report.guard = setGuard(element, via, intent);
  if (intent === "text") selectAll(element);
  return report;
}

const toggleOf = (el) => (tagOf(el) === "label" && el.control) || el;

function hold(el) {
  const token = newToken();
  held.set(token, el);
  if (held.size > HELD_KEPT) held.delete(held.keys().next().value); // most are never asked for
  return token;
}

/** Still held afterwards: who looks at an element before it is acted on asks twice. */
const take = (token) => held.get(token) || null;

/** One look: the first failing point, or none. */
function judge(selector, policy, watch) {
  const look = newLook();
  const result = resolve(selector, look, false);
  const won = result.tried.find((t) => t.index === result.strategy);
  const base = { element: result.element, strategy: result.strategy, strategyType: won ? won.type : null, via: null };
  const fail = (point, evidence, cover) => ({ ...base, point, evidence, cover });
  if (!result.element) return fail(...uniqueness(selector, result, look));
  const el = result.element;
  base.via = el;
  if (!visible(el, look)) {
    const standIn = visibleStandIn(el, look);
    if (!standIn) return fail("not_visible", whyHidden(el, look));
    base.via = standIn;
  }
  const missing = disabledBy(el) && roleOf(el) === "button" ? missingField(el, look) : null;
  const disabled = whyDisabled(el, missing) || (policy.editable ? readOnly(el) : null);
  if (disabled) return { ...fail("disabled", disabled), complained: missing !== null && missing.complained };
  const scrolled = bringIntoView(base.via);
  const moving = unstable(base.via, policy, { tracked: watch.subject === el, scrolled, replaced: watch.replaced });
  const scope = scopeOfClick(base.via, el, look);
  if (scope.moved && !moving) return fail("unstable", "it was scrolled out from under what covered it");
  if (moving) return fail("unstable", moving);
  if (scope.problem) return fail("not_scoped", scope.problem.evidence, scope.problem.cover);
  return { ...base, via: scope.via, spot: scope.spot, point: null, evidence: `${describe(el)} by ${base.strategyType}` };
}

// -- unique --------------------------------------------------------------------------------------

function uniqueness(selector, result, look) {
  if (result.frameMissing) return ["not_found", `there is no same-origin frame ${selector.frame}`];
  if (!result.found.length) {
    if (result.error) return ["not_found", result.error];
    const inFrame = resolve(selector, look, true).found[0];
    const tried = result.tried.map((t) => t.type).join(", ");
    const hint = inFrame ? `; ${describe(inFrame)} in ${describe(frameOf(inFrame))} does: name the frame` : "";
    return ["not_found", `nothing on the page matches (tried ${tried})${hint}`];
  }
  const best = result.tried.find((t) => t.index === result.strategy);
  const few = apart((best.visible.length ? best.visible : best.found).slice(0, SHOWN), look);
  const more = Math.max(best.visible.length, best.visible.length ? 0 : best.found.length) - few.length;
  const list = few.join(", ") + (more > 0 ? ` and ${more} more` : "");
  return ["not_unique", `${best.found.length} elements (${best.visible.length} visible) match by ${best.type}: ${list}`];
}

/** Descriptions of elements; equal ones get their positions appended. */
function apart(elements, look) {
  const said = elements.map((el) => shown(el, look));
  return said.map((words, i) => {
    if (said.filter((other) => other === words).length === 1) return words;
    const { x, y } = pageBox(elements[i]);
    return `${words} at ${Math.round(x)}, ${Math.round(y)}`;
  });
}

/** An element in words a person recognises on the page: `button#b2 "Save" (in form#edit)`. */
function shown(el, look) {
  const name = excerpt(nameOf(el, look) || textOf(el, null), 40);
  const place = closestFlat(flatParent(el), (node) =>
    ["form", "dialog", "tr", "li", "nav", "header", "footer", "aside", "section", "article"].includes(tagOf(node)));
  return `${describe(el)} ${JSON.stringify(name)}${place ? ` (in ${describe(place)})` : ""}`;
}

// -- visible -------------------------------------------------------------------------------------

/** What stands for a hidden list, file field, checkbox or radio button: its widget, visible label or trigger. */
function visibleStandIn(el, look) {
  if (tagOf(el) === "select") return widgetOf(el, look);
  if (tagOf(el) !== "input" || !(el.type === "file" || isToggle(el))) return null;
  const label = labelsOf(el).find((node) => visible(node, look));
  if (label || el.type !== "file") return label || null;
  const isTrigger = (node) => roleOf(node) === "button" && visible(node, look);
  for (let up = el.parentElement, steps = 0; up && steps < 3; up = up.parentElement, steps += 1) {
    const triggers = [...up.querySelectorAll("*")].filter(isTrigger);
    if (triggers.length === 1) return triggers[0];
    if (triggers.length > 1 || tagOf(up) === "form") return null;
  }
  return null;
}

/** Which ancestor hides it, and how. */
function whyHidden(el, look) {
  const frame = frameOf(el);
  if (frame && !visible(frame, look)) return `its frame ${describe(frame)} is hidden: ${whyHidden(frame, look)}`;
  for (let node = el; node; node = flatParent(node)) {
    const style = getComputedStyle(node);
    const where = node === el ? "it" : `${describe(node)} around it`;
    if (style.display === "none") return `${where} has display: none`;
    if (style.contentVisibility === "hidden") return `${where} has content-visibility: hidden`;
    const parent = flatParent(node);
    if (parent && tagOf(parent) === "details" && !parent.open && tagOf(node) !== "summary") {
      return `${describe(parent)} around it is closed`;
    }
  }
  const { visibility } = getComputedStyle(el);
  if (visibility !== "visible") {
    let origin = el;
    for (let up = flatParent(el); up && getComputedStyle(up).visibility === visibility; up = flatParent(up)) origin = up;
    return origin === el ? `visibility is ${visibility}` : `visibility is ${visibility}, set by ${describe(origin)} around it`;
  }
  const box = el.getBoundingClientRect();
  return `it is ${Math.round(box.width)} x ${Math.round(box.height)} pixels in size`;
}

// -- enabled -------------------------------------------------------------------------------------

/** Why it cannot be used, with the field that is missing, or the group that disables it by name. */
function whyDisabled(el, missing) {
  const why = disabledBy(el);
  if (missing) return `${why}, probably because ${missing.said}`;
  if (!why || hasAttr(el, "disabled") || !FIELD_TAGS.has(tagOf(el)) || !el.matches(":disabled")) return why;
  let group = el.closest("fieldset:disabled");
  for (let up = group; up; up = up.parentElement.closest("fieldset:disabled")) group = up; // the outermost one holds
  const legend = group && group.querySelector(":scope > legend");
  return group ? `${why}: ${describe(group)}${legend ? ` ${JSON.stringify(excerpt(textOf(legend, null), 40))}` : ""}` : why;
}

/**
 * Which field beside a button is the likely reason why the button is disabled, or null: in its form, else in what is
 * next around it. There only a field that the page complains about counts: an empty one may be for searching.
 */
function missingField(button, look) {
  const form = button.form || closestFlat(button, (node) => node.matches("form, dialog, fieldset, [role=dialog], [role=form]"));
  const fields = shownFieldsOf(form || surroundingsOf(button, look), look);
  const complaint = (el) => excerpt(fieldMessages(el, rowOfField(el), look).join("; "), TOLD_LIMIT);
  const isComplainedOf = (el) => isMarked(el, rowOfField(el)) || Boolean(complaint(el));
  const wrong = fields.find((el) => isComplainedOf(el) || (el.willValidate && !el.validity.valid));
  const empty = (el) => typeof el.value === "string" && !el.value.trim() && disabledBy(el) === null;
  const needed = wrong || (form && (fields.find((el) => attr(el, "aria-required") === "true" && empty(el)) || fields.find(empty)));
  if (!needed) return null;
  const what = empty(needed) ? "is empty" : "has a value that the form does not accept";
  const told = wrong ? complaint(needed) : "";
  const said = `the field ${JSON.stringify(callingName(needed, look) || describe(needed))} ${what}${told ? ` (${told})` : ""}`;
  return { said, complained: Boolean(wrong) && isComplainedOf(wrong) };
}

const shownFieldsOf = (around, look) =>
  around ? [...around.querySelectorAll("input, select, textarea")].filter((el) => isFormField(el) && visible(el, look)).slice(0, FIELDS_READ) : [];

/** The nearest element around a button that holds fields, a few levels up; null if there is none. */
function surroundingsOf(button, look) {
  let node = flatParent(button);
  for (let level = 0; node && level < AROUND_BUTTON; level += 1, node = flatParent(node)) {
    if (isElement(node) && shownFieldsOf(node, look).length) return node;
  }
  return null;
}

function readOnly(el) {
  const control = toggleOf(el);
  if (hasAttr(control, "readonly") || attr(control, "aria-readonly") === "true") return "the field is read-only";
  return null;
}
