// What no route sees and no page depends on: what shared workers and worklets request, what a browser loads ahead of time, what a page sends
// while it is being left (beacons, requests that outlive their page, pictures asked for at the last moment), and connections other than the
// sockets that pages use. Runs before the page's own scripts, in every frame; it is as in browsers that do not have them.

(() => {
  for (const name of ["SharedWorker", "fetchLater", "FetchLaterResult", "WebSocketStream", "WebSocketError", "WebTransport"]) delete window[name];

  const { Request, fetch, DOMException, Document, Element, EventTarget, Event, Node } = window;
  const call = Function.prototype.call;
  const method = (kind, name) => call.bind(kind.prototype[name]);
  const getter = (kind, name) => call.bind(Object.getOwnPropertyDescriptor(kind.prototype, name).get);
  const [send, outlives, viewOf] = [call.bind(fetch), getter(Request, "keepalive"), getter(Document, "defaultView")];
  const [listen, stop] = [method(EventTarget, "addEventListener"), method(Event, "stopImmediatePropagation")];

  Navigator.prototype.sendBeacon = () => true; // it is said to be sent
  const isRequest = (value) => {
    try {
      outlives(value);
      return true;
    } catch {
      return false;
    }
  };
  // A `Request` does not change any more, so each value of the page is read once.
  window.fetch = async function (what, how) {
    const asked = how ? new Request(what, how) : what;
    return send(this, isRequest(asked) && outlives(asked) ? new Request(asked, { keepalive: false }) : asked);
  };

  for (const name of ["Worklet", "SharedStorageWorklet"]) {
    if (window[name]) window[name].prototype.addModule = () => Promise.reject(new DOMException("Not loaded", "AbortError"));
  }

  // The page does not hear that it is being left, also not after `document.open`, which takes all listeners away.
  const stateOf = getter(Document, "visibilityState");
  const unheard = (event) => stop(event);
  const whenHidden = (event) => stateOf(document) === "hidden" && stop(event);
  const keepFromLeaving = (view) => {
    for (const leaving of ["pagehide", "unload"]) listen(view, leaving, unheard, true);
    listen(view, "visibilitychange", whenHidden, true);
  };
  keepFromLeaving(window);
  const [open, write] = [method(Document, "open"), method(Document, "write")];
  const renew = (opened) => {
    const view = viewOf(opened);
    if (view) keepFromLeaving(view);
  };
  Document.prototype.open = function (...given) {
    if (given.length > 2) return window.open(...given);
    const opened = open(this, ...given);
    renew(this);
    return opened;
  };
  for (const name of ["write", "writeln"]) {
    const writeAll = method(Document, name);
    Document.prototype[name] = function (...texts) {
      try {
        write(this, ""); // opens the document if it has to be, before a script in the texts can listen
      } catch {
        // the page takes no plain text (trusted types), or no text now
      }
      renew(this);
      writeAll(this, ...texts);
    };
  }

  // Rules by which a browser loads links ahead of time go before they are read, also those in shadow trees.
  const RULES = /^\s*speculationrules\s*$/i;
  const exec = method(RegExp, "exec");
  const [localName, treeOf, kindOf] = [getter(Element, "localName"), getter(Element, "shadowRoot"), getter(Node, "nodeType")];
  const [getAttribute, remove, attach] = [method(Element, "getAttribute"), method(Element, "remove"), method(Element, "attachShadow")];
  const [listOfElement, listOfTree] = [method(Element, "querySelectorAll"), method(DocumentFragment, "querySelectorAll")];
  const [targetOf, addedTo] = [getter(MutationRecord, "target"), getter(MutationRecord, "addedNodes")];
  const observe = method(MutationObserver, "observe");
  const ELEMENT = 1;
  const forget = (node) => {
    if (localName(node) === "script" && exec(RULES, getAttribute(node, "type") || "")) remove(node);
  };
  const look = (node) => {
    forget(node);
    const tree = treeOf(node);
    if (tree) watch(tree);
  };
  const watch = (tree) => {
    observe(observer, tree, { __proto__: null, childList: true, subtree: true });
    if (tree !== document) lookAtAll(listOfTree(tree, "*"));
  };
  const lookAtAll = (nodes) => {
    for (let at = 0; nodes[at]; at += 1) look(nodes[at]);
  };
  const observer = new MutationObserver((records) => {
    for (let at = 0; records[at]; at += 1) {
      if (kindOf(targetOf(records[at])) === ELEMENT) forget(targetOf(records[at]));
      const nodes = addedTo(records[at]);
      for (let n = 0; nodes[n]; n += 1) {
        if (kindOf(nodes[n]) !== ELEMENT) continue;
        look(nodes[n]);
        lookAtAll(listOfElement(nodes[n], "*"));
      }
    }
  });
  watch(document);
  Element.prototype.attachShadow = function (how) {
    const tree = attach(this, how);
    watch(tree);
    return tree;
  };
})();
