// Shows one widget of a library: the last part of the address names it. `window.state` is the page's own state.
// `window.kept` has each change of it: what, when (milliseconds since the epoch), and in which event of the browser.
import { createElement } from "react";
import { createRoot } from "react-dom/client";

export function start(widgets) {
  window.state = {};
  window.kept = [];
  const keep = (key, value) => {
    window.state[key] = value;
    window.kept.push({ key, value: JSON.parse(JSON.stringify(value ?? null)), at: Date.now(), event: window.event?.type ?? "" });
  };
  widgets[location.pathname.split("/").pop()](document.getElementById("root"), keep);
}

/** A widget that is a React component with the property `keep`. */
export const shown = (component) => (root, keep) => createRoot(root).render(createElement(component, { keep }));

/** A widget that is plain HTML, and what its script does. */
export const plain = (html, script = () => {}) => (root, keep) => {
  root.innerHTML = html;
  script((id) => document.getElementById(id), keep, root);
};
