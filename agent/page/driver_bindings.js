// Keeps pages from the driver's own function, which is in the world of pages wherever Playwright exposes a function or routes web sockets:
// the driver ends at a text that is no object of JSON, and a page that replaces the function reads what is said through it.
(() => {
  const NAME = "__playwright__binding__";
  const { parse } = JSON;
  const { apply, defineProperty, getOwnPropertyDescriptor } = { apply: Reflect.apply, defineProperty: Object.defineProperty, getOwnPropertyDescriptor: Object.getOwnPropertyDescriptor };
  const known = getOwnPropertyDescriptor(globalThis, NAME);
  if (known && !known.configurable) return;
  let raw = globalThis[NAME];
  const guarded = (text) => {
    if (typeof raw !== "function" || typeof text !== "string") return;
    let said;
    try {
      said = parse(text);
    } catch {
      return;
    }
    if (said !== null && typeof said === "object") apply(raw, globalThis, [text]);
  };
  defineProperty(globalThis, NAME, {
    configurable: false,
    enumerable: false,
    get: () => guarded,
    set: (value) => {
      if (typeof raw !== "function") raw = value; // the driver's, where it comes later
    },
  });
})();
