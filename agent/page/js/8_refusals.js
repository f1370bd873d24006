// Reads the signs that a form was refused: marked fields, messages of errors, and native validation after a
// press. What is new is told by comparing the signs before a press and after it (`page_refusals.py`).

const FORM_FIELDS = "input, select, textarea, [contenteditable]:not([contenteditable=false]), [aria-invalid]";
const UNSHOWN_TYPES = new Set(["hidden", "submit", "button", "reset", "image"]);
const ERROR_WORD = /^(err|errors?|error(list|note|message|messages|msg|text|box|summary|block)|danger|destructive|negative|invalid|fail|failed|failure)$/;
const WARNING_WORD = /^(warn|warning|warnings|caution)$/;
const SUCCESS_WORD = /^(success|successful|succeeded|positive|ok)$/;
const BADGE_WORD = /^(badge|pill|chip|tag)$/; // states of data, such as `Cancelled`, which are red like errors
const CURRENCIES = new Set(Intl.supportedValuesOf("currency"));
const KIND_ATTRIBUTES = ["class", "id", "data-type", "data-status", "data-variant", "data-kind", "data-level", "data-severity"];
const ERRORLIKE = ["err", "danger", "destructive", "negative", "invalid", "fail"]
  .flatMap((word) => KIND_ATTRIBUTES.map((name) => `[${name}*="${word}" i]`))
  .join(", ");
const WARNINGLIKE = ["warn", "caution"].flatMap((word) => KIND_ATTRIBUTES.map((name) => `[${name}*="${word}" i]`)).join(", ");
const SUCCESSLIKE = ["success", "positive", "succeeded"].flatMap((word) => KIND_ATTRIBUTES.map((name) => `[${name}*="${word}" i]`)).join(", ");
const LIVE = '[role="alert"], [role="alertdialog"], [aria-live="assertive"]';
const CHOICES = "button, [role=button], input[type=submit], input[type=button]";
const NOT_MESSAGES = new Set(["button", "a", "option", "pre", "code", "svg", "script", "style", "nav"]);
const LIST_ITEM = "li, article, [role=listitem], [role=article], [role=row], [role=treeitem]";
const LINK_ELSEWHERE = 'a[href]:not([href^="#"])';
const AROUND_MESSAGE = 3; // levels above a message that may tell its kind
const AROUND_FIELD = 5; // levels above a field that may be its row
const SIGN_LIMIT = 400; // fields and messages of one page that are read
const VALUE_LIMIT = 200;
const BESIDE_LIMIT = 12; // texts beside a field
const SHORT_PAGE = 300; // characters of a page that is nothing but a message

const pressNotes = { count: 0, form: null, invalid: [], submitted: false };

/** A new press begins: forget what followed the one before. */
function notePress(form) {
  pressNotes.count += 1;
  pressNotes.form = form;
  pressNotes.invalid = [];
  pressNotes.submitted = false;
}

function noteClick(event) {
  const isControl = (node) => node !== window && isElement(node) && node.matches("button, input"); // a path ends at the window
  const control = event.isTrusted ? event.composedPath().find(isControl) : null;
  if (!event.isTrusted || (event.detail === 0 && pressNotes.form)) return; // Enter presses the form's button
  notePress(control && control.form && ["submit", "image"].includes(control.type) && !control.formNoValidate ? control.form : null);
}

function noteKey(event) {
  if (event.isTrusted && event.key === "Enter") notePress(event.composedPath()[0].form || null);
}

function noteInvalid(event) {
  const el = event.composedPath()[0];
  pressNotes.invalid.push({ el, message: el.validationMessage || "" });
}

for (const [kind, listener] of [["click", noteClick], ["keydown", noteKey], ["invalid", noteInvalid]]) {
  window.addEventListener(kind, listener, { capture: true, passive: true });
}
window.addEventListener("submit", () => { pressNotes.submitted = true; }, { capture: true, passive: true });

/** All signs that the page shows now. */
function refusalSigns() {
  const look = newLook();
  const signs = { url: document.URL, presses: pressNotes.count, native: nativeRefusals(look), fields: [], messages: [], successes: [], told: pageMessage(look), person: personChecks(look) };
  const forms = [];
  for (const root of rootsBelow(document)) {
    const mayBeMarked = root.querySelector(`${ERRORLIKE}, ${LIVE}, [aria-invalid="true"]`) !== null;
    for (const el of root.querySelectorAll(FORM_FIELDS)) {
      if (signs.fields.length >= SIGN_LIMIT) break;
      if (isShownField(el, look)) signs.fields.push(fieldSigns(el, rowOfField(el), mayBeMarked, forms, look));
    }
    signs.messages.push(...messageSigns(root, look));
    signs.successes.push(...successSigns(root, look));
  }
  return signs;
}

function isShownField(el, look) {
  if (tagOf(el) === "input" && UNSHOWN_TYPES.has(el.type)) return false;
  return visible(el, look) || labelsOf(el).some((label) => visible(label, look));
}

