// What no guard would see: what a page sends while it is being left (beacons, requests that outlive their page,
// pictures asked for at the last moment), what it loads ahead of time, and what worklets ask for. (Shared workers and
// requests that are put off: `agent/page/unrouted.js`.) Runs before the page's own scripts, in every frame: nothing of it is sent.

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
})();
