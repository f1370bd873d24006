// Chooses options of a list and dispatches its events, as when a person closes the opened list.

const OPTIONS_SHOWN = 8;
const OPTIONS_KEPT = 50;
const KEPT_MS = 150;
const TUCKED_AWAY_PX = 2;
const LIST_SIGNS = "[role=combobox], [role=listbox], [aria-haspopup=listbox], [aria-haspopup=true], input:not([type=hidden], [type=checkbox], [type=radio], [type=button], [type=submit], [type=image])";
const COMBOBOX = "[role=combobox]";
const CLEARING = /[\s\u00d7\u2715\u2716\u25be\u25bc\u2304]+/g; // signs of a widget beside its words
const SENDS = "button[type=submit], form button:not([type]), button[formaction], input[type=submit], input[type=image], a[href]:not([href^='#']):not([href^='javascript:'])";
const shownBefore = new WeakMap(); // list -> what said the option before its widget was opened, until it was chosen
const triedBefore = new WeakMap(); // list -> what came of opening its widget

/**
 * Choose options by value or label, as soon as all of them are there. For a hidden list nothing is chosen: a person opens the
 * widget that stands for it.
 * @returns {{gone: boolean, problem: string|null, missing?: string|null, there?: string[], widget?: boolean}}
 *   `missing`: the option that the list does not have; `there`: those that it has; `widget`: what stands for the list is to be
 *   opened, where the option may be found all the same.
 */
async function choose(el, wanted, timeoutMs) {
  const deadline = nativeNow() + timeoutMs;
  for (;;) {
    const list = el && el.isConnected ? toggleOf(el) : null;
    if (!list) return { gone: true, problem: null };
    if (tagOf(list) !== "select") return { gone: false, problem: "it is no list to choose from" };
    const { options, problem, missing } = wantedOptions(list, wanted);
    const widget = widgetOf(list, newLook());
    if (widget && (!problem || missing) && wanted.length === 1) return beforeWidget(list, widget, options[0], wanted[0]);
    if (!problem) {
      markChosen(list, options);
      return { gone: false, problem: null };
    }
    if (nativeNow() >= deadline) {
      const there = [...list.options].slice(0, OPTIONS_KEPT).map((option) => squeeze(option.label));
      return { gone: false, problem, missing: missing ?? null, there };
    }
    await nextChange(Math.max(1, Math.min(100, deadline - nativeNow())));
  }
}

/** Whether the widget of a list is to be opened for an option, and why not: it is chosen, or this was tried in this document. */
function beforeWidget(list, widget, option, wanted) {
  if (option && option.selected && list.selectedOptions.length === 1) return { gone: false, problem: null };
  if (list.multiple) return { gone: false, problem: `it is hidden, and ${describe(widget)}, which stands for it, may have several options chosen` };
  if (shownBefore.has(list)) return { gone: false, problem: `it is hidden, and ${describe(widget)}, which stands for it, ${triedBefore.get(list) || "was opened before without that choice"}` };
  shownBefore.set(list, new Set(offersOf(option ? squeeze(option.label) : wanted, newLook())));
  const there = [...list.options].slice(0, OPTIONS_KEPT).map((each) => squeeze(each.label)).filter(Boolean);
  return { gone: false, problem: `it is hidden, and ${describe(widget)} stands for it`, widget: true, missing: option ? null : wanted, there };
}

/** Options by value, by label, and by the label in other capital letters where one alone has it. */
function wantedOptions(list, wanted) {
  const all = [...list.options];
  const lower = (text) => squeeze(text).toLowerCase();
  const options = [];
  for (const text of wanted) {
    const fits = [
      (option) => option.value === text, (option) => squeeze(option.label) === squeeze(text),
      (option) => lower(option.label) === lower(text) && all.filter((each) => lower(each.label) === lower(text)).length === 1,
    ].map((test) => all.find((option) => test(option) && !options.includes(option))).find(Boolean);
    if (!fits) return { options, missing: text, problem: `it has no option ${JSON.stringify(text)}, only ${optionsSaid(all)}` };
    if (disabledBy(fits)) return { options, problem: `its option ${JSON.stringify(text)} is disabled` };
    options.push(fits);
  }
  if (options.length > 1 && !list.multiple) return { options, problem: "only one of its options can be chosen" };
  return { options, problem: null };
}

/**
 * The widget that a script has put beside a list to choose from, or around it, and that people see instead (Select2,
 * bootstrap-select); null if there is none. It has a sign of a list, or the options of this one as its own entries (nice-select,
 * Semantic UI), and shows what is chosen in the list and nothing else: a button beside a hidden list is no widget.
 */
