// Reads the members of a collection with keys, so that a loop knows which ones it has processed.

const ITEM_TEXT = 300; // characters of one member's text
const ITEM_MARKS = 8; // addresses and keys of one member
const ITEMS_TOLD = 2000;
const MARKED = "[data-id], [href], [action], [value], [name], [id], button, input";

/** The visible elements a selector matches, in order: text and distinguishing key of each. */
function items(selectorJson) {
  const look = newLook();
  const result = resolve(JSON.parse(selectorJson), look, true);
  const seen = result.found.filter((el) => visible(el, look));
  return {
    error: result.error,
    count: seen.length,
    items: seen.slice(0, ITEMS_TOLD).map((el) => ({ text: textOf(el, look).slice(0, ITEM_TEXT), key: keyOf(el, look) })),
  };
}

function keyOf(el, look) {
  const marks = [];
  for (const node of [el, ...el.querySelectorAll(MARKED)]) {
    for (const { name, value } of node.attributes) {
      const tells = name === "id" || name === "href" || name === "action" || name === "value" || name.startsWith("data-");
      if (tells && value && marks.length < ITEM_MARKS) marks.push(`${name}=${value.slice(0, ITEM_TEXT)}`);
    }
  }
  return `${textOf(el, look).slice(0, ITEM_TEXT)}\n${marks.join("\n")}`;
}
