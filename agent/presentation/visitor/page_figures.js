// Returns the visible texts with a number that is no date or time, each as the smallest part of the page that also has words.
(most) => {
  "use strict";
  const LONGEST = 120;
  const RECORDS = "td, a, input, select, textarea, button, code, pre, time, script, style, noscript, svg, nav, footer, [contenteditable]";
  const LANGUAGES = [...new Set([document.documentElement.lang || "en", "en"])];
  const monthsOf = (language) => {
    try {
      const months = new Intl.DateTimeFormat(language, { month: "short" });
      return Array.from({ length: 12 }, (_, month) => months.format(new Date(2024, month, 1)).replace(/\P{L}/gu, ""));
    } catch {
      return [];
    }
  };
  const MONTH = `(?:${LANGUAGES.flatMap(monthsOf).filter(Boolean).join("|") || "Jan"})\\p{L}*\\.?`;
  const DATES = new RegExp(
    `\\d{4}-\\d{1,2}-\\d{1,2}|\\d{1,2}[./]\\d{1,2}[./]\\d{2,4}|\\d{1,2}:\\d{2}|${MONTH} \\d{1,2}\\b(?:,? \\d{4})?|\\d{1,2}\\.? ${MONTH}(?:,? \\d{4})?`,
    "giu",
  );
  const words = (text) => text.replace(/\s+/g, " ").trim();
  const found = new Set();
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (found.size < most && walker.nextNode()) {
    const node = walker.currentNode;
    if (!/\d/.test(words(node.data).replace(DATES, ""))) continue;
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
