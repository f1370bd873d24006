// Cards: parts of a page that repeat, each with a control like those of the others, whatever their tags. Their texts tell which
// of several controls that are called alike is which.

const CARD_TEXTS = 12;
const CARD_TEXT_LENGTH = 160;
const ROW_TAGS = new Set(["tr", "li", "article"]);

/**
 * For each position of an index: the card around the element, by a number of its own (-1: there is none), the texts of the card without
 * the element's own, and the texts of the element, each as the page writes it.
 */
function cardsOf(token, positions) {
  const look = newLook();
  const numbers = new Map();
  return positions.map((at) => {
    const el = pick(token, at);
    const card = el ? cardOf(el) : null;
    if (card && !numbers.has(card)) numbers.set(card, numbers.size);
    return { number: card ? numbers.get(card) : -1, texts: card ? textsIn(card, el, look) : [], own: el ? textsIn(el, null, look) : [] };
  });
}

/** The nearest part around an element that repeats with such an element, and says more than it; null if there is none. */
function cardOf(el) {
  for (let at = el.parentElement; at && at !== document.body; at = at.parentElement) {
    if (saysMore(at, el) && (ROW_TAGS.has(tagOf(at)) || hasLike(at, el))) return at;
  }
  return null;
}

/** What the page says of the record that a control is for: the texts of its row, card or item among others, or the headings of the page and all of it. */
function recordOfControl(el) {
  const look = newLook();
  const card = cardOf(el);
  const others = card && card.parentElement ? [...card.parentElement.children].filter((each) => each !== card && tagOf(each) === tagOf(card)) : [];
  const isOneOfMany = others.some((each) => [...each.getElementsByTagName(tagOf(el))].some((other) => roleOf(other) === roleOf(el)));
  const part = isOneOfMany ? card : document.body;
  const fields = [...part.querySelectorAll("input, textarea")].filter((each) => visible(each, look) && !isSecretField(each) && !isToggle(each));
  const values = fields.map((each) => each.value.slice(0, CARD_TEXT_LENGTH));
  const texts = isOneOfMany ? [...textsIn(part, el, look), ...values] : [document.title, ...headingsOf(look).map((each) => each.text)];
  return { texts: texts.slice(0, MOST_RECORD_TEXTS), said: [drawnText(part, look), ...texts, ...values].join(" ").slice(0, MOST_RECORD_LENGTH) };
}

const MOST_RECORD_TEXTS = 100;
const MOST_RECORD_LENGTH = 100_000;

/** Whether a sibling of the same kind has an element like this one. */
function hasLike(part, el) {
  const tag = tagOf(el);
  const siblings = part.parentElement ? [...part.parentElement.children] : [];
  return siblings.some((each) => each !== part && tagOf(each) === tagOf(part) && each.classList[0] === part.classList[0] &&
    [...each.getElementsByTagName(tag)].some((other) => roleOf(other) === roleOf(el)));
}

function saysMore(part, el) {
  const walker = document.createTreeWalker(part, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    if (!el.contains(node) && /\p{L}/u.test(node.data) && !node.parentElement.closest(OPERABLE_CSS)) return true;
  }
  return false;
}

/** The separate texts that a person sees in a part, in their order, without those of one element in it. Words of one line are one text. */
function textsIn(part, without, look) {
  const lines = [];
  let line = null;
  const walker = document.createTreeWalker(part, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node && lines.length <= CARD_TEXTS; node = walker.nextNode()) {
    const around = node.parentElement;
    if (line && !squeeze(node.data)) line.text += " "; // between words of one line
    if (!squeeze(node.data) || (without && without.contains(node)) || TEXTLESS_TAGS.has(tagOf(around)) || tagOf(around) === "option") continue;
    if (around.closest("[aria-hidden=true]") || !visible(around, look) || editingHost(around)) continue;
    const block = blockOf(around, part);
    if (line && line.block === block) line.text += node.data;
    else lines.push((line = { block, text: node.data }));
  }
  return lines.slice(0, CARD_TEXTS).map((each) => squeeze(each.text).slice(0, CARD_TEXT_LENGTH));
}

/** The element that lays out the line in which an element stands. */
function blockOf(el, part) {
  let at = el;
  while (at !== part && at.parentElement && getComputedStyle(at).display === "inline") at = at.parentElement;
  return at;
}
