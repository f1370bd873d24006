// CSS for fields that will get a secret, so that a film can cover them first.

/** CSS for the elements that a selector finds, valid in their root and in later documents. */
function coverRules(selector) {
  const scope = scopeOf(selector, true, newLook());
  const rules = new Set();
  for (const [s, index] of inOrder(selector)) {
    for (const el of attempt(s, index, scope).found) rules.add(coverRule(el));
  }
  return [...rules];
}

function coverRule(el) {
  const tag = CSS.escape(tagOf(el));
  for (const name of ["id", "name", "data-testid", "data-qa", "aria-label", "placeholder"]) {
    if (attr(el, name)) return `${tag}[${name}=${quoted(attr(el, name))}]`;
  }
  return pathTo(el);
}

/** CSS that finds an element by its place in its root. */
function pathTo(el) {
  const path = [];
  for (let at = el; at && isElement(at); at = at.parentElement) {
    const place = at.parentNode ? [...at.parentNode.children].indexOf(at) + 1 : 1;
    path.unshift(at.parentNode === at.ownerDocument ? ":root" : `${CSS.escape(tagOf(at))}:nth-child(${place})`);
  }
  return path.join(" > ");
}
