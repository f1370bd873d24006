// Changes elements of a page, remembering which element each became. Called by tests/agent/healing/drift_cases.py.
(() => {
  const targets = [];
  const label = (el) => (el.labels && el.labels[0]) || (el.getAttribute("aria-labelledby")
    && document.getElementById(el.getAttribute("aria-labelledby")));
  const ownText = (el) => [...el.childNodes].find((node) => node.nodeType === 3 && node.data.trim());
  const deepText = (el) => {
    const walker = document.createTreeWalker(el, NodeFilter.SHOW_TEXT);
    for (let node = walker.nextNode(); node; node = walker.nextNode()) {
      if (node.data.trim() && !node.parentElement.closest("select, textarea, script, style")) return node;
    }
    return null;
  };
  const isButton = (el) => el.tagName === "INPUT" && ["submit", "button", "reset"].includes(el.type);
  const isField = (el) => ["INPUT", "SELECT", "TEXTAREA"].includes(el.tagName) && !isButton(el);
  const textHolder = (el) => (isField(el) ? label(el) : el);
  const acts = {
    set: (el, { name, value }) => el.setAttribute(name, value),
    drop: (el, { name }) => el.removeAttribute(name),
    wrap: (el) => {
      const around = document.createElement("div");
      el.before(around);
      around.append(el);
    },
    move: (el) => {
      const parent = el.parentElement;
      const last = [...parent.children].filter((child) => child !== el && child.offsetParent !== null).pop();
      if (last) last.after(el);
    },
    retag: (el, { tag }) => {
      const made = document.createElement(tag);
      for (const { name, value } of el.attributes) if (name !== "type") made.setAttribute(name, value);
      if (tag === "a" && !made.hasAttribute("href")) made.setAttribute("role", "button"), made.setAttribute("tabindex", "0");
      if (tag === "button") made.removeAttribute("href"), made.setAttribute("type", "button");
      made.append(...el.childNodes);
      el.replaceWith(made);
      return made;
    },
    text: (el, { value }) => {
      if (isButton(el)) return void el.setAttribute("value", value);
      const holder = textHolder(el);
      const node = holder && (ownText(holder) || deepText(holder));
      if (node) node.data = value;
      else if (el.hasAttribute("aria-label")) el.setAttribute("aria-label", value);
      else if (el.hasAttribute("placeholder")) el.setAttribute("placeholder", value);
      else if (el.hasAttribute("title")) el.setAttribute("title", value);
    },
    remove: (el) => {
      const named = isField(el) ? label(el) : null;
      if (named && !named.contains(el)) named.remove();
      (named && named.contains(el) ? named : el).remove();
      return null;
    },
  };
  window.drift = {
    keep(el) {
      const attributes = Object.fromEntries([...el.attributes].map(({ name, value }) => [name, value]));
      const holder = isButton(el) ? null : textHolder(el);
      const node = holder && (ownText(holder) || deepText(holder));
      const text = isButton(el) ? el.value : node ? node.data.trim() : "";
      return { number: targets.push(el) - 1, tag: el.tagName.toLowerCase(), attributes, text };
    },
    apply(changes) {
      for (const [number, operations] of changes) {
        for (const operation of operations) {
          const el = targets[number];
          if (!el || !el.isConnected) continue;
          const became = acts[operation.do](el, operation);
          if (became !== undefined) targets[number] = became;
        }
      }
    },
    element: (number) => targets[number],
  };
})();