/**
 * The fields for which the browser did not send the form of the press. They are still invalid: a script that only asks
 * (`checkValidity` with `required` put on for a moment) leaves them valid.
 */
function nativeRefusals(look) {
  if (pressNotes.submitted) return [];
  const { form, invalid } = pressNotes;
  const left = invalid.filter(({ el }) => el.validity && !el.validity.valid);
  const sure = left.filter(({ el }) => (form && !form.noValidate && el.form === form) || el === document.activeElement);
  return sure.map(({ el, message }) => ({ label: fieldLabel(el, look), message: message.slice(0, TOLD_LIMIT) }));
}

function fieldSigns(el, around, mayBeMarked, forms, look) {
  const row = mayBeMarked ? around : [];
  const form = el.form || closestFlat(el, (node) => tagOf(node) === "dialog" || attr(node, "role") === "dialog") || document.body;
  if (!forms.includes(form)) forms.push(form);
  return {
    key: [tagOf(el), el.type || "", attr(el, "name") || attr(el, "id") || labelText(el, look), isToggle(el) ? el.value : ""].join(" "),
    form: forms.indexOf(form),
    searching: el.type === "search" || isSearch(form),
    label: fieldLabel(el, look),
    value: isSecretField(el) ? null : (valueOf(el) || "").slice(0, VALUE_LIMIT),
    marked: isMarked(el, row),
    messages: fieldMessages(el, row, look).map((text) => text.slice(0, TOLD_LIMIT)),
    beside: around.length ? piecesOf(around[around.length - 1], look).slice(0, BESIDE_LIMIT).map((text) => text.slice(0, TOLD_LIMIT)) : [],
  };
}

function isSearch(form) {
  return (attr(form, "method") || "").toLowerCase() === "get" || closestFlat(form, (node) => roleOf(node) === "search") !== null;
}

/** The elements around a field that contain no other field. */
function rowOfField(el) {
  const row = [];
  for (let node = el.parentElement; node && row.length < AROUND_FIELD; node = node.parentElement) {
    if (["form", "body", "dialog"].includes(tagOf(node)) || shownFieldsIn(node) > 1) break;
    row.push(node);
  }
  return row;
}

const shownFieldsIn = (node) => [...node.querySelectorAll(FORM_FIELDS)].filter((el) => !(tagOf(el) === "input" && UNSHOWN_TYPES.has(el.type))).length;

function fieldMessages(el, row, look) {
  const outer = row.length ? row[row.length - 1] : el;
  const beside = [outer, el].flatMap((node) => [node.previousElementSibling, node.nextElementSibling]);
  const near = [...(row.length ? outer.querySelectorAll(`${ERRORLIKE}, ${LIVE}`) : []), ...beside.filter(Boolean)];
  const texts = near
    .filter((node) => node !== el && !isBadge(node) && (node.matches(LIVE) || hasErrorWord(node)) && !node.matches(FORM_FIELDS) && !node.querySelector(FORM_FIELDS))
    .filter((node) => !isNoMessage(node) && tagOf(node) !== "label" && visible(node, look))
    .map((node) => textOf(node, look));
  return [...new Set([...referredMessages(el, look), ...texts])].filter(saysSomething);
}

/**
 * The words of the attributes that tell what an element is for. Classes with a condition, such as
 * `group-[.errors]:border-red-600` or `invalid:ring-1`, say how it would look, not how it is.
 */
