// Chooses options of a list and dispatches its events, as when a person closes the opened list.

const OPTIONS_SHOWN = 8;
const OPTIONS_KEPT = 50;

/**
 * Choose options by value or label, as soon as all of them are there.
 * @returns {{gone: boolean, problem: string|null, missing?: string|null, there?: string[]}}
 *   `missing`: the option that the list does not have; `there`: those that it has.
 */
async function choose(el, wanted, timeoutMs) {
  const deadline = nativeNow() + timeoutMs;
  for (;;) {
    const list = el && el.isConnected ? toggleOf(el) : null;
    if (!list) return { gone: true, problem: null };
    if (tagOf(list) !== "select") return { gone: false, problem: "it is no list to choose from" };
    const { options, problem, missing } = wantedOptions(list, wanted);
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
