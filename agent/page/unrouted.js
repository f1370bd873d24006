// What no route sees and no page depends on: what shared workers request, requests that the browser sends when the page
// is left, and connections other than the sockets that pages use. Runs before the page's own scripts, in every frame; it is as in browsers that do not have them.

(() => {
  for (const name of ["SharedWorker", "fetchLater", "FetchLaterResult", "WebSocketStream", "WebSocketError", "WebTransport"]) delete window[name];
})();
