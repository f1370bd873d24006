// Tells the recorder what a person does in this document, and how the page was just before.
//
// It only listens: in the capture phase, before the page's own listeners, and changes no element. The badge
// is painted by a style sheet of the document: it is in no tree that the page or a snapshot could see.
// `send` takes three texts: what happened, the page (8_snapshot.js) and the index (9_index.js), or "".
(() => {
  const KEY = Symbol.for("periplus.recording.1");
  const LIBRARY = Symbol.for("periplus.page.1");
  const BINDING = "__periplusHeard";
  if (window[KEY]) return;
  Object.defineProperty(window, KEY, { value: true });
  const send = window[BINDING];
  delete window[BINDING];
  if (typeof send !== "function") return;

  const OPERABLE =
    "a, area[href], button, input, select, textarea, summary, option, label, [onclick], [contenteditable]:not([contenteditable='false'])," +
    "button,link,checkbox,radio,switch,tab,menuitem,menuitemcheckbox,menuitemradio,option,combobox,textbox,searchbox,slider,spinbutton,treeitem"
      .split(",")
      .map((role) => `[role='${role}']`)
      .join(",");
  const holdsSecret = "SECRET_FIELDS"; // secret_fields.js
  const UNTYPED = new Set(["button", "submit", "reset", "image", "checkbox", "radio", "file", "hidden"]);
  const MODIFIERS = new Set(["Shift", "Control", "Alt", "Meta", "AltGraph", "CapsLock", "Dead", "Process", "Unidentified"]);
  const EDITING = new Set(["a", "c", "v", "x", "y", "z"]);
  const PRESSED = new Set(["Enter", " "]);
  const NativeError = Error;
  const document_ = Math.random().toString(36).slice(2);
  const passwords = new WeakSet(); // fields that were password fields once stay secret

  let typing = null; // { el, id, seen }: the field that is being typed into
  let latest = null; // { el, seen, clicked }: the page before the press or key that is under way
  let lastKey = null; // { key, el }: until its click, if it makes one
  let keyed = null; // { el, value }: the field that gets a key, until it says that its text changed
  let ticking = null; // { el, seen }: the box that was clicked, until it changes
  let clicked = null; // what was taken for clicked, since no click came to it
  let count = 0;

  const tag = (el) => el.localName;
  const inputType = (el) => (tag(el) === "input" ? el.type : null);
  const isToggle = (el) => inputType(el) === "checkbox" || inputType(el) === "radio";
  const editable = (el) => el.isContentEditable === true;
  const isText = (el) => tag(el) === "textarea" || (tag(el) === "input" && !UNTYPED.has(el.type)) || editable(el);
  const origin = (event) => event.composedPath()[0];
  const said = (option) => option.label.trim() || option.value;

  function isSecret(el) {
    if (inputType(el) === "password") passwords.add(el);
    return passwords.has(el) || holdsSecret(el) || el.hasAttribute("data-pp-secret");
  }

  function flatParent(node) {
    return node.assignedSlot || node.parentElement || (node.getRootNode() instanceof ShadowRoot ? node.getRootNode().host : null);
  }

  /** The element a person means who points at this one: the control around it, else itself. */
  function meant(node) {
    const start = node.nodeType === 1 ? node : node.parentElement;
    for (let el = start; el; el = flatParent(el)) {
      if (!el.matches(OPERABLE)) continue;
      if (!editable(el)) return el;
      while (el.parentElement?.isContentEditable) el = el.parentElement;
      return el;
    }
    return start && around(start);
  }

  /** What an icon without words is the sign of: the element around it, while that shows a control's pointer.
   *
   * Not where others like it stand beside it (stars, swatches): each of them is a control.
   */
  function around(start) {
    let el = start;
    while (el.ownerSVGElement) el = el.ownerSVGElement;
    while (tag(el) === "svg" || !(el.textContent.trim() || el.getAttribute("aria-label") || el.title || el.alt)) {
      const above = flatParent(el);
      if (!above || getComputedStyle(above).cursor !== "pointer") break;
      if ([...above.children].some((each) => each !== el && tag(each) === tag(el)) || above.querySelector(OPERABLE)) break;
      el = above;
    }
    return el;
  }

  function outermost() {
    let view = window;
    try {
      while (view.parent !== view && view.parent.document) view = view.parent;
    } catch {
      // the frame around it is another site's
    }
    return view;
  }

  /** The page as it is now, the element marked in it. */
  function look(el) {
    const view = outermost();
    const library = view[LIBRARY];
    if (!library) return null;
    const marked = JSON.parse(library.lookAt(el));
    const page = library.snapshot("[]", marked);
    const index = library.index('{"everything":false,"question":null}');
    const { token, elements } = JSON.parse(index);
    let at = elements.length - 1;
    while (at >= 0 && library.pick(token, at) !== el) at -= 1;
    return { page, index: at < 0 ? "" : index, at, foreign: view !== window.top, signs: library.refusalSigns() };
  }

  function tell(kind, el, seen, more = {}) {
    if (typing && kind !== "typed") typing.told = false; // what is typed on after this has to say where
    const what = {
      kind, at: seen ? seen.at : -1, foreign: seen ? seen.foreign : false, url: document.URL, time: Date.now(),
      tag: el ? tag(el) : null, field: el ? isText(el) : false, secret: el ? isSecret(el) : false,
      pointer: el ? getComputedStyle(el).cursor === "pointer" : false, fading: el ? isFading(el) : false,
      around: el ? isAround(el) : false,
      signs: seen ? seen.signs : null, ...more,
    };
    send([JSON.stringify(what), seen ? seen.page : "", seen ? seen.index : ""]);
  }

  /** Whether it has no words and is being drawn in or out, such as the backdrop of a dialog: the page changes on its own. */
  function isFading(el) {
    return !el.textContent.trim() && el.getAnimations().some((each) => each.playState === "running" && each.effect.getComputedTiming().endTime !== Infinity);
  }

  /** Whether it has no words of its own and holds controls: a click on it went between them. */
  function isAround(el) {
    const own = [...el.childNodes].some((node) => node.nodeType === 3 && node.data.trim());
    return !own && el.querySelector("a[href], button, input, select, textarea") !== null;
  }

  /** The page before what is under way on this element. */
  function before(el) {
    if (latest && latest.el === el) return latest.seen;
    return look(el);
  }

  function begin(el) {
    isSecret(el);
    if (typing && typing.el === el) return;
    latest = { el, seen: look(el) };
  }

  // -- pointer -------------------------------------------------------------------------------------

  function pointerDown(event) {
    if (!event.isTrusted || event.button !== 0) return;
    const pressed = meant(origin(event));
    clicked = lastKey = null;
    if (!pressed) return;
    const el = (tag(pressed) === "label" && pressed.control) || pressed;
    begin(el);
    if (typing && typing.el === el) latest = { el, seen: typing.seen };
    if (latest) latest.pressed = pressed;
  }

  function pointerUp(event) {
    if (!event.isTrusted || event.button !== 0 || !latest) return;
    const under = latest;
    if (under.el.isConnected) {
      under.covered = isCovered(under.el, event);
      // Menus take their options away at `mouseup`, which comes after this and before a click.
      setTimeout(() => latest === under && !under.clicked && (under.covered || !under.el.isConnected) && takeForClicked(), 0);
    } else {
      takeForClicked();
      clicked = under;
    }
  }

  /** Whether the pointer is where the control is, and the page has put something over it, or made it deaf: a menu that
   * opens at `pointerdown`. Who moves the pointer away before letting go does not press.
   */
  function isCovered(el, event) {
    if (isText(el) || isToggle(el) || tag(el) === "select" || event.composedPath().includes(el)) return false;
    const box = el.getBoundingClientRect();
    return event.clientX >= box.left && event.clientX <= box.right && event.clientY >= box.top && event.clientY <= box.bottom;
  }

  /** The page took away or covered what was pressed: no click comes to it, or one comes to what was around it. */
  function takeForClicked() {
    tell("click", latest.el, latest.seen);
    latest = null;
  }

  function click(event) {
    if (!event.isTrusted || event.button !== 0) return;
    if (clicked) {
      clicked = null;
      return;
    }
    if (event.detail > 0 && latest && (latest.covered || !latest.el.isConnected)) {
      takeForClicked();
      return;
    }
    // Let go elsewhere: the click comes to what is around both places. That of a label's control comes to the control alone.
    const path = event.composedPath();
    if (event.detail > 0 && latest?.pressed && !path.includes(latest.pressed) && !path.includes(latest.el)) return;
    if (latest) latest.clicked = true;
    const el = meant(origin(event));
    if (!el || tag(el) === "select" || tag(el) === "option" || inputType(el) === "file") return;
    if (isToggle(el)) {
      tick(el);
      return;
    }
    const control = tag(el) === "label" ? el.control : null;
    if (control) return; // its own click follows, or it only takes the focus
    if (event.detail === 0 && event.pointerType === "") {
      const own = lastKey && PRESSED.has(lastKey.key) && lastKey.el === el;
      lastKey = null;
      if (!own) return; // a form was sent with Enter: the browser presses its button
    }
    typing = isText(el) ? typing : null;
    tell("click", el, before(el));
    if (!isText(el)) latest = null;
  }

  function doubleClick(event) {
    const el = event.isTrusted ? meant(origin(event)) : null;
    if (!el || isText(el) || isToggle(el)) return;
    // A click on an option is told as the choice it makes: only here is it seen where it was.
    if (tag(el) === "option") tell("double_click", el, before(el), { chosen: [said(el)] });
    else tell("double_click", el, null);
  }

  /** A box was clicked. Where the page lets it change, `change` comes at once; else it was only clicked. */
  function tick(el) {
    const under = { el, seen: before(el) };
    ticking = under;
    setTimeout(() => {
      if (ticking !== under) return;
      ticking = null;
      if (inputType(el) === "radio" && el.checked) tell("tick", el, under.seen, { checked: true });
      else tell("click", el, under.seen);
    }, 0);
  }

  // -- keyboard ------------------------------------------------------------------------------------

  function keyDown(event) {
    if (!event.isTrusted || event.isComposing || MODIFIERS.has(event.key) || event.key === "Tab") return;
    const el = meant(origin(event)) || document.body;
    const text = isText(el);
    if (text) begin(el);
    const held = [["Control", event.ctrlKey], ["Alt", event.altKey], ["Meta", event.metaKey]].filter((each) => each[1]).map((each) => each[0]);
    if (PRESSED.has(event.key) && !held.length && !text && el.matches(OPERABLE)) {
      lastKey = { key: event.key, el };
      begin(el);
      return;
    }
    lastKey = null;
    if ((event.ctrlKey || event.metaKey) && EDITING.has(event.key.toLowerCase())) return;
    if (tag(el) === "select" || isToggle(el)) {
      begin(el);
      return;
    }
    const plain = event.key.length === 1 && !held.length;
    if (text && (plain || event.key === "Backspace" || event.key === "Delete")) {
      keyed = keyed?.el === el ? keyed : { el, value: textIn(el) };
      return;
    }
    if (event.shiftKey && event.key.length > 1) held.push("Shift");
    const key = [...held, event.key === " " ? "Space" : event.key].join("+");
    const certain = event.key === "Escape" || (event.key === "Enter" && tag(el) === "input") || (plain && !text);
    const seen = look(el);
    if (certain) tell("key", el, seen, { key, focused: el !== document.body });
    // Other keys move carets and scroll, unless the page does something else with them.
    else setTimeout(() => event.defaultPrevented && tell("key", el, seen, { key, focused: el !== document.body }), 0);
  }

  /** A script took the key and wrote the text itself, without an event: masks and some editors do. */
  function keyUp(event) {
    if (!event.isTrusted || !keyed) return;
    const { el, value } = keyed;
    keyed = null;
    if (el.isConnected && textIn(el) !== value) tellTyped(el);
  }

  // -- fields --------------------------------------------------------------------------------------

  /** Whether a field's event comes from a person, or from what fills fields for one: a password manager, a driver.
   *
   * Those dispatch events from a world of their own, whose code is not on the stack; a script of the page is. Below
   * a listener that calls this, there are two calls.
   */
  function isGiven(event) {
    if (event.isTrusted) return true;
    const { stack } = new NativeError();
    return NativeError.stackTraceLimit > 2 && typeof stack === "string" && stack.split("\n    at ").length === 3;
  }

  function beforeInput(event) {
    const el = event.isTrusted ? meant(origin(event)) : null;
    if (el && isText(el)) begin(el);
  }

  function input(event) {
    const el = isGiven(event) ? meant(origin(event)) : null;
    if (!el || !isText(el)) return;
    if (keyed?.el === el) keyed = null;
    tellTyped(el);
  }

  // biome-ignore lint/performance/useDomNodeTextContent: only this text has the line breaks a person sees
  const textIn = (el) => (editable(el) ? el.innerText : el.value);

  function tellTyped(el) {
    if (!typing || typing.el !== el) {
      count += 1;
      typing = { el, id: `${document_}-${count}`, seen: before(el), told: false };
    }
    tell("typed", el, typing.told ? null : typing.seen, { id: typing.id, value: textIn(el) });
    typing.told = true;
  }

  function change(event) {
    const given = isGiven(event);
    const el = origin(event);
    if (!(el instanceof Element)) return;
    if (inputType(el) === "file" && el.files.length) {
      tell("uploaded", el, before(el), { files: [...el.files].map((file) => file.name) });
    } else if (tag(el) === "select" && given) {
      const chosen = [...el.selectedOptions].map(said);
      tell("chosen", el, before(el), { chosen });
    } else if (isToggle(el) && given) {
      const seen = ticking && ticking.el === el ? ticking.seen : before(el);
      tell("tick", el, seen, { checked: el.checked });
      ticking = null;
    } else return;
    typing = latest = null;
  }

  function blur(event) {
    if (typing && event.target === typing.el) typing = null;
  }

  // -- the badge -----------------------------------------------------------------------------------

  const sheet = new CSSStyleSheet();

  function badge() {
    if (window !== window.top || document.adoptedStyleSheets.includes(sheet)) return;
    const free = getComputedStyle(document.documentElement, "::after").content === "none";
    sheet.replaceSync(`html::${free ? "after" : "before"} {
      all: initial !important; content: "\\25cf  recording" !important; position: fixed !important;
      right: 10px !important; bottom: 10px !important; z-index: 2147483647 !important; pointer-events: none !important;
      padding: 5px 10px !important; border-radius: 12px !important; background: rgba(153, 27, 27, 0.85) !important;
      color: #fff !important; font: 600 12px/1.2 system-ui, sans-serif !important; }
      @media print { html::after, html::before { display: none !important; } }`);
    document.adoptedStyleSheets = [...document.adoptedStyleSheets, sheet];
  }

  const LISTENERS = {
    pointerdown: pointerDown, pointerup: pointerUp, click, dblclick: doubleClick, keydown: keyDown, keyup: keyUp,
    beforeinput: beforeInput, input, change, blur,
  };
  function notePasswords() {
    badge();
    outermost()[LIBRARY]?.hideFields(isSecret);
    for (const el of document.querySelectorAll("input[type='password']")) passwords.add(el);
  }

  /** Listen, also once more: a listener that is there is not added again. */
  function listen() {
    for (const [kind, listener] of Object.entries(LISTENERS)) {
      window.addEventListener(kind, listener, { capture: true, passive: true });
    }
    for (const kind of ["DOMContentLoaded", "load", "focus"]) {
      window.addEventListener(kind, notePasswords, { capture: true });
    }
  }

  listen();
  // `document.open` removes all listeners of the window: editors write their frames in this way.
  for (const name of ["open", "write", "writeln"]) {
    const own = Document.prototype[name];
    Document.prototype[name] = function (...given) {
      const made = own.apply(this, given);
      if (this === document) listen();
      return made;
    };
  }
})();