function widgetOf(list, look) {
  if (tagOf(list) !== "select" || !tuckedAway(list, look)) return null;
  const isWidget = (node) =>
    node && tagOf(node) !== "select" && visible(node, look) && (node.matches(LIST_SIGNS) || node.querySelector(LIST_SIGNS) !== null || entriesOf(list, node) !== null)
    && !node.matches(SENDS) && node.querySelector(SENDS) === null
    && [...node.querySelectorAll("select")].every((other) => other === list) && (widgets.has(node) || saysChoice(node, list, look));
  const around = list.parentElement;
  const shown = [list.nextElementSibling, list.previousElementSibling].filter(isWidget);
  const widget = shown[0] || (around && !["form", "fieldset", "td", "body"].includes(tagOf(around)) && isWidget(around) ? around : null);
  if (widget) widgets.add(widget);
  return widget;
}

const widgets = new WeakSet(); // those that showed the choice of their list once

/** What in an element has the options of a list as its entries, all of them in their order, and nothing else; null if nothing has. */
function entriesOf(list, node) {
  const labels = [...list.options].map((option) => squeeze(option.label)).filter(Boolean);
  const lists = labels.length < 2 ? [] : [...node.querySelectorAll("*")].filter((parent) => {
    if (parent.children.length < labels.length || parent.contains(list) || list.contains(parent)) return false;
    const said = [...parent.children].map((entry) => squeeze(entry.textContent)).filter(Boolean);
    return said.length === labels.length && said.every((text, i) => text === labels[i]);
  });
  return lists[0] || null;
}

/** Whether an element shows the labels of the options that are chosen in a list, perhaps the list's own name, and nothing else. */
function saysChoice(node, list, look) {
  let rest = squeeze(textOf(node, look)).toLowerCase();
  const entries = entriesOf(list, node);
  if (entries && visible(entries, look)) { // transparent until it is opened
    if (getComputedStyle(entries).pointerEvents !== "none") return false; // a press that opens it may press one of them
    rest = rest.split(squeeze(textOf(entries, look)).toLowerCase()).join(" ");
  }
  const labels = [...list.selectedOptions].map((option) => squeeze(option.label).toLowerCase()).filter(Boolean);
  const names = labelsOf(list).map((label) => squeeze(textOf(label, null)).toLowerCase()).filter(Boolean);
  for (const name of names) rest = rest.split(name).join(" ");
  labels.sort((one, other) => other.length - one.length);
  for (const label of labels) {
    if (!rest.includes(label)) return false;
    rest = rest.split(label).join(" "); // also as its title
  }
  if (labels.length) return rest.replace(CLEARING, "") === "";
  const hint = squeeze(attr(list, "data-placeholder") || "").toLowerCase(); // nothing is chosen: it shows nothing, or what to do
  return rest.replace(CLEARING, "") === "" || squeeze(rest) === hint || node.matches(COMBOBOX) || node.querySelector(COMBOBOX) !== null;
}

/**
 * Where the opened widget of a list offers an option, as soon as there is exactly one such place: in the widget, or in what
 * came up since it was opened. The path is null if there is none.
 */
async function widgetOption(list, wanted, timeoutMs) {
  if (!list) return { path: null, found: 0 };
  const deadline = nativeNow() + timeoutMs;
  const { options } = wantedOptions(list, [wanted]);
  const label = options.length ? squeeze(options[0].label) : wanted;
  const before = shownBefore.get(list) || new Set();
  for (;;) {
    const look = newLook();
    const widget = widgetOf(list, look);
    const owned = ownedBy(widget);
    const all = offersOf(label, look).filter(
      (node) => (!before.has(node) || (widget !== null && widget.contains(node))) && isInSameDialog(node, list)
        && (!owned.length || owned.some((own) => own.contains(node))),
    );
    const own = all.filter((node) => widget !== null && widget.contains(node));
    const near = own.length ? own : all;
    const alone = near.filter((node) => widget === null || saysOptionsOnly(list, widget, node, look));
    const found = alone.length > 1 ? alone.filter((node) => isOnTop(node, look)) : alone;
    if (found.length !== 1) triedBefore.set(list, `showed ${found.length || "no"} options ${JSON.stringify(label)} when it was opened`);
    if (found.length === 1 || nativeNow() >= deadline) return { path: found.length === 1 ? pathTo(found[0]) : null, found: found.length };
    await nextChange(Math.max(1, Math.min(100, deadline - nativeNow())));
  }
}

