// What no guard would see: windows and downloads that a page begins by itself. (Shared workers, worklets, what is loaded ahead of time, and what
// is sent while the page is being left: `agent/page/unrouted.js`.) Runs before the page's own scripts, in every frame: nothing of it is sent.

(() => {
  // The document of such a window is not requested, so nothing else keeps it from loading (`agent/page/window_documents.py`).
  if (window.top === window && location.protocol === "blob:") window.stop();

  // What could send and is judged by nobody. The list of all that a page is given: `tests/agent/exploration/requests/test_ways_to_send.py`.
  for (const name of ["RTCPeerConnection", "webkitRTCPeerConnection", "PaymentRequest"]) delete window[name];
  for (const name of ["joinAdInterestGroup", "leaveAdInterestGroup", "updateAdInterestGroups", "runAdAuction", "clearOriginJoinedAdInterestGroups"])
    delete Navigator.prototype[name];

  // A window that a page opens by itself, by its script, a link or a form. What is not prevented here requests no
  // document (`agent/page/window_documents.py`). Yet names are looked up among the frames that are there, and by what the page cannot replace.
  const { open, HTMLElement, EventTarget, HTMLFormElement, Event, Node, Element, ShadowRoot } = window;
  const call = Function.prototype.call;
  const method = (kind, name) => call.bind(kind.prototype[name]);
  const getter = (owner, name) => call.bind(Object.getOwnPropertyDescriptor(owner, name).get);
  const openWindow = call.bind(open);
  const [click, dispatchEvent, submit] = [method(HTMLElement, "click"), method(EventTarget, "dispatchEvent"), method(HTMLFormElement, "submit")];
  const [getAttribute, querySelector, composedPath] = [method(Element, "getAttribute"), method(Document, "querySelector"), method(Event, "composedPath")];
  const prevent = method(Event, "preventDefault");
  const [frameName, frameCount] = [getter(window, "name"), getter(window, "length")];
  const [parentOf, hostOf, documentOf] = [getter(Node.prototype, "parentNode"), getter(ShadowRoot.prototype, "host"), getter(Node.prototype, "ownerDocument")];
  const [localName, eventType, submitterOf] = [getter(Element.prototype, "localName"), getter(Event.prototype, "type"), getter(SubmitEvent.prototype, "submitter")];
  const exec = method(RegExp, "exec"); // not `test`, which calls what the page may have put in place of `exec`
  const matches = (pattern, text) => exec(pattern, text) !== null;
  const isFrame = (name, frame) => {
    if (frameName(frame) === name) return true;
    for (let at = frameCount(frame) - 1; at >= 0; at -= 1) if (isFrame(name, frame[at])) return true;
    return false;
  };
  const HERE = /^_(self|parent|top)$/i;
  const isNew = (target) => {
    if (!target || matches(HERE, target)) return false;
    try {
      return !isFrame(target, window.top);
    } catch {
      return true; // the names of another origin's frames are not told
    }
  };
  /** What a read of a value gives; null for what has no such value. */
  const read = (how, value) => {
    try {
      return how(value);
    } catch {
      return null;
    }
  };
  const attributeOf = (element, name) => read(() => getAttribute(element, name), null);
  const targetOf = (element) => {
    const base = read(() => querySelector(documentOf(element), "base[target]"), null);
    return attributeOf(element, "target") ?? (base && attributeOf(base, "target"));
  };
  let pressedAt = -Infinity;
  const press = (event) => {
    if (event.isTrusted) pressedAt = event.timeStamp;
  };
  for (const pressing of ["pointerdown", "mousedown", "keydown"]) window.addEventListener(pressing, press, true);
  const now = performance.now.bind(performance);
  const isAsked = () => now() - pressedAt < 5000; // as long as browsers take a press for a reason
  const OPENERS = /^(?:a|area|form)$/;
  const LINKS = /^(?:a|area)$/;
  const LOCAL = /^\s*(?:blob|data):/i;
  const opens = (element, kinds) => matches(kinds, read(localName, element) ?? "") && isNew(targetOf(element));
  /** Whether a page may not click an element by itself: a link to a new window, or one to a file, whose redirects nobody sees. */
  const isOwn = (element) => {
    if (!matches(LINKS, read(localName, element) ?? "")) return false;
    if (attributeOf(element, "download") !== null && !matches(LOCAL, attributeOf(element, "href") ?? "")) return true;
    return !isAsked() && opens(element, LINKS);
  };
  const clicksOwn = (node) => {
    for (let each = node; each; each = read(parentOf, each) ?? read(hostOf, each)) if (isOwn(each)) return true;
    return false;
  };

  window.open = function (url, target, ...more) {
    const name = target === undefined ? "_blank" : `${target}`;
    return isAsked() || !isNew(name) ? openWindow(this, url, name, ...more) : null;
  };
  HTMLElement.prototype.click = function () {
    if (!clicksOwn(this)) click(this);
  };
  EventTarget.prototype.dispatchEvent = function (event) {
    return read(eventType, event) === "click" && clicksOwn(this) ? true : dispatchEvent(this, event);
  };
  HTMLFormElement.prototype.submit = function () {
    if (isAsked() || !opens(this, OPENERS)) submit(this);
  };
  const unfollowed = (event) => {
    if (event.isTrusted) return;
    const path = composedPath(event);
    for (let at = 0; at < path.length; at += 1) if (isOwn(path[at])) prevent(event);
  };
  window.addEventListener("click", unfollowed, true);
  const unsent = (event) => {
    if (isAsked()) return;
    const by = read(submitterOf, event);
    const asked = by && attributeOf(by, "formtarget");
    if (asked ? isNew(asked) : opens(event.target, OPENERS)) prevent(event);
  };
  window.addEventListener("submit", unsent, true);
})();
