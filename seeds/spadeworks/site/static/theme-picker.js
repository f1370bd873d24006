// <sw-theme-picker>: three buttons inside a shadow root that change how the site looks.

import { csrfToken } from "/static/app.js";

const STYLE = `
  div { display: flex; gap: 10px; margin-top: 14px; }
  button {
    flex: 1; display: grid; gap: 8px; padding: 8px 8px 9px; border: 1px solid var(--line);
    border-radius: 10px; background: var(--surface); color: var(--ink); font: inherit;
    font-weight: 600; cursor: pointer;
  }
  button:hover { border-color: var(--line-strong); }
  button[aria-pressed="true"] { border-color: var(--accent); background: var(--accent-soft); }
  button:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; }
  i { display: block; height: 46px; border-radius: 6px; border: 1px solid var(--line); }
  .light i { background: linear-gradient(#fff 30%, #eef2f1 30%); }
  .dark i { background: linear-gradient(#1d2725 30%, #0f1514 30%); }
  .system i { background: linear-gradient(100deg, #fff 50%, #0f1514 50%); }
`;

class ThemePicker extends HTMLElement {
  connectedCallback() {
    const root = this.attachShadow({ mode: "open" });
    const style = document.createElement("style");
    style.textContent = STYLE;
    const group = document.createElement("div");
    group.setAttribute("role", "group");
    group.setAttribute("aria-label", "Theme");
    for (const label of ["Light", "Dark", "System"]) group.append(this.button(label));
    root.append(style, group);
    this.press(this.getAttribute("theme"));
  }

  button(label) {
    const button = document.createElement("button");
    button.type = "button";
    button.className = label.toLowerCase();
    button.append(document.createElement("i"), label);
    button.addEventListener("click", () => this.choose(label.toLowerCase()));
    return button;
  }

  press(theme) {
    for (const button of this.shadowRoot.querySelectorAll("button")) {
      button.setAttribute("aria-pressed", String(button.className === theme));
    }
  }

  async choose(theme) {
    const frames = [...document.querySelectorAll("iframe")].map((frame) => frame.contentDocument);
    for (const page of [document, ...frames]) page.documentElement.dataset.theme = theme;
    this.press(theme);
    await fetch("/settings/theme", {
      method: "POST",
      headers: { accept: "application/json", "x-csrf-token": csrfToken() },
      body: new URLSearchParams({ theme }),
    });
  }
}

customElements.define("sw-theme-picker", ThemePicker);
