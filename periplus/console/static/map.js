// Pans and zooms the map of a site. Without this script the map is a static drawing with links.
"use strict";

const STEP = 1.35; // zoom factor of one press
const NEAR = 3000; // visible width below which names are drawn on a large map
const SHARE = 0.15; // share of the visible width that one arrow press moves

for (const chart of document.querySelectorAll("[data-chart]")) {
  const svg = chart.querySelector("svg");
  const whole = svg.viewBox.baseVal;
  const all = [whole.x, whole.y, whole.width, whole.height];
  const large = svg.classList.contains("far");
  let seen = [...all];

  const show = (box) => {
    seen = box;
    svg.classList.toggle("near", box[2] < all[2] * 0.99); // then touch pans the map instead of the page
    svg.classList.toggle("far", large && box[2] > NEAR);
    svg.setAttribute("viewBox", box.map((each) => each.toFixed(1)).join(" "));
  };
  const near = (factor, x = seen[0] + seen[2] / 2, y = seen[1] + seen[3] / 2) => {
    const width = Math.min(all[2] * 2, Math.max(200, seen[2] / factor));
    const scale = width / seen[2];
    show([x - (x - seen[0]) * scale, y - (y - seen[1]) * scale, width, seen[3] * scale]);
  };
  const move = (dx, dy) => show([seen[0] + dx, seen[1] + dy, seen[2], seen[3]]);
  const at = (event) => {
    const point = new DOMPoint(event.clientX, event.clientY).matrixTransform(svg.getScreenCTM().inverse());
    return [point.x, point.y];
  };

  const tools = document.createElement("div");
  tools.className = "tools";
  for (const [sign, words, act] of [
    ["+", "Zoom in", () => near(STEP)],
    ["−", "Zoom out", () => near(1 / STEP)],
    ["⤢", "Show all", () => show([...all])],
  ]) {
    const button = document.createElement("button");
    button.type = "button";
    button.title = words;
    button.setAttribute("aria-label", words);
    button.textContent = sign;
    button.addEventListener("click", act);
    tools.append(button);
  }
  chart.append(tools);

  const keys = {
    ArrowLeft: () => move(-seen[2] * SHARE, 0),
    ArrowRight: () => move(seen[2] * SHARE, 0),
    ArrowUp: () => move(0, -seen[3] * SHARE),
    ArrowDown: () => move(0, seen[3] * SHARE),
    "+": () => near(STEP),
    "=": () => near(STEP),
    "-": () => near(1 / STEP),
    0: () => show([...all]),
  };
  chart.addEventListener("keydown", (event) => {
    const act = event.ctrlKey || event.metaKey || event.altKey ? undefined : keys[event.key];
    if (act && event.target === chart) {
      act();
      event.preventDefault();
    }
  });

  // The wheel scrolls the page; with Ctrl, or by pinching on a touchpad, it zooms the map.
  svg.addEventListener(
    "wheel",
    (event) => {
      if (!event.ctrlKey) {
        return;
      }
      event.preventDefault();
      near(Math.exp(-event.deltaY / 300), ...at(event));
    },
    { passive: false },
  );

  // Highlights the transitions of the screen under the pointer or with the focus.
  const lines = new Map();
  for (const path of svg.querySelectorAll(".lines path")) {
    for (const end of path.dataset.ends.split(" ")) {
      if (!lines.has(end)) {
        lines.set(end, []);
      }
      lines.get(end).push(path);
    }
  }
  let told = [];
  const tell = (place) => {
    for (const path of told) {
      path.classList.remove("told");
    }
    told = (place && lines.get(place.dataset.nr)) || [];
    for (const path of told) {
      path.classList.add("told");
    }
    svg.classList.toggle("telling", told.length > 0);
  };
  for (const [begin, end] of [["pointerover", "pointerout"], ["focusin", "focusout"]]) {
    // On the container, not on the SVG: an SVG with a focus listener becomes focusable.
    chart.addEventListener(begin, (event) => tell(event.target.closest("[data-nr]")));
    chart.addEventListener(end, () => tell(svg.contains(document.activeElement) ? document.activeElement : null));
  }

  const held = new Map();
  let moved = 0;
  svg.addEventListener("pointerdown", (event) => {
    held.set(event.pointerId, event);
    moved = 0;
  });
  svg.addEventListener("pointermove", (event) => {
    const before = held.get(event.pointerId);
    if (!before) {
      return;
    }
    const other = [...held.values()].find((each) => each.pointerId !== event.pointerId);
    if (other) {
      const far = (one) => Math.hypot(one.clientX - other.clientX, one.clientY - other.clientY) || 1;
      near(far(event) / far(before), ...at(event));
    } else if (event.pointerType !== "touch" || svg.classList.contains("near")) {
      const scale = 1 / svg.getScreenCTM().a;
      move((before.clientX - event.clientX) * scale, (before.clientY - event.clientY) * scale);
    }
    moved += Math.abs(event.clientX - before.clientX) + Math.abs(event.clientY - before.clientY);
    svg.classList.toggle("moving", moved > 4);
    held.set(event.pointerId, event);
  });
  const released = (event) => {
    held.delete(event.pointerId);
    svg.classList.remove("moving");
  };
  window.addEventListener("pointerup", released);
  window.addEventListener("pointercancel", released);
  svg.addEventListener("dragstart", (event) => event.preventDefault());
  svg.addEventListener("click", (event) => moved > 4 && event.preventDefault(), true); // a drag, not a click
}
