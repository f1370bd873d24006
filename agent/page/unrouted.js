// What no route sees and no page depends on: what shared workers and worklets request, what a page sends while it is being left
// (beacons, requests that outlive their page, pictures asked for at the last moment), and connections other than the sockets that pages use. Runs before the page's own scripts, in every frame; it is as in browsers that do not have them.

(() => {
  for (const name of ["SharedWorker", "fetchLater", "FetchLaterResult", "WebSocketStream", "WebSocketError", "WebTransport"]) delete window[name];

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
})();
