// Draws over the page: a pointer, a ring around an element, a caption, a chapter title.
// Everything is in one closed shadow root without pointer events, so that hit tests, text probes
// and snapshots of the page do not see it.
(() => {
  "use strict";
  const KEY = Symbol.for("periplus.stage.1");
  if (window[KEY] || window.top !== window) return;

  const STYLE = `
    :host { all: initial; }
    .layer { position: fixed; inset: 0; pointer-events: none; z-index: 2147483647;
             font-family: system-ui, "DejaVu Sans", sans-serif; }
    .pointer { position: absolute; left: 0; top: 0; width: 26px; height: 26px; opacity: 0;
               transition: transform var(--ms, 350ms) cubic-bezier(.3,.7,.2,1), opacity .2s;
               filter: drop-shadow(0 2px 3px rgba(0,0,0,.45)); }
    .pointer.on { opacity: 1; }
    .pulse { position: absolute; width: 36px; height: 36px; margin: -18px 0 0 -18px; border-radius: 50%;
             border: 3px solid #f59e0b; opacity: 0; }
    .pulse.on { animation: pulse .45s ease-out; }
    @keyframes pulse { from { opacity: .9; transform: scale(.3); } to { opacity: 0; transform: scale(1.4); } }
    .ring { position: absolute; border-radius: 10px; opacity: 0; transition: opacity .2s;
            box-shadow: 0 0 0 3px #f59e0b, 0 0 0 7px rgba(245,158,11,.25); }
    .ring.on { opacity: 1; }
    .caption { position: absolute; left: 0; right: 0; bottom: 26px; margin: 0 auto; width: fit-content;
               max-width: min(76%, 31em); padding: 10px 18px; border-radius: 10px; box-sizing: border-box;
               background: rgba(15,23,42,.88); color: #fff; font-size: 19px; line-height: 1.4;
               text-align: center; opacity: 0; transition: opacity .25s; text-wrap: balance; }
    .caption.on { opacity: 1; }
    .caption.up { bottom: auto; top: 26px; }
    .caption.right { left: auto; right: 22px; margin: 0; max-width: 36%; }
    .caption.left { right: auto; left: 22px; margin: 0; max-width: 36%; }
    .chapter.up { bottom: auto; top: 26px; }
    .chapter.right { left: auto; right: 22px; }
    .chapter { position: absolute; left: 22px; bottom: 26px; padding: 6px 14px; border-radius: 999px;
               background: rgba(15,23,42,.82); color: #fff; font-size: 14px; letter-spacing: .02em;
               opacity: 0; transition: opacity .25s; }
    .chapter.on { opacity: 1; }
    @media (max-width: 900px) {
      .chapter.right { right: 12px; }
      .caption { bottom: 66px; max-width: 92%; font-size: 16px; }
      .chapter { left: 12px; font-size: 12px; }
    }`;
  // Distance in pixels that caption and chapter keep from what is pointed at, and half the size of the pointer's own area.
  const DISTANCE = 8;
  const POINTED = 20;
  const ARROW = {
    d: "M4 2l15 11-7 1.2 4 7.3-2.8 1.5-4-7.4L4 20z",
    fill: "#fff", stroke: "#0f172a", "stroke-width": "1.4", "stroke-linejoin": "round",
  };

  let parts = null;
  let place = null;
  let pointed = null;
  let ringed = null;

  // Not innerHTML: a site may forbid it (require-trusted-types-for).
  function drawing(name, attributes) {
    const made = document.createElementNS("http://www.w3.org/2000/svg", name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    return made;
  }

  function build() {
    if (parts && parts.host.isConnected) return parts;
    if (!document.documentElement) return null;
    const host = document.createElement("pp-stage");
    host.setAttribute("aria-hidden", "true");
    const root = host.attachShadow({ mode: "closed" });
    const layer = document.createElement("div");
    layer.className = "layer";
    // Not a <style> element: a site's Content-Security-Policy (style-src 'self') would block it.
    const sheet = new CSSStyleSheet();
    sheet.replaceSync(STYLE);
    root.adoptedStyleSheets = [sheet];
    root.append(layer);
    const made = { host, layer };
    for (const name of ["ring", "pulse", "pointer", "caption", "chapter"]) {
      made[name] = document.createElement("div");
      made[name].className = name;
      layer.append(made[name]);
    }
    const arrow = drawing("svg", { viewBox: "0 0 24 24", width: "26", height: "26" });
    arrow.append(drawing("path", ARROW));
    made.pointer.append(arrow);
    document.documentElement.append(host);
    parts = made;
    if (place) move(place.x, place.y, 0, pointed);
    return parts;
  }

  function move(x, y, ms, box) {
    const it = build();
    if (!it) return;
    place = { x, y };
    pointed = box || { x: x - POINTED, y: y - POINTED, width: 2 * POINTED, height: 2 * POINTED };
    it.pointer.style.setProperty("--ms", `${ms}ms`);
    it.pointer.style.transform = `translate(${x}px, ${y}px)`;
    it.pointer.classList.add("on");
    makeWay(it);
  }

  // Caption and chapter must not cover what is pointed at, nor each other: each goes to the first of its places that is free,
  // or where it covers least.
  function makeWay(it) {
    const box = ringed || pointed;
    const target = box && { left: box.x - DISTANCE, top: box.y - DISTANCE,
                            right: box.x + box.width + DISTANCE, bottom: box.y + box.height + DISTANCE };
    settle(it.caption, [[], ["up"], ["right"], ["left"]], [target]);
    const shown = it.caption.classList.contains("on") ? it.caption.getBoundingClientRect() : null;
    settle(it.chapter, [[], ["right"], ["up"], ["up", "right"]], [target, shown]);
  }

  function settle(part, places, taken) {
    let best = places[0];
    let least = Infinity;
    for (const names of places) {
      put(part, names);
      const box = part.getBoundingClientRect();
      const covered = taken.reduce((sum, other) => sum + (other ? overlap(box, other) : 0), 0);
      if (covered < least) [best, least] = [names, covered];
      if (least === 0) break;
    }
    put(part, best);
  }

  function put(part, names) {
    for (const name of ["up", "right", "left"]) part.classList.toggle(name, names.includes(name));
  }

  function overlap(a, b) {
    return Math.max(0, Math.min(a.right, b.right) - Math.max(a.left, b.left))
      * Math.max(0, Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top));
  }

  function pulse() {
    const it = build();
    if (!it || !place) return;
    it.pulse.style.left = `${place.x}px`;
    it.pulse.style.top = `${place.y}px`;
    it.pulse.classList.remove("on");
    void it.pulse.offsetWidth;
    it.pulse.classList.add("on");
  }

  function ring(box) {
    const it = build();
    if (!it) return;
    it.ring.classList.toggle("on", Boolean(box));
    ringed = box || null;
    makeWay(it);
    if (!box) return;
    const pad = 5;
    Object.assign(it.ring.style, {
      left: `${box.x - pad}px`, top: `${box.y - pad}px`,
      width: `${box.width + 2 * pad}px`, height: `${box.height + 2 * pad}px`,
    });
  }

  function words(name, text) {
    const it = build();
    if (!it) return;
    if (text) it[name].textContent = text;
    it[name].classList.toggle("on", Boolean(text));
    makeWay(it);
  }

  Object.defineProperty(window, KEY, {
    value: Object.freeze({
      move, pulse, ring,
      caption: (text) => words("caption", text),
      chapter: (text) => words("chapter", text),
    }),
  });
})();
