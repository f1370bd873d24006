// What lies over the whole page, such as a dialog with its backdrop: what is behind it cannot be operated.

const AT_EDGE = 3; // pixels from the edges of the window

/** The elements that lie over the whole window: a backdrop, and the part in its middle; empty if there is none. */
function frontLayers() {
  const { clientWidth: width, clientHeight: height } = document.scrollingElement || document.documentElement;
  const right = width - AT_EDGE;
  const below = height - AT_EDGE;
  const over = [[AT_EDGE, AT_EDGE], [right, AT_EDGE], [AT_EDGE, below], [right, below]].map(([x, y]) => layerAt(x, y, width, height));
  if (!over[0] || over.some((each) => each !== over[0])) return [];
  const middle = layerAt(width / 2, height / 2, 0, 0);
  return middle && middle !== over[0] ? [over[0], middle] : [over[0]];
}

/** The innermost element at a point that is laid over others and has at least this size. */
function layerAt(x, y, width, height) {
  for (let el = document.elementFromPoint(x, y); el && el !== document.body; el = el.parentElement) {
    const placed = getComputedStyle(el).position;
    if (placed !== "fixed" && placed !== "absolute" && !el.matches(":modal")) continue;
    const box = el.getBoundingClientRect();
    if (el.matches(":modal") || (box.width >= width - 1 && box.height >= height - 1)) return el;
  }
  return null;
}

/** Whether an element outside of the layers is behind them; one that lies over them, such as a message, is not. */
function behindLayers(el, layers) {
  const { left, top, width, height } = el.getBoundingClientRect();
  const hit = el.ownerDocument === document ? document.elementFromPoint(left + width / 2, top + height / 2) : null;
  return !hit || layers.some((layer) => layer.contains(hit));
}