function kindWords(el) {
  const told = KIND_ATTRIBUTES.map((name) => attr(el, name) || "").join(" ");
  return told.split(/\s+/).filter((name) => !name.startsWith("ng-") && !/[:[]/.test(name)).flatMap((name) => name.split(/[^A-Za-z0-9]+|(?<=[a-z])(?=[A-Z])/)).map((word) => word.toLowerCase());
}

/** Whether the page marks a field as invalid: itself, or the elements around it that hold no other field. */
const isMarked = (el, row) => attr(el, "aria-invalid") === "true" || [el, ...row].some((node) => hasErrorWord(node));
const hasErrorWord = (el) => kindWords(el).some((word) => ERROR_WORD.test(word));
const hasWarningWord = (el) => kindWords(el).some((word) => WARNING_WORD.test(word));
const isBadge = (el) => !el.matches(LIVE) && kindWords(el).some((word) => BADGE_WORD.test(word));
const hasSuccessWord = (el) => kindWords(el).some((word) => SUCCESS_WORD.test(word));

/** Visible messages of errors and warnings, and live messages of any kind; the outermost element of each. */
function messageSigns(root, look) {
  const taken = [];
  const found = [];
  for (const el of root.querySelectorAll(`${ERRORLIKE}, ${WARNINGLIKE}, ${LIVE}`)) {
    if (found.length >= SIGN_LIMIT) break;
    if (taken.some((outer) => outer.contains(el)) || !isMessage(el) || !visible(el, look)) continue;
    const text = messageText(el, look);
    if (!saysSomething(text) || text.length > TOLD_LIMIT) continue;
    taken.push(el);
    found.push({ text, live: el.matches(LIVE), wrong: isCalled(el, hasErrorWord), warning: isCalled(el, hasWarningWord), of_field: isReferredTo(el, root) });
  }
  return found;
}

/** Whether a field says that an element, or what is in it, describes it. */
function isReferredTo(el, root) {
  const ids = [el, ...el.querySelectorAll("[id]")].map((node) => node.id).filter(Boolean);
  return ids.some((id) => root.querySelector(`[aria-describedby~="${CSS.escape(id)}"], [aria-errormessage~="${CSS.escape(id)}"]`) !== null);
}

/** What the page calls a success by its markup, but for fields and controls. */
function successSigns(root, look) {
  const shown = [...root.querySelectorAll(SUCCESSLIKE)].filter((el) => hasSuccessWord(el) && !isBadge(el) && !el.querySelector(FORM_FIELDS) && !el.matches(FORM_FIELDS));
  const texts = shown.filter((el) => !closestFlat(el, isNoMessage) && visible(el, look)).map((el) => textOf(el, look));
  return texts.filter((text) => saysSomething(text) && text.length <= TOLD_LIMIT).slice(0, SIGN_LIMIT);
}

/** What a message says, without the words of the control that closes it. */
function messageText(el, look) {
  const text = textOf(el, look);
  const control = [...el.querySelectorAll(`${CHOICES}, a[href="#"]`)].find((node) => visible(node, look));
  const name = control ? textOf(control, look) : "";
  if (!name || name === text) return text;
  if (text.startsWith(`${name} `)) return text.slice(name.length + 1);
  return text.endsWith(` ${name}`) ? text.slice(0, -name.length - 1) : text;
}

/** Controls ask, whatever their color: a red `Delete` in a menu. */
const isNoMessage = (el) => NOT_MESSAGES.has(tagOf(el)) || INTERACTIVE_ROLES.has(attr(el, "role"));

/** Has words: an amount, such as a balance of `-4.20 EUR`, is data, and may be red. */
function saysSomething(text) {
  const words = text.split(/[^\p{L}]+/u).filter(Boolean);
  return words.length > 0 && !(/\d/.test(text) && words.every((word) => CURRENCIES.has(word)));
}

/** Whether a row of a table, or one beside it, has a field: the table lays out a form. */
const isFormRow = (row) => [row, row.previousElementSibling, row.nextElementSibling].some((each) => each && each.querySelector(FORM_FIELDS) !== null);

const classesOf = (el) => (attr(el, "class") || "").split(/\s+/).filter(Boolean);

/** Whether two elements are made alike: items of lists, or most of their classes are the same. */
function isMadeAlike(one, two) {
  if (tagOf(one) !== tagOf(two)) return false;
  if (one.matches(LIST_ITEM)) return true;
  const [own, other] = [classesOf(one), classesOf(two)];
  return own.length > 0 && own.filter((name) => other.includes(name)).length * 2 > Math.max(own.length, other.length);
}

/** Whether it is, or lies in, a row of data that its state makes red: it leads to its thing, and has a badge or fellows that lead to others. */
function isDataRow(el) {
  if (el.matches(LIVE)) return false;
  const linked = (node) => node.querySelector(LINK_ELSEWHERE) !== null;
  if (linked(el) && [...el.querySelectorAll("*")].some(isBadge)) return true;
  for (let node = el, level = 0; node && level <= AROUND_MESSAGE; node = node.parentElement, level += 1) {
    if (["body", "form", "main"].includes(tagOf(node))) return false;
    if (linked(node) && [...(node.parentElement?.children || [])].some((each) => each !== node && isMadeAlike(node, each) && linked(each))) return true;
  }
  return false;
}

/** Says something, rather than asking for something; rows of data are no messages. */
function isMessage(el) {
  if ((!el.matches(LIVE) && !hasErrorWord(el) && !hasWarningWord(el)) || isBadge(el)) return false;
  if (el.querySelector(FORM_FIELDS) || el.matches(FORM_FIELDS) || el.querySelectorAll(CHOICES).length > 1) return false;
  if (closestFlat(el, isNoMessage)) return false;
  const row = el.closest("tr");
  return row ? isFormRow(row) : !isDataRow(el);
}

/** It, what is in it or what is only around it is called so (an error, a warning), and nothing of this a success. */
function isCalled(el, hasWord) {
  const parts = [el, ...[...el.querySelectorAll("*")].slice(0, 20)];
  for (let node = el.parentElement; node && parts.length < 21 + AROUND_MESSAGE; node = node.parentElement) {
    if (["body", "form", "main"].includes(tagOf(node)) || node.querySelector(FORM_FIELDS)) break;
    parts.push(node);
  }
  if (parts.some((node) => hasSuccessWord(node) || attr(node, "role") === "status")) return false;
  return parts.some(hasWord);
}

/** What a page says that is nothing but a message, else its heading. */
function pageMessage(look) {
  if (!document.body) return "";
  const text = textOf(document.body, look);
  if (text.length <= SHORT_PAGE) return text;
  const heading = document.querySelector("h1");
  return heading && visible(heading, look) ? textOf(heading, look).slice(0, SHORT_PAGE) : "";
}
