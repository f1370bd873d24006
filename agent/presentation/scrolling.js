// Scrolls the page, or its scrollable part, at reading pace: smoothly, most of a window at a time.
// `where`: "on", "bottom" or "top".
(where) => {
  const root = document.scrollingElement || document.documentElement;
  const room = (element) => element.scrollHeight - element.clientHeight;
  const area = (element) => element.clientHeight * element.clientWidth;
  const scrolls = (element) => {
    const { overflowY } = getComputedStyle(element);
    return room(element) > 8 && (overflowY === "auto" || overflowY === "scroll");
  };
  const inner = room(root) > 8 ? [] : [...document.querySelectorAll("body *")].filter(scrolls);
  const target = inner.sort((a, b) => area(b) - area(a))[0] || root;
  const height = target === root ? window.innerHeight : target.clientHeight;
  const top = {
    on: target.scrollTop + height * 0.7,
    bottom: target.scrollHeight,
    top: 0,
  }[where];
  target.scrollTo({ top, behavior: "smooth" });
}
