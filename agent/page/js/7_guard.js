// Between the gate and the action lies a moment in which the page can change. The guard stands at the
// window: it stops input that would reach another element than the judged one before the page receives it.

const GUARDED = {
  press: ["pointerdown", "mousedown", "pointerup", "mouseup", "click", "auxclick", "dblclick"],
  double: ["pointerdown", "mousedown", "pointerup", "mouseup", "click", "auxclick", "dblclick"],
  text: ["beforeinput"],
  hover: [],
};
const ENDINGS = { press: 1, double: 2 }; // clicks
const RELEASE_SHOWS_MS = 30; // after a release without a click (it was pulled away while pressed)
const BEGINNINGS = new Set(["pointerdown", "beforeinput"]);
const LONGEST_EXACT = 500; // an editor's context may hold only a part of a longer text
const GUARD_LASTS_MS = 10_000;
const heard = new WeakSet(); // events that were judged: a frame's window may hear for itself and for us
const secretHolders = new WeakSet(); // fields that a secret was typed into
let guarded = null; // {token, el, via, kind, reached, missed, until}, for text also what was there before

function setGuard(el, via, kind) {
  if (guarded) guarded.end();
  guarded = { token: newToken(), el, via, kind, name: nameOf(el, newLook()), title: attr(el, "title"), reached: 0, missed: null, until: nativeNow() + GUARD_LASTS_MS, clicks: 0 };
  if (kind === "text") guarded.before = fieldText(el, "")?.shown ?? null;
  const entry = guarded;
  entry.ended = new Promise((done) => {
    entry.end = done;
  });
  if (!GUARDED[kind].length) return guarded.token;
  for (const root of rootsBelow(document)) if (root.nodeType === 9 && root.defaultView) guardWindow(root.defaultView);
  return guarded.token;
}

/** Listening begins with the document, before any listener of the page; to say it again does no harm. */
function guardWindow(view) {
  for (const kind of [...GUARDED.press, ...GUARDED.text]) view.addEventListener(kind, guardEvent, true);
}

function guardEvent(event) {
  const entry = guarded;
  if (!entry || heard.has(event) || !event.isTrusted || !GUARDED[entry.kind].includes(event.type) || nativeNow() > entry.until) return;
  heard.add(event);
  if (BEGINNINGS.has(event.type)) {
    const hit = event.composedPath()[0];
    const renamed = event.type === "pointerdown" && !entry.reached ? renamedUnderPointer(entry) : null;
    if (renamed) entry.missed = { at: describe(hit), gone: false, after: 0, renamed };
    else if (belongs(hit, entry.via, entry.el)) entry.reached += 1;
    else entry.missed = { at: describe(hit), gone: !entry.el.isConnected, after: entry.reached };
  } else if (event.type === "click" && ghostly(event, entry)) entry.ghost = true;
  else if (event.type === "click" && entry.kind === "press" && !entry.clicks) {
    const renamed = renamedByPress(entry);
    if (renamed) entry.missed = { at: describe(event.composedPath()[0]), gone: false, after: 0, renamed };
  }
  noteEnd(event, entry);
  if (!entry.missed && !entry.ghost) return;
  event.stopImmediatePropagation();
  event.preventDefault();
}

/**
 * The name before and after, where the pointer's arrival gave the element other words: `Save`, now `Delete`. Scripts of tooltips
 * take the `title` of what is pointed at, to show it themselves: a name that was the title and is none now is no other one.
 */
function renamedUnderPointer({ el, name, title }) {
  if (!el.isConnected) return null;
  const now = nameOf(el, newLook());
  if (!now && title && squeeze(title) === squeeze(name) && !attr(el, "title")) return null;
  const [before, after] = [name, now].map((text) => text.toLowerCase().match(/\p{L}+/gu) || []);
  const least = Math.min(before.length, after.length); // words that join it, such as an opened menu's, are no other name
  return (least || !before.length) && before.slice(0, least).join() === after.slice(0, least).join() ? null : [name, now];
}

/**
 * The name before and after, where the press itself gave the element other words before its click: `Details`, now `Delete the account`. A
 * switch that says its new state in one word (`Play`, `Pause`), or keeps its thing (`Open menu`, `Close menu`), is as it was.
 */
function renamedByPress({ el, name }) {
  if (!el.isConnected) return null;
  const now = nameOf(el, newLook());
  const [before, after] = [name, now].map((text) => text.toLowerCase().match(/\p{L}+/gu) || []);
  return before.length && after.length > 1 && !after.some((word) => before.includes(word)) ? [name, now] : null;
}

/** All events of the action arrived; the page's own listeners run next, so the guard ends in the next turn. */
function noteEnd(event, entry) {
  if (event.type === "beforeinput" || event.type === "click") entry.clicks += 1;
  if (entry.clicks >= (ENDINGS[entry.kind] || 1)) nativeTimeout(entry.end, 0);
  else if (event.type === "mouseup") nativeTimeout(() => entry.clicks || entry.end(), RELEASE_SHOWS_MS);
}

