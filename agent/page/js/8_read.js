// Reads outputs and scraped inputs: a value or a whole table in one pass (KS 4.3 extraction).

/**
 * Read the first visible element of a selector, or all of them as rows.
 * @returns {{said: string|null|object[], error: string|null}} null and no error: there is nothing.
 */
function read({ selector, attribute, columns, most }) {
  const look = newLook();
  const result = resolve(selector, look, true);
  const seen = result.found.filter((el) => visible(el, look));
  if (!columns) return { said: seen.length ? saidBy(seen[0], attribute, look) : null, error: result.error };
  const rows = seen.slice(0, most).map((row) => {
    const cells = Object.entries(columns).map(([name, column]) => [name, saidBy(cellOf(row, column), column.attribute, look)]);
    return Object.fromEntries(cells);
  });
  return { said: rows, error: result.error };
}

function cellOf(row, column) {
  if (column.selector === ":scope") return row;
  const roots = [row, ...rootsBelow(row, true).slice(1)];
  for (const root of roots) {
    const found = queryCss(root, column.selector);
    if (found.length) return found[0];
  }
  return null;
}

/** An attribute, else a field's value, else the visible text as written. */
function saidBy(el, attribute, look) {
  if (el === null) return null;
  if (attribute) return attr(el, attribute);
  const value = tagOf(el) === "button" ? null : valueOf(el);
  if (value) return value;
  return plainText(el, look) || textOf(el, look); // an icon is what its words for it say
}

function plainText(el, look) {
  const out = [];
  gatherText(el, look, out, () => {});
  return squeeze(out.join(""));
}
