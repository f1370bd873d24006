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
    const contrary = called ? contraryTo(el, card, called, values, look) : "";
    if (contrary) return `${contrary} stands beside it`;
    controls.push(el);
  }
  const others = waiting ? resolve(waiting, look, false).found.filter((el) => !controls.includes(el)) : [];
  return others.length ? `${describe(others[0])} waits to be pressed, though it is hidden` : null;
}

/** What else in the card says the deed, or in the page says it of what the card is about; "" if nothing does. Lines of text count if they say little else. */
function contraryTo(el, card, called, values, look) {
  const says = (text) => beginsWith(text, called) && wordsOf(text).length <= wordsOf(called).length + LABEL_WORDS;
  const labels = (each) => [nameOf(each, look), attr(each, "title"), attr(each, "aria-label"), attr(each, "alt")];
  const roots = card ? rootsBelow(card, true, shadowOf) : [];
  const near = roots.flatMap((root) => [...root.querySelectorAll("*")]);
  const found = near.find((each) => each !== el && !el.contains(each) && labels(each).some(says) && visible(each, look));
  if (found) return describe(found);
  const line = roots.flatMap((root) => textsIn(root, el, look)).find(says);
  if (line) return `"${line}"`;
  const about = (text) => beginsWith(text, called) && values.every((value) => fold(text).includes(fold(value)));
  const controls = values.length ? drawnRoots().flatMap((root) => [...root.querySelectorAll("a[href], button, input, [role], [tabindex]")]) : [];
  const other = controls.find((each) => each !== el && labels(each).some((text) => text && about(text)) && visible(each, look));
  return other ? describe(other) : "";
}

/** The lines of the cards that show a state in which the deed is named, in any form: what denies it there is said in words. `shown` as of `whyUnsure`. */
function linesNaming({ shown, called }) {
  const look = newLook();
  const wanted = wordsOf(called);
  const names = (line) => {
    const said = wordsOf(line);
    return wanted.length > 0 && said.some((_, at) => wanted.every((word, more) => isForm(said[at + more] || "", word)));
  };
  const isForm = (said, word) => said.startsWith(word) || (word.length >= LEAST_VERB && said.includes(word)); // `followed`, `unfollowed`
  const cards = shown.flatMap(({ selector }) => resolve(selector, look, false).found.map((el) => [el, cardOf(el)]));
  const roots = cards.flatMap(([el, card]) => (card ? rootsBelow(card, true, shadowOf) : []).map((root) => [root, el]));
  return roots.flatMap(([root, el]) => textsIn(root, el, look).filter(names));
}

const LEAST_VERB = 4; // shorter words stand in many others

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
  const [said, wanted] = [wordsOf(name), wordsOf(called)];
  return wanted.length > 0 && wanted.every((word, at) => said[at] === word);
}

/** Words that the label of a deed has behind it: of whom, of what. */
const LABEL_WORDS = 4;

function wordsOf(text) {
  return fold(text || "").match(/[\p{L}\p{N}]+/gu) || [];
}