/** The element was removed while it was pressed, and the click would hit the element beneath it. */
function ghostly(event, { el, via }) {
  if (via.isConnected && el.isConnected) return false;
  const path = event.composedPath();
  return !path.includes(via) && !path.includes(el) && path[0] !== via.control;
}

/** The outcome, once the action has ended; lowers the guard. `wanted`: the state a checkbox must reach; `text`: what was typed. */
async function outcome(token, wanted, timeoutMs, text) {
  const entry = guarded;
  if (!entry || entry.token !== token) return { known: false };
  const { el, via } = entry;
  if (entry.kind === "hover") {
    const over = via.isConnected && via.matches(":hover");
    if (!over) entry.missed = { at: "something else", gone: !el.isConnected, after: 0 };
    else entry.reached = 1;
  }
  if (entry.kind !== "hover") await entry.ended;
  if (guarded === entry) guarded = null;
  let took = null;
  let shows = null;
  if (entry.kind === "text" && entry.reached && !entry.missed) {
    commit(el);
    const seen = fieldText(el, text);
    shows = seen && { ...seen, before: entry.before };
    typedLast = el;
  }
  if (wanted !== null && entry.reached) took = await ticked(toggleOf(el), wanted, nativeNow() + timeoutMs);
  return { known: true, reached: entry.reached, missed: entry.missed, took, shows };
}

function lowerGuard(token) {
  if (!guarded || guarded.token !== token) return;
  guarded.end();
  guarded = null;
}

/** Whether text can be inserted as a whole, as by pasting. */
function takesText(el, text) {
  const tag = tagOf(el);
  if (!text) return false; // to empty a field is not to type
  if (el.editContext) return false; // text that is inserted as a whole makes no event there that the guard could hear
  if (tag === "textarea") return true;
  if (tag === "input") return TEXT_INPUTS.has(el.type) && el.type !== "number" && !text.includes("\n");
  return editingHost(el);
}

let typedLast = null; // the field that was typed into under the guard

/** Select the text of the field that was typed into, so that keys replace it; whether it has the focus. */
function selectTyped() {
  if (!typedLast?.isConnected) return false;
  selectAll(typedLast);
  return typedLast.getRootNode().activeElement === typedLast;
}

/** Say that the typing into that field is over, and what it shows. */
function commitTyped(text) {
  if (!typedLast?.isConnected) return null;
  commit(typedLast);
  return fieldText(typedLast, text);
}

/** What a field shows; null for one that is gone. `beside`: an empty field whose form shows the text elsewhere. */
function fieldText(el, text) {
  if (!el.isConnected) return null;
  const plain = tagOf(el) === "input" || tagOf(el) === "textarea";
  if (!plain && !editingHost(el)) return null;
  const shown = plain ? el.value : el.editContext ? el.editContext.text : el.textContent;
  const around = shown || !text ? null : el.closest("form, dialog, [role='dialog'], main") || el.ownerDocument.body;
  return { shown, beside: around !== null && textOf(around, newLook()).includes(text), most: plain ? el.maxLength : -1,
    exact: Boolean(el.editContext) && text.length <= LONGEST_EXACT && !text.includes("\n"),
    lines: tagOf(el) === "textarea" && text.includes("\n"), editor: !plain || el.getAttribute("aria-roledescription") === "editor" };
}

/**
 * Paste over the text of a field, for an editor that indents and closes brackets while one types, but not what is pasted.
 * What it shows then; null if the page does not take a paste.
 */
async function pasteText(el, text) {
  if (!el?.isConnected) return null;
  selectAll(el);
  await nextFrame();
  await nextFrame();
  const data = new DataTransfer();
  data.setData("text/plain", text);
  const untaken = el.dispatchEvent(new ClipboardEvent("paste", { clipboardData: data, bubbles: true, cancelable: true, composed: true }));
  if (untaken) return null;
  await nextFrame();
  return fieldText(el, text);
}

/** Select all of an editor that keeps its text in an EditContext, and let it hear of that. Whether it has the focus then; null if it is none. */
async function selectInEditor(el) {
  if (!el.editContext) return null;
  selectAll(el);
  await nextFrame();
  await nextFrame();
  return el.isConnected && el.getRootNode().activeElement === el;
}

/** Prepare a judged field for typing over its text; null if it is gone. */
function prepareTyping(token) {
  const el = take(token);
  if (!el || !el.isConnected) return null;
  const guard = setGuard(el, el, "text");
  selectAll(el);
  return guard;
}

const PICKERS = /date-?(?:time-?)?picker|time-?picker|flatpickr|pikaday|(?:^|[\s_-])date(?:time)?(?=$|[\s_-])/i;

