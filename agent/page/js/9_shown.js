// What fields show, and where elements of the knowledge base are among those of an index.

const SHOWN_VALUE = 200;

/** What fields show, by their position among the elements of an index; neither secrets nor states of check boxes. */
function shownValues(elements) {
  const values = [];
  elements.forEach((el, at) => {
    const value = squeeze(shownValue(el)).slice(0, SHOWN_VALUE);
    if (value) values.push([at, value]);
  });
  return values;
}

function shownValue(el) {
  const tag = tagOf(el);
  if (tag === "select") return isSecretField(el) ? "" : [...el.selectedOptions].map((option) => option.label).join(", ");
  if (tag === "input" && (UNSHOWN_TYPES.has(el.type) || isToggle(el))) return "";
  if (tag === "input" || tag === "textarea") return isSecretField(el) ? "" : el.value;
  return "";
}

/**
 * For each selector: how many elements that it means are visible; the position of the only one among the elements of an index,
 * and CSS that leads to it alone. An element that the index has not read has no position.
 */
function standings(token, selectors) {
  const look = newLook();
  const places = new Map((looks.get(token) || []).map((el, at) => [el, at]));
  return selectors.map((selector) => {
    const { found, element, error } = resolve(selector, look, true);
    const shown = found.filter((el) => visible(el, look));
    const only = shown.length === 1 ? shown[0] : shown.includes(element) ? element : null;
    const at = only && places.has(only) ? places.get(only) : null;
    return { visible: shown.length, at, css: only && only.getRootNode() === document ? uniqueCss(only) : null, error: error || null };
  });
}
