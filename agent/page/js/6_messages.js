// Messages that a socket or an event source receives are limited: each is passed on by the browser to its driver, with its text, also long
// after the page is gone. They are counted here, since they may arrive there minutes later.

const MESSAGES = 10_000; // of one source within the time below; with more it is closed
const MESSAGES_MS = 10_000;
const hearMessages = EventTarget.prototype.addEventListener;
const sourceEnds = new Map(); // kind of source -> how it is closed, before the page can change it
for (const name of ["WebSocket", "EventSource"]) if (window[name]) sourceEnds.set(name, window[name].prototype.close);

function limitMessages(name, source) {
  const close = sourceEnds.get(name);
  if (!close) return;
  const received = { since: 0, messages: 0 };
  Reflect.apply(hearMessages, source, ["message", () => {
    const now = nativeNow();
    if (now - received.since >= MESSAGES_MS) Object.assign(received, { since: now, messages: 0 });
    received.messages += 1;
    if (received.messages > MESSAGES) Reflect.apply(close, source, []);
  }]);
}
