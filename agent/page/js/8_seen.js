// Whether a person can see a text where it is drawn: not see-through, not of the colour of its ground, not cut off, not off
// the page, not covered. What scrolling brings into view can be seen.

const FAINT = 0.1; // opacity below which nothing is read
const SOLID = 0.9; // opacity from which nothing is seen behind
const LEAST_CONTRAST = 1.1; // of luminances (WCAG); light grey on white has 1.3
const LEAST_PX = 3; // height of a line
const RECTS_TRIED = 6; // lines of one text
const PICTURES = new Set(["img", "canvas", "video", "iframe", "object", "embed", "picture", "frame"]);
const SVG = "http://www.w3.org/2000/svg";
const SVG_FRAMES = new Set(["svg", "g", "text", "tspan", "a", "switch"]); // they paint nothing but what is below them

/** Why nobody sees what is drawn in boxes of an element (`boxes()`: their places now); null if it can be seen. */
function whyUnseen(el, boxes) {
  const faint = whyFaint(el);
  if (faint) return faint;
  if (!boxes().some(isSized)) return "it has no size";
  const clear = whyTransparent(el);
  if (clear) return clear;
  if (whyNotAt(el, boxes()) === null) return null;
  const back = bringNear(el, boxes);
  try {
    return whyNotAt(el, boxes());
  } finally {
    back();
  }
}

const isSized = (box) => box.width >= 1 && box.height >= LEAST_PX;

/** The reason at all places of the boxes; null if one of them can be seen. */
function whyNotAt(el, boxes) {
  let why = "it is off the page";
  for (const box of boxes.filter(isSized).slice(0, RECTS_TRIED)) {
    for (const part of [0.5, 0.1, 0.9]) {
      const reason = whyNotThere(el, box.left + box.width * part, box.top + box.height / 2);
      if (reason === null) return null;
      if (reason) why = reason;
    }
  }
  return why;
}

// -- see-through ---------------------------------------------------------------------------------

/** The element or one around it that lets everything through: by its opacity, a filter or a mask. */
function whyFaint(el) {
  let left = 1;
  for (let node = el; node; node = flatParent(node) || frameOf(node)) {
    const style = getComputedStyle(node);
    const filter = /opacity\(([\d.]+)(%?)\)/.exec(style.filter);
    left *= Number(style.opacity) * (filter ? Number(filter[1]) / (filter[2] ? 100 : 1) : 1);
    const where = node === el ? "it" : `${describe(node)} around it`;
    if (left < FAINT) return `${where} is transparent`;
    if (isMaskedAway(style)) return `${where} is masked`;
  }
  return null;
}

const SHOWING = ["opacity", "visibility", "color", "filter", "display"];

/** Whether an element is about to look otherwise: an animation of it or around it ends, or shows and hides it for ever. */
function isFading(el) {
  const around = [];
  for (let node = el; node; node = flatParent(node) || frameOf(node)) around.push(node);
  return [...new Set(around.map((node) => node.ownerDocument))].some((doc) =>
    doc.getAnimations().some((each) => each.playState === "running" && each.effect && around.includes(each.effect.target) &&
      (each.effect.getComputedTiming().endTime < Infinity || each.effect.getKeyframes().some((frame) => SHOWING.some((name) => name in frame)))));
}

