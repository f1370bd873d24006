// The end in the page of a channel to Python (`page_channel.py`): `tell` sends a text, `hear` names what gets the answers.
//
// Runs before the page's own scripts and keeps what it uses, since a page may replace it. The texts are events of
// `performance`, which `document.open` leaves alone, under a name that the page does not know and cannot list.
((name) => {
  "use strict";
  const place = window.performance;
  const NativeEvent = CustomEvent;
  const call = Function.prototype.call;
  const dispatch = call.bind(EventTarget.prototype.dispatchEvent, place);
  const listen = call.bind(EventTarget.prototype.addEventListener, place);
  const detail = call.bind(Object.getOwnPropertyDescriptor(NativeEvent.prototype, "detail").get);
  const stringify = JSON.stringify;
  const { isArray } = Array;
  const { assign, keys, setPrototypeOf } = Object;
  const copy = call.bind(Array.prototype.slice);
  const MOST_WAITING = 1000;
  let waiting = []; // texts that were told before the other end was there
  setPrototypeOf(waiting, null);
  let count = 0;
  let connected = false;

  const emit = (kind, text) => dispatch(new NativeEvent(`${name}-${kind}`, { __proto__: null, detail: text }));

  listen(`${name}-ready`, () => {
    connected = true;
    const texts = waiting;
    const told = count;
    waiting = [];
    setPrototypeOf(waiting, null);
    count = 0;
    for (let at = 0; at < told; at += 1) emit("tell", texts[at]);
  });
  emit("ask", "");

  return {
    __proto__: null,
    tell(text) {
      if (connected) emit("tell", text);
      else if (count < MOST_WAITING) {
        waiting[count] = text;
        count += 1;
      }
    },
    hear(listener) {
      listen(`${name}-answer`, (event) => listener(detail(event)));
    },
    /** The JSON of an object of texts, numbers and lists of such, whatever `toJSON` the page has given to all objects. */
    write(what) {
      const plain = setPrototypeOf(assign({}, what), null);
      const names = keys(plain);
      for (let at = 0; at < names.length; at += 1) {
        const value = plain[names[at]];
        if (isArray(value)) plain[names[at]] = setPrototypeOf(copy(value), null);
      }
      return stringify(plain);
    },
  };
})("CHANNEL_NAME")