/** Whether a script draws a calendar or a clock for a field: such scripts take what is typed by its keys, and else put back what they know when the field is left. */
function hasPicker(el) {
  if (tagOf(el) !== "input") return false;
  const around = [el, flatParent(el)].filter(Boolean); // some give the calendar to the part around the field
  return around.some((node) => PICKERS.test(["class", "id", "data-provide", "data-toggle"].map((name) => attr(node, name) || "").join(" ")))
    || [...el.attributes].some((each) => each.name.startsWith("data-date-"));
}

/** Prepare a field for a secret: focus it, and select its text or go to its end. Whether it takes text as a whole. */
function secretField(el, replace) {
  const text = takesText(el, "x") || (tagOf(el) === "input" && el.type === "number");
  if (!el.isConnected) return { focused: false, text };
  if (replace) selectAll(el);
  else if (caretToEnd(el) === json(false)) el.ownerDocument.getSelection().modify("move", "forward", "documentboundary");
  return { focused: el.getRootNode().activeElement === el, text };
}

/** What tells the kind of a field: its type, autocomplete and names. */
function fieldNames(el) {
  const names = [labelText(el, newLook()), attr(el, "name"), attr(el, "id"), attr(el, "placeholder"), attr(el, "aria-label")];
  return { type: el.type || "", autocomplete: attr(el, "autocomplete"), names, holds: secretHolders.has(el) };
}

/** Note that a field received a secret; what it holds now. */
function holdSecret(el) {
  secretHolders.add(el);
  return "value" in el ? el.value : el.textContent;
}

/** What tells the kind of the field that has the focus, also in shadow roots and frames; null if none has it. */
function focusedNames(inside = document) {
  const el = inside.activeElement;
  if (!el || el === inside.body) return null;
  if (el.shadowRoot?.activeElement) return focusedNames(el.shadowRoot);
  const inner = frameDocument(el);
  return inner ? focusedNames(inner) : fieldNames(el);
}

/** What tells the kind of the field that a selector leads to; null if it is no field. */
function namesOf(selector) {
  const { element } = resolve(selector, newLook(), false);
  return element && (tagOf(element) === "input" || takesText(element, "x")) ? fieldNames(element) : null;
}

/** Insert text into the focused field, in the turn in which its focus is checked; whether it was there. */
function insertText(el, text) {
  if (!el.isConnected || el.getRootNode().activeElement !== el) return false;
  return el.ownerDocument.execCommand("insertText", false, text);
}

const keyedFields = new WeakMap(); // field -> the one that its last key went into

/**
 * Type one key of a secret into a field; whether it could be. The browser's keyboard types into whatever has the focus, which a
 * frame of another origin can take at any moment; here key and focus are one turn of the field's own document.
 */
function typeKey(el, key) {
  if (!focusKeyed(el)) return false;
  const held = keyedFields.get(el);
  const taken = held.dispatchEvent(keyEvent(held, "keydown", key)) && held.dispatchEvent(keyEvent(held, "keypress", key));
  if (!focusKeyed(el)) return false;
  const field = keyedFields.get(el);
  secretHolders.add(field);
  if (taken) field.ownerDocument.execCommand("insertText", false, key);
  field.dispatchEvent(keyEvent(field, "keyup", key));
  return true;
}

/** Give the focus back to the field that is typed into, or follow it to the next box of a code; whether one has it. */
function focusKeyed(el) {
  const last = keyedFields.get(el) || el;
  const active = last.getRootNode().activeElement;
  const box = active && active !== last && tagOf(active) === "input" && tagOf(last) === "input" && active.type === last.type;
  const field = box ? active : last;
  if (!field.isConnected) return false;
  if (field !== active) {
    field.focus();
    if (editingHost(field)) caretToEnd(field);
  }
  keyedFields.set(el, field);
  return field.getRootNode().activeElement === field;
}

function keyEvent(el, type, key) {
  const letter = /^[a-z]$/i.test(key);
  const code = letter ? `Key${key.toUpperCase()}` : /^\d$/.test(key) ? `Digit${key}` : "";
  const number = type === "keypress" ? key.charCodeAt(0) : code ? key.toUpperCase().charCodeAt(0) : 0;
  const view = el.ownerDocument.defaultView;
  const charCode = type === "keypress" ? number : 0;
  return new view.KeyboardEvent(type, { key, code, keyCode: number, which: number, charCode, view, bubbles: true, cancelable: true, composed: true });
}

/** Focus a field and select its text, so that typing replaces it. */
function selectAll(el) {
  el.focus();
  if (!editingHost(el)) {
    el.select();
    return;
  }
  const selection = el.ownerDocument.getSelection();
  const range = el.ownerDocument.createRange();
  range.selectNodeContents(el);
  selection.removeAllRanges();
  selection.addRange(range);
}

/** A frame receives its events first, and asks the outer page, which holds the guard. */
function guardFrameEvent(event) {
  try {
    const around = window.top[KEY];
    if (around) around.guard(event);
  } catch {
    // an outer page of another origin cannot be asked
  }
}

for (const kind of [...GUARDED.press, ...GUARDED.text]) {
  window.addEventListener(kind, window === window.top ? guardEvent : guardFrameEvent, true);
}
