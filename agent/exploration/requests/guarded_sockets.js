// WebSockets of the page that ask before they connect and before they send (`websocket_guard.py`).
//
// Runs before the page's own scripts. The browser's own sockets are in no object that the page can reach. What they tell is passed on by
// timers: while an event of theirs is heard, `window.event` has them.
(() => {
  "use strict";
  const NativeSocket = window.WebSocket;
  const MARK = Symbol.for("periplus.sockets.1");
  if (!NativeSocket || NativeSocket[MARK]) return;
  const channel = "PAGE_CHANNEL"; // page_channel.js
  const NativeURL = URL;
  const [NativeEvent, NativeMessage, NativeClose, Refusal] = [Event, MessageEvent, CloseEvent, DOMException];
  const Bytes = Uint8Array;
  const parse = JSON.parse;
  const Target = EventTarget;
  const call = Function.prototype.call;
  const method = (kind, name) => call.bind(kind.prototype[name]);
  const getter = (kind, name) => call.bind(Object.getOwnPropertyDescriptor(kind.prototype, name).get);
  const setter = (kind, name) => call.bind(Object.getOwnPropertyDescriptor(kind.prototype, name).set);
  const [listen, unlisten, dispatch] = ["addEventListener", "removeEventListener", "dispatchEvent"].map((name) => method(Target, name));
  const [send, close] = ["send", "close"].map((name) => method(NativeSocket, name));
  const setBinaryType = setter(NativeSocket, "binaryType");
  const [readProtocol, readExtensions, readBuffered] = ["protocol", "extensions", "bufferedAmount"].map((name) => getter(NativeSocket, name));
  const readData = getter(NativeMessage, "data");
  const readOrigin = getter(NativeMessage, "origin");
  const [readCode, readReason, readClean] = ["code", "reason", "wasClean"].map((name) => getter(NativeClose, name));
  const [href, setHash] = [getter(NativeURL, "href"), setter(NativeURL, "hash")];
  const replace = method(String, "replace");
  const slice = method(String, "slice");
  const matches = method(RegExp, "test");
  const isView = ArrayBuffer.isView;
  const partsOf = (kind) => ["buffer", "byteOffset", "byteLength"].map((name) => getter(kind, name));
  const [partsOfArray, partsOfView] = [partsOf(Object.getPrototypeOf(Bytes)), partsOf(DataView)];
  const [readSize, readLength] = [getter(ArrayBuffer, "byteLength"), getter(Object.getPrototypeOf(Bytes), "length")];
  const readBlobSize = getter(Blob, "size");
  const fromCode = String.fromCharCode;
  const { defineProperty } = Object;
  const soon = queueMicrotask.bind(window);
  const later = setTimeout.bind(window);
  const asked = new Map(); // number of a question -> what its answer does
  const [take, keep, forget] = ["get", "set", "delete"].map((name) => method(Map, name));
  const LONGEST = 4000; // characters of a message that are told (`websocket_guard.py`)
  const [CONNECTING, OPEN, CLOSING, CLOSED] = [0, 1, 2, 3];
  const MOST_ASKED = 1000; // questions without an answer: of a page that floods, the rest is refused unasked
  let count = 0;
  let open = 0;

  function ask(kind, url, text, then) {
    if (open >= MOST_ASKED) {
      soon(() => then(false));
      return;
    }
    count += 1;
    open += 1;
    keep(asked, count, then);
    channel.tell(channel.write({ kind, url, text, at: count }));
  }

  channel.hear((text) => {
    const { at, may } = parse(text);
    const then = take(asked, at);
    if (!then) return;
    forget(asked, at);
    open -= 1;
    then(may);
  });

  function addressOf(url) {
    const parsed = new NativeURL(url, document.baseURI);
    const address = replace(href(parsed), /^http/, "ws");
    if (!matches(/^wss?:/, address)) throw new Refusal("The URL's scheme must be either 'http', 'https', 'ws', or 'wss'.", "SyntaxError");
    setHash(parsed, "");
    return replace(href(parsed), /^http/, "ws");
  }

  /** Whether a value has what only its kind has; its prototype may be another frame's, or the page's. */
  function is(read, value) {
    try {
      read(value);
      return true;
    } catch {
      return false;
    }
  }

  /** A message as it is now: a page may fill its buffer anew before the answer is there. What is no data is text. */
  function copyOf(message) {
    if (isView(message)) {
      const parts = is(partsOfArray[0], message) ? partsOfArray : partsOfView;
      return new Bytes(new Bytes(parts[0](message), parts[1](message), parts[2](message)));
    }
    if (is(readSize, message)) return new Bytes(new Bytes(message));
    return is(readBlobSize, message) ? message : `${message}`; // a Blob never changes
  }

  /** The beginning of a message as text, by which those that a page sends on its own are known. */
  function beginningOf(message) {
    if (typeof message === "string") return slice(message, 0, LONGEST);
    if (!isView(message)) return "data";
    let text = "";
    const length = readLength(message);
    for (let at = 0; at < length && at < LONGEST; at += 1) text += fromCode(message[at]);
    return text;
  }

  class WebSocket extends Target {
    #socket = null;
    #url;
    #protocols;
    #state = CONNECTING;
    #type = "blob";
    #unsent = 0; // messages that wait for their answer
    #closing = null; // how the page closed it, until then
    #handlers = { __proto__: null };

    constructor(url, protocols = []) {
      super();
      this.#url = addressOf(`${url}`);
      this.#protocols = protocols;
      ask("connect", this.#url, "", (may) => this.#connect(may));
    }

    #connect(may) {
      if (this.#state !== CONNECTING) return;
      if (!may) {
        this.#end(1006, "", false, true);
        return;
      }
      let socket;
      try {
        socket = new NativeSocket(this.#url, this.#protocols);
      } catch {
        this.#end(1006, "", false, true);
        return;
      }
      this.#socket = socket;
      setBinaryType(socket, this.#type);
      listen(socket, "open", () => later(() => this.#opened()));
      listen(socket, "message", (event) => {
        const told = { __proto__: null, data: readData(event), origin: readOrigin(event) };
        later(() => this.#state === OPEN && dispatch(this, new NativeMessage("message", told)));
      });
      listen(socket, "error", () => later(() => dispatch(this, new NativeEvent("error"))));
      listen(socket, "close", (event) => {
        const [code, reason, wasClean] = [readCode(event), readReason(event), readClean(event)];
        later(() => this.#end(code, reason, wasClean, false));
      });
    }

    #opened() {
      if (this.#state !== CONNECTING) return;
      this.#state = OPEN;
      dispatch(this, new NativeEvent("open"));
    }

    #end(code, reason, wasClean, failed) {
      if (this.#state === CLOSED) return;
      this.#state = CLOSED;
      if (failed) dispatch(this, new NativeEvent("error"));
      dispatch(this, new NativeClose("close", { __proto__: null, code, reason, wasClean }));
    }

    #answered(message, may) {
      this.#unsent -= 1;
      if (may && this.#socket) send(this.#socket, message);
      if (!this.#unsent && this.#closing) this.#closing();
    }

    send(message) {
      if (this.#state === CONNECTING) throw new Refusal("Failed to execute 'send' on 'WebSocket': Still in CONNECTING state.", "InvalidStateError");
      if (this.#state !== OPEN) return;
      const known = copyOf(message);
      this.#unsent += 1;
      ask("send", this.#url, beginningOf(known), (may) => this.#answered(known, may));
    }

    close(...given) {
      const [code] = given;
      if (code !== undefined && code !== 1000 && !(code >= 3000 && code <= 4999))
        throw new Refusal(`The close code must be either 1000, or between 3000 and 4999. ${code} is neither.`, "InvalidAccessError");
      if (this.#state === CLOSING || this.#state === CLOSED) return;
      this.#state = CLOSING;
      this.#closing = () => (this.#socket ? close(this.#socket, ...given) : this.#end(1006, "", false, true));
      if (!this.#unsent) soon(this.#closing);
    }

    get url() {
      return this.#url;
    }

    get readyState() {
      return this.#state;
    }

    get bufferedAmount() {
      return this.#socket ? readBuffered(this.#socket) : 0;
    }

    get protocol() {
      return this.#socket ? readProtocol(this.#socket) : "";
    }

    get extensions() {
      return this.#socket ? readExtensions(this.#socket) : "";
    }

    get binaryType() {
      return this.#type;
    }

    set binaryType(type) {
      if (type !== "blob" && type !== "arraybuffer") return;
      this.#type = type;
      if (this.#socket) setBinaryType(this.#socket, type);
    }

    #handle(kind, handler) {
      if (this.#handlers[kind]) unlisten(this, kind, this.#handlers[kind]);
      this.#handlers[kind] = typeof handler === "function" ? handler : null;
      if (this.#handlers[kind]) listen(this, kind, handler);
    }

    static {
      for (const kind of ["open", "message", "error", "close"]) {
        defineProperty(WebSocket.prototype, `on${kind}`, {
          configurable: true,
          enumerable: true,
          get() {
            return this.#handlers[kind] || null;
          },
          set(handler) {
            this.#handle(kind, handler);
          },
        });
      }
      for (const [name, value] of Object.entries({ CONNECTING, OPEN, CLOSING, CLOSED }))
        for (const place of [WebSocket, WebSocket.prototype]) defineProperty(place, name, { value, enumerable: true });
      defineProperty(WebSocket, MARK, { value: true });
    }
  }

  defineProperty(window, "WebSocket", { value: WebSocket, configurable: true, writable: true });
})();
