// Keeps pages from the driver's own function, which is in the world of pages wherever Playwright exposes a function or routes web sockets:
// the driver ends at a text that is no object of JSON, and a page that replaces the function reads what is said through it.
// The function that is exposed as "PRIVATE" is for a script that runs next and takes it away: pages cannot say anything in its name.
(() => {
  const NAME = "__playwright__binding__";
  const OURS = "PRIVATE";
  const { parse, stringify } = JSON;
  const { apply } = Reflect;
  const { defineProperty, getOwnPropertyDescriptor } = Object;
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
    if (said !== null && typeof said === "object" && said.name !== OURS) apply(raw, globalThis, [text]);
  };
  if (OURS && typeof globalThis[OURS] === "function") {
    globalThis[OURS] = (texts) => { // written by hand: a page may have said how lists become JSON
      let list = "";
      for (let at = 0; at < texts.length; at += 1) list += (at ? "," : "") + stringify(`${texts[at]}`);
      if (typeof raw === "function") apply(raw, globalThis, [`{"name":${stringify(OURS)},"seq":0,"serializedArgs":[{"a":[${list}],"id":1}]}`]);
    };
  }
  defineProperty(globalThis, NAME, {
    configurable: false,
    enumerable: false,
    get: () => guarded,
    set: (value) => {
      if (typeof raw !== "function") raw = value; // the driver's, where it comes later
    },
  });
})();
