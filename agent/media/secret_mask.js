// Covers secrets on a filmed page: fields show discs, text is painted over. Runs in an isolated world, where
// the page's scripts can neither see nor hook it, and only changes what is painted: with a style sheet and a
// highlight, no attribute, no element. `secrets` are texts, `disguises` are letters and digits in lower case
// (`agent.secret_disguises`), `covered` is CSS of fields that will be filled with one.
({ secrets, disguises, covered, version }) => {
  const NAME = `periplus-veil-${version}`;
  const FIELDS = "input, textarea, select";
  const LOOK_MS = 100; // for values that a script sets without an event
  const MOST_MARKS = 2000;
  const MOST_SPLIT = 500; // characters of an element in whose parts a secret is searched
  const MOST_LEVELS = 4; // elements around a text that are looked at
  const marks = new Highlight();
  const watched = new WeakSet();
  const roots = []; // WeakRefs
  const sheets = [];
  const rules = new Set(covered);

  const tells = (text) => Boolean(text) && secrets.some((secret) => text.includes(secret));

  const plain = (text) => text.normalize("NFKC").toLowerCase().replace(/[^\p{L}\p{N}]+/gu, "");

  /** Whether a text repeats a secret in another spelling than as it is. */
  function disguised(text) {
    const letters = plain(text);
    return disguises.some((form) => form.length <= letters.length && letters.includes(form));
  }

  const begins = (text) => text.length > 1 && secrets.some((secret) => secret.startsWith(text)); // being typed

  function style() {
    const discs = [...rules].map((rule) => `${rule} { -webkit-text-security: disc !important; }`);
    return `::highlight(${NAME}) { color: transparent; background-color: #334155; text-shadow: none; }\n${discs.join("\n")}`;
  }

  function adopt(root) {
    const sheet = new CSSStyleSheet();
    sheet.replaceSync(style());
    sheets.push(sheet);
    root.adoptedStyleSheets = [...root.adoptedStyleSheets, sheet];
  }

  function watch(root) {
    if (watched.has(root)) return;
    watched.add(root);
    roots.push(new WeakRef(root));
    adopt(root);
    observer.observe(root, { subtree: true, childList: true, characterData: true, attributes: true, attributeFilter: ["value"] });
    scan(root);
  }

  function scan(node) {
    if (node.nodeType === Node.TEXT_NODE) {
      markText(node);
      return;
    }
    const walker = document.createTreeWalker(node, NodeFilter.SHOW_TEXT | NodeFilter.SHOW_ELEMENT);
    for (let at = node; at; at = walker.nextNode()) {
      if (at.nodeType === Node.TEXT_NODE) markText(at);
      else if (at.nodeType === Node.ELEMENT_NODE) {
        if (at.shadowRoot) watch(at.shadowRoot);
        if (at.matches(FIELDS)) lookAt(at);
      }
    }
  }

  function textsIn(element) {
    const walker = document.createTreeWalker(element, NodeFilter.SHOW_TEXT);
    const found = [];
    for (let at = walker.nextNode(); at; at = walker.nextNode()) found.push(at);
    return found;
  }

  /** Covers all texts of the smallest element around a text that repeats a secret in another spelling or in parts. */
  function markDisguised(node) {
    if (!disguises.length || !node.data.trim()) return;
    let around = node.parentElement;
    for (let level = 0; around && level < MOST_LEVELS; level += 1, around = around.parentElement) {
      if (around.textContent.length > MOST_SPLIT) return;
      const nodes = textsIn(around);
      const parts = [""]; // a text with the secret as it is is covered by itself
      for (const each of nodes) {
        if (tells(each.data)) parts.push("");
        else parts[parts.length - 1] += each.data;
      }
      if (!parts.some(disguised)) continue;
      for (const each of nodes) {
        const range = new Range();
        range.selectNodeContents(each);
        marks.add(range);
      }
      return;
    }
  }

  function markText(node) {
    if (!tells(node.data)) {
      markDisguised(node);
      return;
    }
    const field = node.parentElement && node.parentElement.closest("textarea, select, [contenteditable]");
    if (field) cover(field);
    if (marks.size > MOST_MARKS) for (const range of [...marks]) if (!range.startContainer.isConnected) marks.delete(range);
    for (const secret of secrets) {
      for (let at = node.data.indexOf(secret); at >= 0; at = node.data.indexOf(secret, at + secret.length)) {
        const range = new Range();
        range.setStart(node, at);
        range.setEnd(node, at + secret.length);
        marks.add(range);
      }
    }
  }

  function lookAt(field) {
    const chosen = field.selectedOptions ? [...field.selectedOptions].map((option) => option.textContent) : [];
    if (tells(field.value) || begins(field.value) || disguised(field.value) || chosen.some(tells)) cover(field);
  }

  function cover(field) {
    const rule = ruleFor(field);
    if (rules.has(rule)) return;
    rules.add(rule);
    for (const sheet of sheets) sheet.replaceSync(style());
  }

  function ruleFor(el) {
    if (el.id) return `#${CSS.escape(el.id)}`;
    const name = el.getAttribute("name");
    if (name) return `${el.localName}[name="${CSS.escape(name)}"]`;
    const path = [];
    for (let at = el; at && at.nodeType === Node.ELEMENT_NODE; at = at.parentElement) {
      const place = at.parentNode ? [...at.parentNode.children].indexOf(at) + 1 : 1;
      path.unshift(at.parentNode === document ? ":root" : `${CSS.escape(at.localName)}:nth-child(${place})`);
    }
    return path.join(" > ");
  }

  function lookAtAll() {
    for (const ref of roots) {
      const root = ref.deref();
      if (!root) continue;
      for (const field of root.querySelectorAll(FIELDS)) lookAt(field);
      for (const each of root.querySelectorAll("*")) if (each.shadowRoot) watch(each.shadowRoot);
    }
  }

  let looking = false;

  /** Runs before the next picture: a script may have added a shadow root or changed a field's value. */
  function lookSoon() {
    if (looking) return;
    looking = true;
    requestAnimationFrame(() => {
      looking = false;
      lookAtAll();
    });
  }

  const observer = new MutationObserver((changes) => {
    lookSoon();
    for (const change of changes) {
      if (change.type === "childList") for (const node of change.addedNodes) scan(node);
      else if (change.type === "characterData") markText(change.target);
      else lookAt(change.target);
    }
  });
  CSS.highlights.set(NAME, marks);
  watch(document);
  lookSoon();
  for (const kind of ["input", "change"]) document.addEventListener(kind, lookAtAll, { capture: true, passive: true });
  setInterval(lookAtAll, LOOK_MS);
}
