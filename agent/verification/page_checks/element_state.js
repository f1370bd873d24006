// What an element is at the moment, beyond what the probes say: focused, selected, and which options are chosen.
(el) => {
  const said = (name) => (el.getAttribute(name) || "").toLowerCase();
  const current = said("aria-current");
  return {
    focused: el.getRootNode().activeElement === el || el.contains(document.activeElement),
    selected:
      el.selected === true || el.checked === true || said("aria-selected") === "true" ||
      said("aria-checked") === "true" || said("aria-pressed") === "true" || (current !== "" && current !== "false"),
    options: el.selectedOptions ? [...el.selectedOptions].map((each) => each.label.trim()) : [],
  };
}
