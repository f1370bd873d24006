// What no guard would see: what a page sends while it is being left (beacons, requests that outlive their page,
// pictures asked for at the last moment), what it loads ahead of time, and what worklets ask for. (Shared workers and
// requests that are put off: `agent/page/unrouted.js`.) Runs before the page's own scripts, in every frame: nothing of it is sent.
// Nor does a page open windows by itself, as browsers do not let it: the first request of a window is seen only while a control is used.

(() => {
  const { Request, fetch, DOMException } = window;

  Navigator.prototype.sendBeacon = () => true; // it is said to be sent
  window.fetch = function (what, how) {
    const asked = what instanceof Request && what.keepalive ? new Request(what, { keepalive: false }) : what;
    return fetch.call(this, asked, how && how.keepalive ? { ...how, keepalive: false } : how);
  };

  for (const name of ["Worklet", "SharedStorageWorklet"]) {
    if (window[name]) window[name].prototype.addModule = () => Promise.reject(new DOMException("Not loaded", "AbortError"));
  }

  // The page does not hear that it is being left.
  const unheard = (event) => event.stopImmediatePropagation();
  for (const leaving of ["pagehide", "unload"]) window.addEventListener(leaving, unheard, true);
  const whenHidden = (event) => document.visibilityState === "hidden" && unheard(event);
  window.addEventListener("visibilitychange", whenHidden, true);

  // Rules by which a browser loads links ahead of time go before they are read.
  const RULES = /^\s*speculationrules\s*$/i;
  const forget = (node) => node.localName === "script" && RULES.test(node.type) && node.remove();
  const seen = (records) => {
    for (const { target, addedNodes } of records) {
      forget(target);
      for (const node of addedNodes) {
        forget(node);
        if (node.firstElementChild) node.querySelectorAll("script").forEach(forget);
      }
    }
  };
  new MutationObserver(seen).observe(document, { childList: true, subtree: true });

  // A window that a page opens by itself, by its script, a link or a form.
  const { open, HTMLElement, EventTarget, HTMLFormElement } = window;
  const { click } = HTMLElement.prototype;
  const { dispatchEvent } = EventTarget.prototype;
  const { submit } = HTMLFormElement.prototype;
  const isNew = (target) => {
    if (!target || /^_(self|parent|top)$/i.test(target)) return false;
    try {
      return !window.top.frames[target];
    } catch {
      return true; // the names of another origin's frames are not told
    }
  };
  const targetOf = (element) => element.getAttribute("target") ?? document.querySelector("base[target]")?.target;
  let pressedAt = -Infinity;
  const press = (event) => {
    if (event.isTrusted) pressedAt = event.timeStamp;
  };
  for (const pressing of ["pointerdown", "mousedown", "keydown"]) window.addEventListener(pressing, press, true);
  const now = performance.now.bind(performance);
  const isAsked = () => now() - pressedAt < 5000; // as long as browsers take a press for a reason
  const opens = (element) => /^(?:a|area|form)$/.test(element?.localName) && isNew(targetOf(element)) && !isAsked();

  window.open = function (url, target, ...more) {
    return isAsked() || !isNew(target ?? "_blank") ? open.call(this, url, target, ...more) : null;
  };
  HTMLElement.prototype.click = function () {
    if (!opens(this) && !opens(this.closest?.("a, area"))) click.call(this);
  };
  EventTarget.prototype.dispatchEvent = function (event) {
    return event.type === "click" && (opens(this) || opens(this?.closest?.("a, area"))) ? true : dispatchEvent.call(this, event);
  };
  HTMLFormElement.prototype.submit = function () {
    if (!opens(this)) submit.call(this);
  };
  const unsent = (event) => {
    const asked = event.submitter?.getAttribute("formtarget");
    if (asked ? isNew(asked) && !isAsked() : opens(event.target)) event.preventDefault();
  };
  window.addEventListener("submit", unsent, true);
})();
