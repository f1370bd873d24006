// The other end in the page of a channel to Python, in a world of its own, which holds the binding (`page_channel.py`).
//
// What is told under the name that no page knows begins with `t`, under the other with `l`; `p` says that a person pressed something.
(() => {
  if (window.periplusAnswer) return;
  const place = window.performance;
  const emit = (name, kind, text) => place.dispatchEvent(new CustomEvent(`${name}-${kind}`, { detail: text }));
  const names = { t: "CHANNEL_NAME", l: "CHANNEL_LATE" };
  const pressed = (event) => event.isTrusted && window.periplusTell("p");
  for (const kind of ["pointerdown", "keydown", "drop", "paste"]) window.addEventListener(kind, pressed, { capture: true, passive: true });
  window.periplusAnswer = (text) => emit(names.t, "answer", text);
  for (const [mark, name] of Object.entries(names)) {
    place.addEventListener(`${name}-tell`, (event) => window.periplusTell(mark + event.detail));
    place.addEventListener(`${name}-ask`, () => emit(name, "ready", ""));
    emit(name, "ready", "");
  }
})();