/**
 * Whether an opened widget says nothing but the options and the name of its list, if only its entries tell that it is one: where a heading
 * or a label says more (`Remove a colour`), its entries do that.
 */
function saysOptionsOnly(list, widget, option, look) {
  if (widget.matches(LIST_SIGNS) || widget.querySelector(LIST_SIGNS) !== null) return true;
  const names = labelsOf(list).map((label) => squeeze(textOf(label, null)).toLowerCase());
  const known = [...[...list.options].map((each) => squeeze(each.label).toLowerCase()), ...names].filter(Boolean);
  known.sort((one, other) => other.length - one.length);
  const rest = (text) => known.reduce((left, word) => left.split(word).join(" "), squeeze(text).toLowerCase()).replace(CLEARING, "");
  const around = [];
  for (let node = option; node && node !== widget.parentElement; node = node.parentElement) around.push(node);
  const labels = around.flatMap((node) => [attr(node, "aria-label"), attr(node, "title"), ...referredTexts(node, "aria-labelledby")]);
  return [textOf(widget, look), ...labels].every((text) => rest(text || "") === "");
}

/** The lists that a widget names as its own, and the widget. */
function ownedBy(widget) {
  if (!widget) return [];
  const named = [widget, ...widget.querySelectorAll("[aria-controls], [aria-owns]")];
  const ids = named.flatMap((node) => `${attr(node, "aria-controls") || ""} ${attr(node, "aria-owns") || ""}`.split(/\s+/)).filter(Boolean);
  const lists = ids.map((id) => widget.ownerDocument.getElementById(id)).filter((node) => node && visible(node, newLook()));
  return lists.length ? [widget, ...lists] : [];
}

const DIALOGS = ["dialog", "alertdialog"];

/** An option stands in no dialog in which its list does not: such a dialog asks something of its own. */
function isInSameDialog(node, list) {
  const dialogOf = (el) => closestFlat(el, (up) => tagOf(up) === "dialog" || DIALOGS.includes(attr(up, "role")));
  return dialogOf(node) === dialogOf(list);
}

/** What a person sees that says nothing but a label, and neither sends a form nor leads elsewhere. */
function offersOf(label, look) {
  const says = (node) => squeeze(node.textContent || "") === label;
  const offers = (node) =>
    tagOf(node) !== "option" && getComputedStyle(node).pointerEvents !== "none" && says(node) && ![...node.children].some(says) && visible(node, look)
    && closestFlat(node, (up) => up.matches(SENDS)) === null;
  return [...document.body.querySelectorAll("*")].filter(offers);
}

function isOnTop(el, look) {
  const { problem } = reach(el, el, look);
  return problem === null;
}

/** Whether a list comes to have an option chosen, and keeps it for a moment; null if the press replaced the list or its page. */
async function widgetChose(list, wanted, timeoutMs) {
  const deadline = nativeNow() + timeoutMs;
  let since = null;
  for (;;) {
    if (!list || !list.isConnected) return null;
    const { options } = wantedOptions(list, [wanted]);
    const now = nativeNow();
    if (options.length !== 1 || !options[0].selected) since = null;
    else if (since === null) since = now;
    else if (now - since >= KEPT_MS) {
      shownBefore.delete(list);
      return true;
    }
    triedBefore.set(list, `had its option ${JSON.stringify(wanted)} pressed before, and the list did not have it chosen`);
    if (now >= deadline) return false;
    await nextChange(Math.max(1, Math.min(50, deadline - now)));
  }
}

/** Whether nobody can see it: not drawn, or a spot of one or two pixels, or transparent. */
function tuckedAway(el, look) {
  if (!visible(el, look)) return true;
  const { width, height } = el.getBoundingClientRect();
  const style = getComputedStyle(el);
  return Math.min(width, height) <= TUCKED_AWAY_PX || Number(style.opacity) === 0 || style.clip === "rect(0px, 0px, 0px, 0px)";
}

function optionsSaid(all) {
  const said = all.slice(0, OPTIONS_SHOWN).map((option) => JSON.stringify(squeeze(option.label)));
  if (!said.length) return "no options at all";
  return said.join(", ") + (all.length > said.length ? ` and ${all.length - said.length} more` : "");
}

function markChosen(list, options) {
  for (const option of list.options) option.selected = options.includes(option);
  list.dispatchEvent(new Event("input", { bubbles: true, composed: true }));
  list.dispatchEvent(new Event("change", { bubbles: true }));
}
