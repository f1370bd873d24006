// Tells the recorder what a person does in this document, and how the page was just before.
//
// It only listens: in the capture phase, before the page's own listeners, and changes no element. The badge
// is painted by a style sheet of the document: it is in no tree that the page or a snapshot could see.
// A page may replace whatever it shares with this script: what tells Python, and what calls this script, is kept from before.
// `send` takes three texts: what happened, the page (8_snapshot.js) and the index (9_index.js), or "".
(() => {
  "use strict"; // a function of the page that is called from here must not reach what called it
  const KEY = Symbol.for("periplus.recording.1");
  const LIBRARY = Symbol.for("periplus.page.1");
  if (window[KEY]) return;
  const given = { files: [] }; // the files that were chosen last: some pages take them away at once
  Object.defineProperty(window, KEY, { value: given });
  const channel = "PAGE_CHANNEL"; // page_channel.js
  const quote = JSON.stringify;
  const send = (what, page, index) => channel.tell(`[${quote(what)},${quote(page)},${quote(index)}]`);
  const call = Function.prototype.call;
  const addListener = call.bind(EventTarget.prototype.addEventListener, window);
  const startTimer = setTimeout.bind(window);
  const apply = call.bind(Function.prototype.apply);
  const applyTo = Reflect.apply;

  const OPERABLE =
    "a, area[href], button, input, select, textarea, summary, option, label, [onclick], [contenteditable]:not([contenteditable='false'])," +
    "button,link,checkbox,radio,switch,tab,menuitem,menuitemcheckbox,menuitemradio,option,combobox,textbox,searchbox,slider,spinbutton,treeitem,gridcell"
      .split(",")
      .map((role) => `[role='${role}']`)
      .join(",");
  const holdsSecret = "SECRET_FIELDS"; // secret_fields.js
  const CONTROLS = `a[href], button, input, select, textarea, [role='columnheader'], ${OPERABLE.slice(OPERABLE.indexOf("[role="))}`;
  const NATIVE = "a[href], area[href], button, input, select, summary, option, label";
  const UNTYPED = new Set(["button", "submit", "reset", "image", "checkbox", "radio", "file", "hidden"]);
  const MODIFIERS = new Set(["Shift", "Control", "Alt", "Meta", "AltGraph", "CapsLock", "Dead", "Process", "Unidentified"]);
  const EDITING = new Set(["a", "c", "v", "x", "y", "z"]);
  const MARKS = "b, strong, i, em, u, s, a, ul, ol, blockquote, pre, code, h1, h2, h3, table";
  const UNDOING = new Set(["y", "z"]);
  const PRESSED = new Set(["Enter", " "]);
  const DRAWN_MS = 60;
  const NativeError = Error;
  const { defineProperty, getOwnPropertyDescriptor } = Reflect;
  const listenTo = call.bind(EventTarget.prototype.addEventListener);
  const getter = (kind, name) => call.bind(getOwnPropertyDescriptor(kind.prototype, name).get);
  const matches = call.bind(Element.prototype.matches);
  const contains = call.bind(Node.prototype.contains);
  const composedPath = call.bind(Event.prototype.composedPath);
  const find = call.bind(String.prototype.indexOf);
  const LABELS = [HTMLInputElement, HTMLTextAreaElement, HTMLSelectElement].map((kind) => getter(kind, "labels"));
  const clock = Date.now.bind(Date); // a page may replace its clock, even by one without `now`
  const document_ = Math.random().toString(36).slice(2);
  const passwords = new WeakSet(); // fields that were password fields once stay secret

  let typing = null; // { el, id, seen }: the field that is being typed into
  let latest = null; // { el, seen, clicked }: the page before the press or key that is under way
  let lastKey = null; // { key, el }: until its click, if it makes one
  let keyed = null; // { el, value }: the field that gets a key, until it says that its text changed
  let written = null; // { el, text }: what an editor held before it was typed into
  let ticking = null; // { el, seen }: the box that was clicked, until it changes
  let clicked = null; // what was taken for clicked, since no click came to it
  let count = 0;
  let told = 0; // so many events were told
  let held = null; // the press of the left button that is under way, until it is a click or a drag
  let unheard = null; // { press, button }: a press of which nothing was told yet
  let other = null; // { el, seen }: what the right or middle button was pressed on
  let dragged = false; // the click that follows a drag is none
  let lost = ""; // the error that was told last, and the press it was of
  let pressedAt = 0; // when a button or key was pressed last
  let pressedOn = null; // what a button or key was pressed on last
  let clickedOn = null; // what the last click came to, if it was a person's
  let announced = null; // the field of which the browser said that its text is about to change
  let pointed = null; // { el, at }: what the pointer is over, and since when
  let spot = null; // where the pointer was last
  let pressSpot = null; // where a button was pressed last
  let loaded = 0; // when the page was loaded
  const fields = new WeakMap(); // field -> its number in this document
  let fieldCount = 0;
  const revealed = new WeakMap(); // element -> what the pointer was over when it appeared

  const tag = (el) => el.localName;
  const inputType = (el) => (tag(el) === "input" ? el.type : null);
  const isToggle = (el) => inputType(el) === "checkbox" || inputType(el) === "radio";
  const editable = (el) => el.isContentEditable === true;
  const isText = (el) => tag(el) === "textarea" || (tag(el) === "input" && !UNTYPED.has(el.type)) || editable(el);
  const origin = (event) => composedPath(event)[0];
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
      if (!editable(el)) return ownControl(start, el);
      while (el.parentElement?.isContentEditable) el = el.parentElement;
      return el;
    }
    return start && around(start);
  }

  /** The part of a control that is one of its own, such as the cross of a tag: it shows a control's pointer, which the rest does not. */
  function ownControl(start, el) {
    if (start === el || tag(el) === "label" || getComputedStyle(el).cursor === "pointer") return el;
    let own = null;
    for (let part = start; part && part !== el; part = flatParent(part)) if (getComputedStyle(part).cursor === "pointer") own = part;
    return own || el;
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

  /** The page as it is now, the element marked in it; without the page and with the reason where it cannot be read. */
  function look(el) {
    const view = outermost();
    try {
      return readPage(view[LIBRARY], el, view !== window.top);
    } catch (error) {
      return { page: "", index: "", at: -1, foreign: view !== window.top, signs: null, unread: String(error) };
    }
  }

  function readPage(library, el, foreign) {
    const marked = JSON.parse(library.lookAt(el));
    const page = library.snapshot("[]", marked);
    const index = library.index('{"everything":false,"question":null}');
    const { token, elements } = JSON.parse(index);
    let at = elements.length - 1;
    while (at >= 0 && library.pick(token, at) !== el) at -= 1;
    return { page, index: at < 0 ? "" : index, at, foreign, signs: library.refusalSigns(), unread: "" };
  }

  function tell(kind, el, seen, more = {}) {
    told += 1;
    if (typing && kind !== "typed") typing.told = false; // what is typed on after this has to say where
    const what = {
      kind, at: seen ? seen.at : -1, foreign: seen ? seen.foreign : false, url: document.URL, time: clock(),
      tag: el ? tag(el) : null, field: el ? isText(el) : false, secret: el ? isSecret(el) : false,
      pointer: el ? getComputedStyle(el).cursor === "pointer" : false, fading: el ? isFading(el) : false,
      around: el ? isAround(el) : false, node: el && isText(el) ? numberOf(el) : null,
      signs: seen ? seen.signs : null, unread: seen ? seen.unread : "", ...more,
    };
    send(channel.write(what), seen ? seen.page : "", seen ? seen.index : "");
  }

  /** Tell Python what it has to know without a page: that this document listens, that something was pressed, what was lost. */
  function tellBare(kind, unread = "") {
    send(channel.write({ kind, at: -1, foreign: false, url: document.URL, time: clock(), tag: null, field: false, secret: false, unread }), "", "");
  }

  /** The function, which tells what it could not do: an error must not lose in silence what a person did. */
  function guarded(listener) {
    return (...given) => {
      try {
        return listener(...given);
      } catch (error) {
        const reason = `${pressedAt} ${error}`;
        if (reason !== lost) tellBare("lost", String(error)); // once for each press
        lost = reason;
        return null;
      }
    };
  }

  const later = (work, afterMs) => startTimer(guarded(work), afterMs);

  /** Count what a person presses, whatever becomes of it. */
  function countPress(event) {
    if (event.isTrusted && !MODIFIERS.has(event.key)) pressedOn = origin(event);
    if (event.isTrusted && !(event.type === "keydown" && MODIFIERS.has(event.key))) tellBare("pressed");
  }

  function numberOf(el) {
    if (!fields.has(el)) {
      fieldCount += 1;
      fields.set(el, `${document_}-${fieldCount}`);
    }
    return fields.get(el);
  }

  /** Whether it has no words and is being drawn in or out, such as the backdrop of a dialog: the page changes on its own. */
  function isFading(el) {
    return !el.textContent.trim() && el.getAnimations().some((each) => each.playState === "running" && each.effect.getComputedTiming().endTime !== Infinity);
  }

  /** Whether it has no words of its own and holds controls: a click on it went between them. */
  function isAround(el) {
    if (el === document.documentElement || el === document.body) return true;
    const own = [...el.childNodes].some((node) => node.nodeType === 3 && node.data.trim());
    return !own && el.querySelector(CONTROLS) !== null;
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
    if (!event.isTrusted) return;
    askNow();
    const pressed = meant(origin(event));
    if (pressed) tellHover(pressed);
    pressedAt = clock();
    pressSpot = { clientX: event.clientX, clientY: event.clientY };
    clicked = lastKey = held = other = null;
    dragged = false;
    if (!pressed) return;
    if (event.button !== 0) {
      other = { el: pressed, seen: look(pressed), told };
      return;
    }
    const el = (tag(pressed) === "label" && pressed.control) || pressed;
    begin(el);
    if (typing && typing.el === el) latest = { el, seen: typing.seen };
    if (latest) latest.pressed = pressed;
    held = holdPress(event, el);
  }

  function pointerUp(event) {
    if (!event.isTrusted) return;
    if (event.button !== 0) {
      if (other) askLater(other, event.button === 1 ? "the middle button" : "the right button");
      return;
    }
    const press = held;
    held = null;
    if (press) endPress(press, event);
    if (!latest) return;
    const under = latest;
    if (under.el.isConnected) {
      under.covered = isCovered(under.el, event);
      // Menus take their options away at `mouseup`, which comes after this and before a click.
      later(() => latest === under && !under.clicked && (under.covered || !under.el.isConnected) && takeForClicked(), 0);
    } else {
      takeForClicked();
      clicked = under;
    }
  }

  // -- dragging, sliders, other buttons, pointing ---------------------------------------------------

  const DRAG_PX = 8; // less is a slip of the hand
  const REVEALED_MS = 1500; // what appears later has nothing to do with the pointer
  const AFTER_PRESS_MS = 350; // what appears sooner after a press comes from the press
  const POINTED_MS = 50; // what appears so soon after the pointer came is its doing
  const LOADED_MS = 400; // scripts go on making a page for so long after it was loaded
  const LARGEST_PART = 0.4; // a larger share of the window is the page, no menu
  const MOST_BOXES = 5000;
  const TRACK_PX = 64; // the track of a slider is thinner
  const NEAR_PX = 40; // between an element and what opens beside it
  const LEAST_SURFACE_PX = 100; // a smaller cell means one thing
  const ASK_AFTER_MS = 250; // a page that does something after a press has begun by then
  const SLIDER = "[role='slider'], input[type='range']";

  /** What is known of a press when it begins: where it is, and the sliders around it with their values. */
  function holdPress(event, el) {
    const raw = origin(event);
    const text = isText(el) && inputType(el) !== "range";
    const sliders = text ? [] : slidersAround(raw).map((slider) => ({ el: slider, value: slidTo(slider), seen: look(slider) }));
    const seen = latest?.el === el ? latest.seen : look(el);
    return { el, raw, seen, sliders, text, told, box: el.getBoundingClientRect(), x: event.clientX, y: event.clientY, moved: false, over: null, added: [], boxes: new WeakMap() };
  }

  const slidTo = (slider) => (tag(slider) === "input" ? slider.value : slider.getAttribute("aria-valuenow"));

  function slidersAround(raw) {
    let el = raw;
    for (let level = 0; el && el !== document.body && level < 4; level += 1, el = flatParent(el)) {
      if (el.matches(SLIDER)) return inputType(el) === "range" && isText(el) && el === raw ? [] : [el];
      const { width, height } = el.getBoundingClientRect();
      const inside = Math.min(width, height) <= TRACK_PX ? [...el.querySelectorAll(SLIDER)] : [];
      if (inside.length) return inside.length < 4 ? inside : [];
    }
    return [];
  }

  function pointerMove(event) {
    if (!event.isTrusted) return;
    spot = { x: event.clientX, y: event.clientY };
    if (!held) return;
    if (Math.hypot(event.clientX - held.x, event.clientY - held.y) >= DRAG_PX) beginDrag();
    if (held.moved && !held.text) noteOver(event);
  }

  /** Note where everything is before the page makes room for what is dragged. */
  function beginDrag() {
    if (held.moved) return;
    held.moved = true;
    if (held.text || held.sliders.length) return;
    for (const each of [...document.querySelectorAll("body *")].slice(0, MOST_BOXES)) held.boxes.set(each, each.getBoundingClientRect());
  }

  /** Note what the pointer is over with what it carries.
   *
   * That is none of what it carries, no copy of it that the page made for the drag, and not what is around it: a drag
   * that ends there only moves it, and so does one of a border.
   */
  function noteOver(event) {
    const { el, box, raw, added, over } = held;
    if (getComputedStyle(raw).cursor.endsWith("resize")) return;
    const now = el.getBoundingClientRect();
    const stays = Math.abs(now.left - box.left) < 2 && Math.abs(now.top - box.top) < 2;
    const seen = document.elementsFromPoint(event.clientX, event.clientY);
    const under = seen.find((each) => !added.some((one) => one.contains(each)) && (stays || !el.contains(each)));
    if (!under) return;
    if (under.contains(el) || (stays && seen.includes(el))) {
      // A list that makes room at once has moved the carried entry here: what was here before is meant.
      if (over && !isInside(over.box, event)) held.over = null;
    } else if (over?.el !== under) held.over = { el: under, box: held.boxes.get(under) || under.getBoundingClientRect(), at: null };
    if (held.over) held.over.at = fractions(held.over.box, event);
  }

  const fractions = (box, event) => [(event.clientX - box.left) / (box.width || 1), (event.clientY - box.top) / (box.height || 1)].map((each) => Math.round(each * 10000) / 10000);

  const isInside = (box, event) => event.clientX >= box.left && event.clientX <= box.right && event.clientY >= box.top && event.clientY <= box.bottom;

  /** The left button was let go: a slider was set, something was dragged, or it is an ordinary click. */
  function endPress(press, event) {
    if (press.sliders.length) {
      dragged = press.moved;
      later(() => tellSliders(press) || (press.moved ? tellDrag(press, event) : askLater(press, "", 0)), DRAWN_MS);
      latest = press.moved || press.sliders.some((each) => each.value !== slidTo(each.el)) ? null : latest;
      if (!latest) dragged = true;
    } else if (isDrag(press, event)) {
      tellDrag(press, event);
      latest = null;
      dragged = true;
    } else askLater(press, "");
  }

  function isDrag(press, event) {
    if (!press.moved || press.text || tag(press.el) === "select") return false;
    if (press.el === document.documentElement || press.el === document.body) return false; // nothing carries the page itself
    if (!press.changed && !document.getSelection().isCollapsed) return false; // it selected text
    if (!press.changed && press.el.matches(NATIVE) && !press.el.draggable) return false; // it was let go elsewhere
    const inside = press.el.isConnected && press.el.contains(document.elementFromPoint(event.clientX, event.clientY));
    // What marks the chosen cells of a calendar may be inside the first of them.
    return !inside || !press.el.matches(OPERABLE) || press.el.getAttribute("role") === "gridcell" || press.el.draggable || press.el.hasAttribute("aria-roledescription");
  }

  function tellDrag(press, event, more = {}) {
    const grab = fractions(press.box, { clientX: press.x, clientY: press.y });
    const over = press.over?.el.isConnected ? look(press.over.el) : null;
    const drop = (press.over ? over : press.seen)?.page || "";
    tell("drag", press.el, press.seen, { grab, place: press.over?.at || fractions(press.box, event), drop, ...spotOn(press.el, event), ...more });
  }

  /** Where the pointer is on what means something else at each place: a drawing, or the column of a calendar's hours. */
  function spotOn(el, event) {
    const drawing = tag(el) === "canvas";
    const box = el.getBoundingClientRect();
    if (!drawing && (el.getAttribute("role") !== "gridcell" || el.textContent.trim() || Math.min(box.width, box.height) < LEAST_SURFACE_PX)) return {};
    // A click has whole pixels only; the press before it is exact.
    const near = pressSpot && Math.abs(pressSpot.clientX - event.clientX) < 1 && Math.abs(pressSpot.clientY - event.clientY) < 1;
    return { spot: fractions(box, near ? pressSpot : event), drawing: drawing ? [Math.round(event.offsetX), Math.round(event.offsetY)] : null };
  }

  function tellSliders(press) {
    const changed = press.sliders.filter((each) => each.el.isConnected && slidTo(each.el) !== each.value);
    for (const { el, seen } of changed) {
      count += 1;
      tell("typed", el, seen, { id: `${document_}-${count}`, value: slidTo(el) });
    }
    return changed.length > 0;
  }

  /** The browser's own drag and drop: no pointer event comes any more. */
  function dragOver(event) {
    if (!event.isTrusted || !held) return;
    beginDrag();
    noteOver(event);
  }

  function dropped(event) {
    if (!event.isTrusted || !held) return;
    const press = held;
    held = latest = null;
    tellDrag(press, event, { accepted: true });
  }

  function dragEnd(event) {
    if (!event.isTrusted || !held) return;
    const press = held;
    held = latest = null;
    if (press.over && press.over.el.isConnected) tellDrag(press, event);
  }

  function contextMenu(event) {
    if (!event.isTrusted || !other) return;
    const { el, seen } = other;
    // Where the page leaves it alone, the browser shows a menu of its own, which is no part of the page.
    const spot = spotOn(el, event);
    later(() => event.defaultPrevented && tell("right_click", el, seen, spot), 0);
  }

  /** Ask about a press of which nothing was told, if the page has changed: Python compares both pages.
   *
   * What is pressed next is not waited for: the question comes before it.
   */
  function askLater(press, button, afterMs = ASK_AFTER_MS) {
    unheard = { press, button };
    const mine = unheard;
    later(() => unheard === mine && askNow(), afterMs);
  }

  function askNow() {
    if (!unheard) return;
    const { press, button } = unheard;
    unheard = null;
    if (press.told !== told) return;
    const now = look(press.el.isConnected ? press.el : document.body);
    if (now) tell("unheard", press.el, press.seen, { after: now.page, button });
  }

  /** What comes into view by scrolling does not appear because of the pointer. */
  function scrolled() {
    pressedAt = clock();
  }

  /** The browser also tells a new page of a pointer that rests where it is: only one that moves points at something. */
  function pointerOver(event) {
    if (!event.isTrusted) return;
    const moved = spot && (spot.x !== event.clientX || spot.y !== event.clientY);
    spot = { x: event.clientX, y: event.clientY };
    if (moved && !event.buttons) pointed = { el: meant(origin(event)), at: clock() };
  }

  /** What appears beside the pointer, without a press, appears because of it. */
  function noteRevealed(changes) {
    const now = clock();
    if (held?.moved) held.changed = true;
    if (held) for (const change of changes) held.added.push(...[...change.addedNodes].filter((node) => node.nodeType === 1 && node !== held.el));
    const making = document.readyState !== "complete" || performance.now() - loaded < LOADED_MS;
    if (making && !(pointed && now - pointed.at < POINTED_MS)) return; // it is still being made, and not because of the pointer
    if (!pointed?.el || now - pointed.at > REVEALED_MS || now - pressedAt < AFTER_PRESS_MS || pressedAt > pointed.at) return;
    for (const change of changes) {
      const shown = change.type === "childList" ? [...change.addedNodes] : wasHidden(change) ? [change.target] : [];
      for (const node of shown) if (node.nodeType === 1 && !node.contains(pointed.el)) revealed.set(node, pointed.el);
    }
  }

  const HIDDEN = /display:\s*none|visibility:\s*hidden|(^|[\s-])(hid(e|den)|closed|invisible|d-none)\b/;

  function wasHidden({ target, attributeName, oldValue }) {
    if (attributeName === "hidden") return oldValue !== null && !target.hidden;
    return HIDDEN.test(oldValue || "") && !HIDDEN.test(target.getAttribute(attributeName) || "");
  }

  function isBeside(node, el) {
    if (node.contains(el) || el === document.body || el === document.documentElement) return false;
    const { width, height } = el.getBoundingClientRect();
    if (width * height > LARGEST_PART * innerWidth * innerHeight) return false;
    if (el.contains(node)) return true;
    if (![node, ...node.querySelectorAll("*")].slice(0, 6).some((each) => ["absolute", "fixed"].includes(getComputedStyle(each).position))) return false;
    const one = el.getBoundingClientRect();
    return [node, ...node.querySelectorAll("*")].slice(0, 6).some((each) => {
      const two = each.getBoundingClientRect();
      return two.width > 0 && Math.max(one.left - two.right, two.left - one.right, one.top - two.bottom, two.top - one.bottom) <= NEAR_PX;
    });
  }

  /** Tell the pointing without which this would not be there. */
  function tellHover(pressed) {
    const chain = [];
    for (let el = pressed; el; el = flatParent(el)) if (revealed.has(el)) chain.unshift(el);
    const pointedAt = new Set();
    for (const node of chain) {
      const el = revealed.get(node);
      revealed.delete(node);
      if (el.isConnected && el !== pressed && isBeside(node, el)) pointedAt.add(el);
    }
    for (const el of pointedAt) tell("hover", el, look(el));
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
    clickedOn = event.isTrusted ? origin(event) : null;
    if (!event.isTrusted || event.button !== 0) return;
    if (dragged && event.detail > 0) {
      dragged = false;
      return;
    }
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
    if (!el || tag(el) === "select" || tag(el) === "option" || ["file", "range"].includes(inputType(el))) return;
    const modifiers = isText(el) ? [] : heldKeys(event);
    if (isToggle(el) && !modifiers.length) {
      tick(el);
      return;
    }
    const control = tag(el) === "label" ? el.control : null;
    if (control) return; // its own click follows, or it only takes the focus
    let key = null;
    if (event.detail === 0 && event.pointerType === "") {
      const own = lastKey && PRESSED.has(lastKey.key) && lastKey.el === el;
      key = own ? keyName(lastKey.key) : null;
      lastKey = null;
      if (!own) return; // a form was sent with Enter: the browser presses its button
    }
    typing = isText(el) ? typing : null;
    tell("click", el, before(el), { modifiers, key, ...spotOn(el, event) });
    if (isToggle(el)) ticking = { el, ignored: true };
    if (!isText(el)) latest = null;
  }

  const keyName = (key) => (key === " " ? "Space" : key);

  const heldKeys = (event) => ["Alt", "Control", "Meta", "Shift"].filter((key) => event[key === "Control" ? "ctrlKey" : `${key.toLowerCase()}Key`]);

  function doubleClick(event) {
    const el = event.isTrusted ? meant(origin(event)) : null;
    if (!el || isText(el) || isToggle(el)) return;
    // A click on an option is told as the choice it makes: only here is it seen where it was.
    if (tag(el) === "option") tell("double_click", el, before(el), { chosen: [said(el)] });
    else tell("double_click", el, null, spotOn(el, event));
  }

  /** A box was clicked. Where the page lets it change, `change` comes at once; else it was only clicked.
   *
   * What the page sent at the click belongs to it: its time is that of the click.
   */
  function tick(el) {
    const under = { el, seen: before(el), time: clock() };
    ticking = under;
    later(() => {
      if (ticking !== under) return;
      ticking = null;
      if (inputType(el) === "radio" && el.checked) tell("tick", el, under.seen, { checked: true, time: under.time });
      else tell("click", el, under.seen, { time: under.time });
    }, 0);
  }

  // -- keyboard ------------------------------------------------------------------------------------

  function keyDown(event) {
    if (event.isTrusted) pressedAt = clock();
    if (event.isTrusted && !MODIFIERS.has(event.key)) askNow();
    if (!event.isTrusted || event.isComposing || MODIFIERS.has(event.key)) return;
    const el = meant(origin(event)) || document.body;
    const text = isText(el);
    if (event.key === "Tab" && isOpened(el)) {
      tellTab(event, el);
      return;
    }
    if (event.key === "Tab" && !(text && editable(el))) return;
    if (text && typing?.el !== el) noteWritten(el);
    if (text) begin(el);
    const keys = [["Control", event.ctrlKey], ["Alt", event.altKey], ["Meta", event.metaKey]].filter((each) => each[1]).map((each) => each[0]);
    if (PRESSED.has(event.key) && !keys.length && !text && el.matches(OPERABLE)) {
      tellHover(el);
      lastKey = { key: event.key, el };
      begin(el);
      const { seen } = latest || { seen: look(el) };
      const key = keyName(event.key);
      lastKey.tell = () => tell("key", el, seen, { key });
      // A click follows, unless the page does something else with the key, or the control is one of its own.
      later(() => (event.defaultPrevented || !el.matches(NATIVE)) && lastKey?.el === el && lastKey.tell(), 0);
      return;
    }
    lastKey = null;
    if (event.key === "Tab") {
      keyed = { el, value: textIn(el) }; // some editors write it
      return;
    }
    if ((event.ctrlKey || event.metaKey) && EDITING.has(event.key.toLowerCase())) {
      if (text) keyed = { el, value: textIn(el), undoes: UNDOING.has(event.key.toLowerCase()) };
      return;
    }
    if ((tag(el) === "select" || isToggle(el)) && event.key !== "Escape") {
      begin(el);
      return;
    }
    const plain = event.key.length === 1 && !keys.length;
    if (text && (plain || event.key === "Backspace" || event.key === "Delete")) {
      keyed = keyed?.el === el ? keyed : { el, value: textIn(el) };
      return;
    }
    if (event.shiftKey && event.key.length > 1) keys.push("Shift");
    const key = [...keys, keyName(event.key)].join("+");
    const certain = event.key === "Escape" || (event.key === "Enter" && tag(el) === "input") || (plain && !text);
    const seen = look(el);
    if (certain) tell("key", el, seen, { key, focused: el !== document.body });
    // Other keys move carets and scroll, unless the page does something else with them.
    else later(() => event.defaultPrevented && tell("key", el, seen, { key, focused: el !== document.body }), 0);
  }

  /** Whether a list of choices is open that the keyboard leads through. */
  const isOpened = (el) => el.matches("[aria-activedescendant]:not([aria-activedescendant='']), [role='combobox'][aria-expanded='true'], [aria-haspopup='listbox'][aria-expanded='true']");

  /** Tab closes an open list, and may choose from it. Where the list stays open, it only moves the focus. */
  function tellTab(event, el) {
    const seen = look(el);
    const focused = getComputedStyle(el).pointerEvents !== "none"; // else the focus leads to the field, not the pointer
    const more = { key: event.shiftKey ? "Shift+Tab" : "Tab", focused, time: clock() };
    later(() => (!el.isConnected || !isOpened(el)) && tell("key", el, seen, more), DRAWN_MS);
  }

  /** A button of which the page takes the key when it is let go: no click comes. */
  function keptFromClick(event) {
    const mine = lastKey;
    if (mine?.tell && mine.key === event.key) later(() => event.defaultPrevented && lastKey === mine && mine.el.matches(NATIVE) && mine.tell(), 0);
  }

  /** A script took the key and wrote the text itself, without an event: masks and some editors do. */
  function keyUp(event) {
    if (event.isTrusted) keptFromClick(event);
    if (!event.isTrusted || !keyed) return;
    const { el, value, undoes } = keyed;
    keyed = null;
    const at = told;
    const changed = () => el.isConnected && textIn(el) !== value;
    const undone = undoes === true && isFormatted(el);
    if (changed()) tellTyped(el, false, undone);
    else later(() => told === at && changed() && tellTyped(el, false, undone), DRAWN_MS);
  }

  /** Whether an editor holds more than one block, or marks: to write its text anew loses them. */
  const isFormatted = (el) => editable(el) && !el.editContext && (el.children.length > 1 || el.querySelector(MARKS) !== null);

  // -- fields --------------------------------------------------------------------------------------

  /** Whether a field's event comes from a person, or from what fills fields for one: a password manager, a driver.
   *
   * Those dispatch events from a world of their own, whose code is not on the stack; a script of the page is. Below
   * a listener that calls this, there are four calls, with those of this function.
   */
  function isGiven(event) {
    if (event.isTrusted) return true;
    const stack = readStack();
    let calls = 0;
    for (let at = find(stack, "\n    at "); at >= 0; at = find(stack, "\n    at ", at + 1)) calls += 1;
    return calls === 4;
  }

  /** The calls that are under way, by the browser's own words; "" where the page does not let us read them. */
  function readStack() {
    const before = [["stackTraceLimit", 20], ["prepareStackTrace", undefined]].map(([name, value]) => {
      const own = getOwnPropertyDescriptor(NativeError, name);
      return { name, own, done: defineProperty(NativeError, name, { value, writable: true, enumerable: true, configurable: true }) };
    });
    const made = new NativeError();
    const own = getOwnPropertyDescriptor(made, "stack");
    const said = own && (own.get ? applyTo(own.get, made, []) : own.value); // it is written when it is read
    for (const { name, own: former } of before) {
      if (former) defineProperty(NativeError, name, former);
      else delete NativeError[name];
    }
    return before.every(({ done }) => done) && typeof said === "string" ? said : "";
  }

  /** Whether a person pressed something for a text that changed: a script that ticks a box or calls `execCommand` makes events of the browser, too. */
  function isTyped(event, el) {
    const on = pressedOn && (pressedOn === el || contains(el, pressedOn) || isInLabelOf(el, pressedOn));
    const own = announced === el || on || matches(el, ":autofill");
    announced = null;
    return !event.isTrusted || own;
  }

  /** Whether a node is in a label of a field, by what the browser says: a page may give the field other `labels`. */
  function isInLabelOf(el, node) {
    for (const read of LABELS) {
      let labels = null;
      try {
        labels = read(el);
      } catch {
        continue; // of another kind of field
      }
      for (let at = 0; labels && labels[at]; at += 1) if (contains(labels[at], node)) return true;
    }
    return false;
  }

  function beforeInput(event) {
    const el = event.isTrusted ? meant(origin(event)) : null;
    if (!el || !isText(el)) return;
    announced = el;
    if (typing?.el !== el) noteWritten(el);
    begin(el);
  }

  /** What an editor with formatted text holds before it is typed into: to replace that would lose its form. */
  function noteWritten(el) {
    written = editable(el) && !el.editContext ? { el, text: textIn(el) } : null;
  }

  function input(event) {
    const el = isGiven(event) ? meant(origin(event)) : null;
    if (!el || !isText(el) || !isTyped(event, el)) return;
    if (keyed?.el === el) keyed = null;
    tellTyped(el);
  }

  function textIn(el) {
    if (!editable(el)) return el.value;
    if (el.innerText === "\n" && el.querySelectorAll("br").length === 1) return ""; // one line without text
    const blocks = [...el.children].filter((each) => tag(each) === "div");
    const empty = blocks.filter((each) => each.children.length === 1 && tag(each.firstChild) === "br");
    // biome-ignore lint/performance/useDomNodeTextContent: only this text has the line breaks a person sees
    if (!empty.length || [...el.children].some((each) => !blocks.includes(each) && getComputedStyle(each).display === "block")) return el.innerText;
    return linesOf(el, blocks, empty).join("\n");
  }

  /** The lines of a plain editor, whose lines are `div`s: the browser counts an empty one twice. */
  function linesOf(el, blocks, empty) {
    const lines = [];
    let open = false; // text without a `div` of its own
    for (const node of el.childNodes) {
      if (blocks.includes(node)) {
        // biome-ignore lint/performance/useDomNodeTextContent: see above
        lines.push(empty.includes(node) ? "" : node.innerText);
        open = false;
      } else if (tag(node) === "br") open = false;
      else if (open) lines[lines.length - 1] += node.textContent;
      else open = lines.push(node.textContent) > 0;
    }
    return lines;
  }

  function tellTyped(el, late = false, undone = false) {
    if (!el.getClientRects().length) return; // undo reaches a field of a dialog that is closed
    if (!typing || typing.el !== el || isTakenBack(el)) {
      count += 1;
      const former = written?.el === el ? written.text : null;
      typing = { el, id: `${document_}-${count}`, seen: before(el), told: false, former };
    }
    typing.value = textIn(el);
    tell("typed", el, typing.told && !undone ? null : typing.seen, { id: typing.id, value: typing.value, former: typing.former, undone, unread: typing.seen?.unread || "" });
    typing.told = true;
    const at = told;
    if (!late) later(() => told === at && typing?.el === el && el.isConnected && isRewritten(typing.value, textIn(el)) && tellTyped(el, true), DRAWN_MS);
  }

  /** Whether the only character of a field is gone: a page may have taken a code of several fields while it was there. */
  function isTakenBack(el) {
    return (el.maxLength === 1 || el.size === 1) && Boolean(typing.value) && !textIn(el);
  }

  /** Whether a script wrote another text when it drew: not only another spelling, a completion, or a field that it emptied. */
  function isRewritten(before, now) {
    const [one, other] = [before, now].map((text) => text.toLowerCase().replace(/[^\p{L}\p{N}]/gu, ""));
    return other.length >= one.length && !other.startsWith(one);
  }

  function change(event) {
    const byPerson = isGiven(event);
    const el = origin(event);
    if (!(el instanceof Element)) return;
    if (inputType(el) === "file" && el.files.length) {
      given.files = [...el.files];
      tell("uploaded", el, before(el), { files: [...el.files].map((file) => file.name) });
    } else if (tag(el) === "select" && byPerson) {
      const chosen = [...el.selectedOptions].map(said);
      tell("chosen", el, before(el), { chosen });
    } else if (isToggle(el) && ticking?.ignored && ticking.el === el) {
      ticking = null; // it was told as a click with a key held down
    } else if (isToggle(el) && byPerson && (!event.isTrusted || clickedOn === el)) {
      const under = ticking && ticking.el === el ? ticking : { seen: before(el), time: clock() };
      tell("tick", el, under.seen, { checked: el.checked, time: under.time });
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
    pointerdown: pointerDown, pointermove: pointerMove, pointerup: pointerUp, pointerover: pointerOver,
    dragover: dragOver, drop: dropped, dragend: dragEnd, contextmenu: contextMenu, wheel: scrolled, scroll: scrolled, click, dblclick: doubleClick, keydown: keyDown, keyup: keyUp,
    beforeinput: beforeInput, input, change, blur,
  };
  const GUARDED = Object.entries(LISTENERS).map(([kind, listener]) => [kind, guarded(listener)]);
  const BEGINNINGS = ["DOMContentLoaded", "load", "focus"];
  function notePasswords(event) {
    if (event.type === "load") loaded = performance.now();
    badge();
    outermost()[LIBRARY]?.hideFields(isSecret);
    for (const el of document.querySelectorAll("input[type='password']")) passwords.add(el);
  }

  const beginning = guarded(notePasswords);

  /** Listen, also once more: a listener that is there is not added again. */
  function listen() {
    for (const kind of ["pointerdown", "keydown"]) addListener(kind, countPress, { capture: true, passive: true });
    for (const [kind, listener] of GUARDED) {
      addListener(kind, listener, { capture: true, passive: true });
    }
    for (const kind of BEGINNINGS) {
      addListener(kind, beginning, { capture: true });
    }
  }

  function observe() {
    const attributeFilter = ["class", "style", "hidden"];
    new MutationObserver(guarded(noteRevealed)).observe(document, { subtree: true, childList: true, attributes: true, attributeOldValue: true, attributeFilter });
  }

  /** Tell that the page itself reloads or moves in its history: a person's navigations say so, or nothing at all. */
  function tellOwnMoves() {
    if (!window.navigation || window !== window.top) return;
    const [isPersons, kindOf] = [getter(NavigateEvent, "userInitiated"), getter(NavigateEvent, "navigationType")];
    const note = (event) => {
      if (!isPersons(event)) tellBare("moved", kindOf(event));
    };
    listenTo(window.navigation, "navigate", guarded(note), { capture: true });
  }

  listen();
  observe();
  tellOwnMoves();
  tellBare("listening");
  // What a page dispatches has a call of ours on the stack, also where the browser itself calls its bound functions (`isGiven`).
  const dispatch = EventTarget.prototype.dispatchEvent;
  EventTarget.prototype.dispatchEvent = new Proxy(dispatch, { apply: (own, target, given) => applyTo(own, target, given) });
  // `document.open` removes all listeners of the window: editors write their frames in this way.
  for (const name of ["open", "write", "writeln"]) {
    const own = Document.prototype[name];
    Document.prototype[name] = function (...given) {
      const made = apply(own, this, given);
      if (this === document) listen();
      return made;
    };
  }
})();