/** Whether an image that masks an element is transparent everywhere, as far as its colours tell. */
function isMaskedAway(style) {
  const images = style.maskImage || style.webkitMaskImage || "none";
  return /gradient\(/.test(images) && !/url\(/.test(images) && colorsIn(images).every((color) => alphaOf(color) < FAINT);
}

const COLOR = /(?:rgba?|hsla?|color|lab|lch|oklab|oklch)\([^()]*\)/g;
const colorsIn = (text) => text.match(COLOR) || ["rgb(0, 0, 0)"];
const colorsRead = new Map(); // a colour as it is written -> [red, green, blue, alpha]
let colorInk = null;

function colorOf(said) {
  const known = colorsRead.get(said);
  if (known) return known;
  let parts = /^rgba?\(([\d.]+), ([\d.]+), ([\d.]+)(?:, ([\d.]+))?\)$/.exec(said);
  if (parts) parts = [Number(parts[1]), Number(parts[2]), Number(parts[3]), parts[4] === undefined ? 1 : Number(parts[4])];
  else {
    colorInk = colorInk || new OffscreenCanvas(1, 1).getContext("2d", { willReadFrequently: true });
    colorInk.clearRect(0, 0, 1, 1);
    colorInk.fillStyle = said;
    colorInk.fillRect(0, 0, 1, 1);
    const [red, green, blue, alpha] = colorInk.getImageData(0, 0, 1, 1).data;
    parts = [red, green, blue, alpha / 255];
  }
  if (colorsRead.size > 500) colorsRead.clear();
  colorsRead.set(said, parts);
  return parts;
}

const alphaOf = (said) => colorOf(said)[3];

/** The colour in which text is drawn; null if that is not one colour. */
function inkOf(el) {
  const style = getComputedStyle(el);
  if (el.namespaceURI === SVG) return svgInk(style);
  if (el.namespaceURI !== "http://www.w3.org/1999/xhtml") return null;
  if ((style.backgroundClip || "").includes("text") || style.textShadow !== "none") return null;
  if (parseFloat(style.webkitTextStrokeWidth) > 0 || VISUAL_TAGS.has(tagOf(el))) return null;
  return colorOf(style.webkitTextFillColor || style.color);
}

/** The same of a text in SVG, which is filled; null for a pattern, or where its outline is drawn. */
function svgInk({ fill, fillOpacity, stroke, strokeOpacity, strokeWidth }) {
  const drawn = (paint, opacity) => paint !== "none" && (paint.startsWith("url(") || alphaOf(paint) * Number(opacity) >= FAINT);
  if (fill.startsWith("url(") || (drawn(stroke, strokeOpacity) && parseFloat(strokeWidth) > 0)) return null;
  if (fill === "none") return [0, 0, 0, 0];
  const [red, green, blue, alpha] = colorOf(fill);
  return [red, green, blue, alpha * Number(fillOpacity)];
}

function whyTransparent(el) {
  const ink = inkOf(el);
  return ink && ink[3] < FAINT ? "its colour is transparent" : null;
}

// -- at one place --------------------------------------------------------------------------------

const hitters = new WeakMap(); // document -> the style sheet that lets every element be hit

/** What an asker says while every element can be hit, also those that let presses through. No node of the page is changed. */
function whileAllAreHit(doc, ask) {
  let sheet = hitters.get(doc);
  if (!sheet) {
    sheet = new doc.defaultView.CSSStyleSheet();
    sheet.replaceSync("*, *::before, *::after { pointer-events: auto !important }");
    hitters.set(doc, sheet);
  }
  const before = [...doc.adoptedStyleSheets];
  doc.adoptedStyleSheets = [...before, sheet];
  try {
    return ask();
  } finally {
    doc.adoptedStyleSheets = before;
  }
}

/** Why what an element draws at a place of its window cannot be seen: a reason, "" for a place outside, or null. */
function whyNotThere(el, x, y) {
  const doc = el.ownerDocument;
  const view = doc.defaultView;
  if (x < 0 || y < 0 || x >= view.innerWidth || y >= view.innerHeight) return "";
  if (isInert(el)) return null; // behind a dialog, which can be closed: nothing there can be hit
  const reason = whileAllAreHit(doc, () => whyNotHit(el, x, y));
  const frame = reason === null ? frameOf(el) : null;
  if (!frame) return reason;
  const box = frame.getBoundingClientRect();
  return whyNotThere(frame, box.left + frame.clientLeft + x, box.top + frame.clientTop + y);
}

function isInert(el) {
  if (closestFlat(el, (node) => hasAttr(node, "inert"))) return true;
  const modal = [...el.ownerDocument.querySelectorAll(":modal")].pop();
  return Boolean(modal) && !closestFlat(el, (node) => node === modal);
}

function whyNotHit(el, x, y) {
  let ground = null;
  let node = boxedAround(el);
  for (let inner = true; node; inner = false) {
    const root = node.getRootNode();
    const hits = root.elementsFromPoint ? root.elementsFromPoint(x, y) : [];
    const at = hits.indexOf(node);
    if (at < 0) return "it is cut off or hidden there";
    const cover = hits.slice(0, at).find((each) => covers(each, node, x, y));
    if (cover) return `${describe(cover)} covers it`;
    if (inner) ground = hits.slice(at);
    node = root.host || null;
  }
  return isLikeGround(el, ground) ? "it has the colour of its ground" : null;
}

/** The nearest element that has a box of its own. */
const boxedAround = (el) => closestFlat(el, (node) => getComputedStyle(node).display !== "contents" && tagOf(node) !== "option" && tagOf(node) !== "optgroup");

/** Whether an element hides what is behind it at a place, and no scrolling brings that out. */
function covers(cover, el, x, y) {
  const style = getComputedStyle(cover);
  if (!isSolid(cover, style) && !isPaintedAt(cover, style, x, y) && !isSolidBorder(cover, style, x, y)) return false;
  const kept = closestFlat(cover, (node) => ["fixed", "sticky"].includes(getComputedStyle(node).position));
  if (!kept || closestFlat(el, (node) => node === kept || getComputedStyle(node).position === "fixed")) return true;
  const { left, top, right, bottom } = cover.getBoundingClientRect();
  const view = cover.ownerDocument.defaultView;
  return left <= 1 && top <= 1 && right >= view.innerWidth - 20 && bottom >= view.innerHeight - 20;
}

const SOLID_BORDERS = new Set(["solid", "inset", "outset", "ridge", "groove"]);
const isSolid = (el, style) => (alphaOf(style.backgroundColor) >= SOLID || isSolidImage(style)) && opacityOf(el) >= SOLID;

/** Whether what an element paints hides what is behind it at a place. */
const isPaintedAt = (el, style, x, y) => (isSolidShape(el, style) || isSolidPicture(el, x, y)) && opacityOf(el) >= SOLID;

/** Whether nothing is seen behind a shape, which is hit where it is filled, or where its outline is drawn if it is not. */
function isSolidShape(el, { fill, fillOpacity, stroke, strokeOpacity }) {
  if (el.namespaceURI !== SVG || SVG_FRAMES.has(tagOf(el)) || tagOf(el) === "image") return false;
  const [paint, opacity] = fill === "none" ? [stroke, strokeOpacity] : [fill, fillOpacity];
  return paint !== "none" && !paint.startsWith("url(") && alphaOf(paint) * Number(opacity) >= SOLID;
}

/** Whether a canvas or a picture is painted at a place; false where its pixels may not be read. */
function isSolidPicture(el, x, y) {
  if (tagOf(el) !== "canvas" && tagOf(el) !== "img") return false;
  const { left, top, width, height } = el.getBoundingClientRect();
  const [across, down] = tagOf(el) === "canvas" ? [el.width, el.height] : [el.naturalWidth, el.naturalHeight];
  if (getComputedStyle(el).objectFit !== "fill" || !(width * height * across * down)) return false;
  const ink = new OffscreenCanvas(1, 1).getContext("2d");
  try {
    ink.drawImage(el, -Math.floor(((x - left) / width) * across), -Math.floor(((y - top) / height) * down));
    return ink.getImageData(0, 0, 1, 1).data[3] / 255 >= SOLID;
  } catch {
    return false; // of another origin
  }
}

/** Whether a place is on a border of an element that nothing is seen through. */
function isSolidBorder(el, style, x, y) {
  const { left, top, right, bottom } = el.getBoundingClientRect();
  const within = { Left: x - left, Top: y - top, Right: right - x, Bottom: bottom - y };
  return opacityOf(el) >= SOLID && Object.entries(within).some(([side, depth]) =>
    depth <= parseFloat(style[`border${side}Width`]) && SOLID_BORDERS.has(style[`border${side}Style`]) && alphaOf(style[`border${side}Color`]) >= SOLID);
}

function opacityOf(el) {
  let left = 1;
  for (let node = el; node; node = flatParent(node)) left *= Number(getComputedStyle(node).opacity);
  return left;
}

function isSolidImage({ backgroundImage }) {
  return /gradient\(/.test(backgroundImage) && !/url\(/.test(backgroundImage) && colorsIn(backgroundImage).every((color) => alphaOf(color) >= SOLID);
}

/** Whether a text has the colour of what is behind it, as far as plain colours tell. */
function isLikeGround(el, behind) {
  const ink = inkOf(el);
  if (!ink) return false;
  const around = [];
  for (let node = el; node; node = flatParent(node)) around.push(node);
  return [behind, around].every((elements) => {
    const ground = groundOf(elements);
    return ground !== null && contrast(mixed(ink, ground), ground) < LEAST_CONTRAST;
  });
}

/** The colour that elements above each other give, the uppermost first; null if pictures and the like are among them. */
function groundOf(elements) {
  const layers = [];
  for (const el of elements) {
    const style = getComputedStyle(el);
    if (style.backgroundImage !== "none" || style.mixBlendMode !== "normal" || PICTURES.has(tagOf(el))) return null;
    if (el.namespaceURI === SVG && !SVG_FRAMES.has(tagOf(el))) return null;
    if (["::before", "::after"].some((part) => isPainted(getComputedStyle(el, part)))) return null;
    const color = colorOf(style.backgroundColor);
    if (color[3] > 0) layers.push(color);
    if (color[3] >= SOLID) break;
  }
  const scheme = getComputedStyle(elements[0]).colorScheme;
  if ((!layers.length || layers[layers.length - 1][3] < SOLID) && scheme !== "normal" && scheme !== "light") return null;
  return layers.reverse().reduce((below, color) => mixed(color, below), [255, 255, 255, 1]);
}

const isPainted = (style) => style.content !== "none" && style.content !== "normal" &&
  (alphaOf(style.backgroundColor) > 0 || style.backgroundImage !== "none");

const mixed = (over, below) => [0, 1, 2].map((i) => over[i] * over[3] + below[i] * (1 - over[3])).concat(1);

function contrast(one, other) {
  const [light, dark] = [luminance(one), luminance(other)].sort((a, b) => b - a);
  return (light + 0.05) / (dark + 0.05);
}

function luminance(color) {
  const [red, green, blue] = color.slice(0, 3).map((value) => {
    const part = value / 255;
    return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

// -- out of view ---------------------------------------------------------------------------------

/** Scroll as a person could, so that a box comes into view; returns what scrolls back, in the same turn. */
function bringNear(el, boxes) {
  const before = [];
  const box = () => boxes().find(isSized) || el.getBoundingClientRect();
  let target = box;
  for (let node = el; node; ) {
    if (scrolls(node)) {
      before.push([node, node.scrollLeft, node.scrollTop]);
      scrollTo(node, target());
    }
    const parent = flatParent(node);
    const frame = parent ? null : frameOf(node);
    if (frame) {
      const inner = target;
      target = () => shifted(inner(), frame.getBoundingClientRect());
    }
    node = parent || frame;
  }
  return () => before.reverse().forEach(([node, left, top]) => node.scrollTo({ left, top, behavior: "instant" }));
}

const shifted = (box, by) => new DOMRect(box.left + by.left, box.top + by.top, box.width, box.height);

function scrolls(node) {
  if (node === node.ownerDocument.scrollingElement) return true;
  const { overflowX, overflowY } = getComputedStyle(node);
  return /auto|scroll/.test(overflowX + overflowY) && (node.scrollHeight > node.clientHeight || node.scrollWidth > node.clientWidth);
}

function scrollTo(node, box) {
  const whole = node === node.ownerDocument.scrollingElement;
  const view = node.ownerDocument.defaultView;
  const area = whole ? new DOMRect(0, 0, view.innerWidth, view.innerHeight) : node.getBoundingClientRect();
  node.scrollBy({
    left: box.left + box.width / 2 - (area.left + area.width / 2),
    top: box.top + box.height / 2 - (area.top + area.height / 2),
    behavior: "instant",
  });
}
