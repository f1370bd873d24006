// Chooses options of a list and dispatches its events, as when a person closes the opened list.

const OPTIONS_SHOWN = 8;
const OPTIONS_KEPT = 50;
const WIDGET_SHOWS_MS = 1000;
const TUCKED_AWAY_PX = 2;
const WIDGET_PARTS = "[role=combobox], [role=listbox], [role=button], [role=textbox], [tabindex], input, button, a";

/**
 * Choose options by value or label, as soon as all of them are there.
 * @returns {{gone: boolean, problem: string|null, missing?: string|null, there?: string[], widget?: boolean}}
 *   `missing`: the option that the list does not have; `there`: those that it has; `widget`: the list is hidden, and what
 *   stands for it did not show the choice, which was taken back, or may offer what the list does not have.
 */
async function choose(el, wanted, timeoutMs) {
  const deadline = nativeNow() + timeoutMs;
  for (;;) {
    const list = el && el.isConnected ? toggleOf(el) : null;
    if (!list) return { gone: true, problem: null };
    if (tagOf(list) !== "select") return { gone: false, problem: "it is no list to choose from" };
    const { options, problem, missing } = wantedOptions(list, wanted);
    if (!problem) {
      const why = await chosen(list, options);
      return { gone: false, problem: why, widget: why !== null };
    }
    if (nativeNow() >= deadline) {
      const there = [...list.options].slice(0, OPTIONS_KEPT).map((option) => squeeze(option.label));
      return { gone: false, problem, missing: missing ?? null, there, widget: Boolean(missing) && widgetOf(list, newLook()) !== null };
    }
    await nextChange(Math.max(1, Math.min(100, deadline - nativeNow())));
  }
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

/** Choose, and return why the page does not show it; null if it does. What is not shown is taken back. */
async function chosen(list, options) {
  const look = newLook();
  const widget = widgetOf(list, look);
  const before = [...list.selectedOptions];
  markChosen(list, options);
  if (!widget) return null;
  const deadline = nativeNow() + WIDGET_SHOWS_MS;
  const shows = () => widget.isConnected && options.every((option) => squeeze(textOf(widget, null)).includes(squeeze(option.label)));
  while (!shows()) {
    const left = deadline - nativeNow();
    const text = squeeze(textOf(widget, null));
    if (left <= 0) {
      if (list.isConnected) markChosen(list, before);
      return `it is hidden, and ${describe(widget)}, which stands for it, shows ${JSON.stringify(text)} all the same`;
    }
    await nextChange(Math.min(100, left));
  }
  return null;
}

/**
 * The widget that a script has put beside a list to choose from, or around it, and that people see instead (Select2,
 * bootstrap-select); null if there is none. It takes the keyboard, and is the only one there.
 */
function widgetOf(list, look) {
  if (tagOf(list) !== "select" || !tuckedAway(list, look)) return null;
  const isWidget = (node) =>
    node && tagOf(node) !== "select" && visible(node, look) && (node.matches(WIDGET_PARTS) || node.querySelector(WIDGET_PARTS) !== null)
    && [...node.querySelectorAll("select")].every((other) => other === list);
  const around = list.parentElement;
  const shown = [list.nextElementSibling, list.previousElementSibling].filter(isWidget);
  if (shown.length) return shown[0];
  return around && !["form", "fieldset", "td", "body"].includes(tagOf(around)) && isWidget(around) ? around : null;
}

/**
 * Where the opened widget of a list offers an option, as soon as there is exactly one such place: in the widget, or in what lies
 * above the page. The path is null if there is none.
 */
async function widgetOption(list, wanted, timeoutMs) {
  const deadline = nativeNow() + timeoutMs;
  const { options } = wantedOptions(list, [wanted]);
  const label = options.length ? squeeze(options[0].label) : wanted;
  for (;;) {
    const look = newLook();
    const widget = widgetOf(list, look);
    const says = (node) => squeeze(node.textContent || "") === label;
    const offers = (node) =>
      tagOf(node) !== "option" && getComputedStyle(node).pointerEvents !== "none" && says(node) && ![...node.children].some(says) && visible(node, look)
      && closestFlat(node, (up) => up === widget || attr(up, "role") === "listbox" || ["absolute", "fixed"].includes(getComputedStyle(up).position)) !== null;
    const all = [...document.body.querySelectorAll("*")].filter(offers);
    const own = all.filter((node) => widget !== null && widget.contains(node));
    const near = own.length ? own : all;
    const found = near.length > 1 ? near.filter((node) => isOnTop(node, look)) : near;
    if (found.length === 1 || nativeNow() >= deadline) return { path: found.length === 1 ? pathTo(found[0]) : null, found: found.length };
    await nextChange(Math.max(1, Math.min(100, deadline - nativeNow())));
  }
}

function isOnTop(el, look) {
  const { problem } = reach(el, el, look);
  return problem === null;
}

/** Whether a list has an option chosen, and what stands for it shows it, as soon as both are so. */
async function widgetChose(list, wanted, timeoutMs) {
  const deadline = nativeNow() + timeoutMs;
  for (;;) {
    const { options } = wantedOptions(list, [wanted]);
    const widget = widgetOf(list, newLook());
    const shows = widget !== null && options.length === 1 && squeeze(textOf(widget, null)).includes(squeeze(options[0].label));
    if (shows && options[0].selected) return true;
    if (nativeNow() >= deadline) return false;
    await nextChange(Math.max(1, Math.min(100, deadline - nativeNow())));
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
