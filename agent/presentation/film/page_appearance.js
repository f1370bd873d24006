// Returns the visible appearance of the page as lines of text that stay the same while nothing changes:
// visible elements in order with their words, and the style of each kind. Announcements, which appear
// and disappear by themselves, and the overlay are left out.
() => {
  "use strict";
  const PASSING = '[role="status"],[role="alert"],[role="tooltip"],[role="progressbar"],[aria-live]:not([aria-live="off"]),pp-stage';
  const SILENT = new Set(["SCRIPT", "STYLE", "TEMPLATE", "NOSCRIPT", "HEAD", "META", "LINK", "TITLE"]);
  const lines = [];
  const looks = new Map();

  function own(element) {
    let words = "";
    for (const child of element.childNodes) {
      if (child.nodeType === Node.TEXT_NODE) words += `${child.nodeValue} `;
    }
    return words.replace(/\s+/g, " ").trim();
  }

  function look(element, style) {
    const kind = `${element.tagName}.${[...element.classList].sort().join(".")}`;
    const seen = [
      style.color, style.backgroundColor, style.fontFamily, style.fontSize, style.fontWeight,
      style.borderRadius, style.display, style.textAlign,
    ].join("|");
    if (!looks.has(kind)) looks.set(kind, new Set());
    looks.get(kind).add(seen);
  }

  function walk(element, depth) {
    if (SILENT.has(element.tagName) || element.matches(PASSING)) return;
    const style = getComputedStyle(element);
    if (style.display === "none") return;
    if (style.visibility === "visible") {
      const said = ["type", "placeholder", "aria-label", "alt", "src", "role"]
        .map((name) => element.getAttribute(name) ?? "").join("|");
      const state = [element.checked, element.disabled, element.getAttribute("aria-expanded")].join("|");
      lines.push(`${depth} ${element.tagName} ${said} ${state} ${own(element)}`);
      look(element, style);
    }
    const inside = element.shadowRoot ? [...element.shadowRoot.children, ...element.children] : element.children;
    for (const child of inside) walk(child, depth + 1);
  }

  if (document.body) walk(document.body, 0);
  const styles = [...looks].map(([kind, seen]) => `${kind} ${[...seen].sort().join(" ")}`).sort();
  return [[location.pathname, ...lines].join("\n"), styles.join("\n")];
}
