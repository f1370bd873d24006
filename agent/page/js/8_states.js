// Whether a control that shows a state is the only one that could be meant.

/**
 * Why the page may mean another control than the one that shows the state; null if it is sure. `shown`: selectors of what shows the state,
 * with the values in them. `waiting`: the selector of the control that is pressed as long as it is otherwise, or null, and what it is `called`.
 */
function whyUnsure({ shown, waiting, called }) {
  const look = newLook();
  const controls = [];
  for (const { selector, values } of shown) {
    const { found } = resolve(selector, look, false);
    if (found.length !== 1) return `${found.length} elements show it, also hidden ones`;
    const [el] = found;
    if (!visible(el, look)) return `${describe(el)} is hidden`;
    if (disabledBy(el)) return `${describe(el)} is disabled`;
    const card = cardOf(el);
    const others = card ? cardsWith(card, values, look) : [];
    if (others.length) return `${describe(card)} is one of ${others.length + 1} that have ${values.join(", ")}`;
    const contrary = card && called ? [...card.querySelectorAll("a[href], button, input, [role]")].find((each) =>
      each !== el && (isControl(each) || tagOf(each) === "a") && visible(each, look) && beginsWith(nameOf(each, look), called)) : null;
    if (contrary) return `${describe(contrary)} stands beside it`;
    controls.push(el);
  }
  const others = waiting ? resolve(waiting, look, false).found.filter((el) => !controls.includes(el)) : [];
  return others.length ? `${describe(others[0])} waits to be pressed, though it is hidden` : null;
}

/** Other cards of the same kind that are called so: a text of their own is one of the values, and the other values stand in them, too. */
function cardsWith(card, values, look) {
  const wanted = values.map(fold);
  const alike = [...document.getElementsByTagName(tagOf(card))].filter((each) =>
    each !== card && !each.contains(card) && !card.contains(each) && (ROW_TAGS.has(tagOf(each)) || each.classList[0] === card.classList[0]));
  return alike.filter((each) => {
    const texts = visible(each, look) ? textsIn(each, null, look).map(fold) : [];
    return texts.some((text) => wanted.includes(text)) && wanted.every((value) => texts.some((text) => text.includes(value)));
  });
}

/** Whether a control is called by the words of another, or by these with more behind them: "Follow Eve" by "Follow". */
function beginsWith(name, called) {
  const [said, wanted] = [name, called].map((each) => fold(each || "").match(/[\p{L}\p{N}]+/gu) || []);
  return wanted.length > 0 && wanted.every((word, at) => said[at] === word);
}
