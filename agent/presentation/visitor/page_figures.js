// Returns the visible texts with a number, each as the smallest part of the page that also has words.
(most) => {
  "use strict";
  const LONGEST = 120;
  const RECORDS = "td, a, input, select, textarea, button, code, pre, time, script, style, noscript, svg, nav, footer, [contenteditable]";
  const words = (text) => text.replace(/\s+/g, " ").trim();
  const found = new Set();
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (found.size < most && walker.nextNode()) {
    const node = walker.currentNode;
    if (!/\d/.test(node.data)) continue;
    let part = node.parentElement;
    if (!part || part.closest(RECORDS) || !part.checkVisibility({ opacityProperty: true, visibilityProperty: true })) continue;
    while (part && part !== document.body && !/\p{L}{3,}/u.test(part.innerText || "")) part = part.parentElement;
    if (!part || part === document.body) continue;
    // A figure and its label often stand side by side: `<dt>` before `<dd>`.
    const label = part.tagName === "DD" ? part.previousElementSibling : null;
    const text = words(`${label ? `${label.innerText} ` : ""}${part.innerText}`);
    if (text && text.length <= LONGEST) found.add(text);
  }
  return [...found];
}
