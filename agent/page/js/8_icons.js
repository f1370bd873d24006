// What the picture of a control is called: the name in its icon set, its file, or its drawing.

const ICON_PARTS = "svg, i, img, [class*='icon'], [class*='mdi-'], [class*='fa-']";
// Class names of the usual icon sets: `fa-trash`, `bi-trash`, `icon-arrow-up`.
const ICON_CLASS = /^(?:icon|icons|ico|fa|bi|mdi|glyphicon|lucide|ti|ri|ph|la|pi|oi|octicon|feather|tabler|zmdi|anticon|el-icon|ion|typcn|gg|cil|uil|bx|ki)-(.+)$/;
const ICON_STYLES = new Set(["btn", "button", "link", "wrapper", "container", "only", "fw", "lg", "xs", "sm", "md", "xl", "2x", "3x", "spin", "pulse", "solid", "regular", "light", "brands", "outline"]);
const MOST_ICON = 60;

/** The name of the first picture in an element, in plain words; "" for none. */
function iconOf(el) {
  const inner = [...el.querySelectorAll(ICON_PARTS)].filter((each) => each.getClientRects().length > 0);
  const itself = el.matches(ICON_PARTS) && el.getClientRects().length > 0;
  const named = el.matches("svg, i, img") || className(el); // `icon-btn` is called so for the picture in it
  const part = itself && (named || !inner.length) ? el : inner[0];
  if (!part) return "";
  const said = tagOf(part) === "img" ? fileName(attr(part, "src") || "") : symbolName(part) || className(part);
  return said ? wordsOfName(said).slice(0, MOST_ICON) : drawing(part);
}

function symbolName(part) {
  const use = part.querySelector("use");
  const symbol = use ? /#(.+)$/.exec(attr(use, "href") || attr(use, "xlink:href") || "") : null;
  return symbol ? symbol[1] : attr(part, "data-icon") || (attr(part, "data-testid") || "").replace(/Icon$/, "");
}

function className(part) {
  for (const name of part.classList) {
    const known = ICON_CLASS.exec(name);
    if (known && !ICON_STYLES.has(known[1])) return known[1];
  }
  return "";
}

/** `/static/edit.3f2a91.png` is `edit`; a picture in the address has no name. */
const fileName = (src) => (src.startsWith("data:") ? "" : /([^/.?#]*)[^/?#]*(?:[?#].*)?$/.exec(src)[1]);

const wordsOfName = (name) =>
  squeeze(name.replace(/([a-z0-9])([A-Z])/g, "$1 $2").replace(/[^A-Za-z0-9]+/g, " ").replace(/\b(?:icons?|svg)\b/gi, " ")).toLowerCase();

/** A number for what a nameless picture draws. */
function drawing(part) {
  const path = part.querySelector("path");
  const drawn = path ? attr(path, "d") || "" : "";
  let number = 0;
  for (let at = 0; at < drawn.length; at += 1) number = (number * 31 + drawn.charCodeAt(at)) | 0;
  return drawn ? `drawing ${number >>> 0}` : "";
}
