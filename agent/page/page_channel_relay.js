// The other end in the page of a channel to Python, in a world of its own, which holds the binding (`page_channel.py`).
(() => {
  const NAME = "CHANNEL_NAME";
  if (window.periplusAnswer) return;
  const place = window.performance;
  const emit = (kind, text) => place.dispatchEvent(new CustomEvent(`${NAME}-${kind}`, { detail: text }));
  place.addEventListener(`${NAME}-tell`, (event) => window.periplusTell(event.detail));
  place.addEventListener(`${NAME}-ask`, () => emit("ready", ""));
  window.periplusAnswer = (text) => emit("answer", text);
  emit("ready", "");
})();
