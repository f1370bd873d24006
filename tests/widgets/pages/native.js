// The browser's own controls, and small scripts as pages have them.
import { plain, start } from "./start.js";

const field = (id, kind, more = "") => plain(`<label>Value <input id="${id}" type="${kind}" ${more}></label>`, ($, keep) => {
  keep(id, $(id).value);
  $(id).addEventListener("change", () => keep(id, $(id).value));
});

const typed = ($, keep, ...ids) => ids.forEach((id) => {
  keep(id, $(id).value);
  $(id).addEventListener("input", () => keep(id, $(id).value));
});

const TWO = `<label>First <input id="one" value="from here"></label> <label>Second <input id="two"></label>`;
const menus = (ids, items) => ($, keep) => ids.forEach((id, at) => {
  const entry = $(id);
  entry.addEventListener("mouseenter", () => {
    document.querySelectorAll(".open").forEach((each) => !each.contains(entry) && each.remove());
    const box = document.createElement("div");
    box.className = "open";
    box.style.cssText = "border: 1px solid; padding: 6px; width: 120px";
    box.innerHTML = items[at];
    entry.append(box);
    for (const each of box.querySelectorAll("[data-page]")) each.onclick = () => keep("page", each.id);
    const next = box.querySelector("[data-more]");
    if (next) next.addEventListener("mouseenter", () => {
      if (next.querySelector("button")) return;
      next.insertAdjacentHTML("beforeend", ` <button id="saw">Saws</button>`);
      next.querySelector("button").onclick = () => keep("page", "saw");
    });
  });
  entry.addEventListener("mouseleave", () => entry.querySelectorAll(".open").forEach((each) => each.remove()));
});

const columns = (keep) => keep("columns", Object.fromEntries(["todo", "done"].map((id) => [id, [...document.getElementById(id).querySelectorAll(".card")].map((each) => each.id)])));

const rows = ($, keep, root) => {
  let chosen = [];
  let last = 1;
  keep("rows", chosen);
  for (const row of root.querySelectorAll(".row")) row.onclick = (event) => {
    const at = Number(row.dataset.n);
    if (event.shiftKey) chosen = [1, 2, 3, 4, 5].filter((n) => n >= Math.min(last, at) && n <= Math.max(last, at));
    else if (event.ctrlKey) chosen = [...chosen, at].sort();
    else chosen = [at];
    last = at;
    for (const each of root.querySelectorAll(".row")) each.setAttribute("aria-selected", chosen.includes(Number(each.dataset.n)));
    keep("rows", chosen);
  };
};
const ROWS = `<style>.row { user-select: none; padding: 4px }</style><div role="listbox" aria-multiselectable="true">${[1, 2, 3, 4, 5].map((n) => `<div class="row" role="option" id="row${n}" data-n="${n}">Message ${n}</div>`).join("")}</div>`;

start({
  date: field("date", "date"),
  time: field("time", "time"),
  color: field("color", "color"),
  range_pointer: field("range", "range", `style="width: 300px"`),
  range_keyboard: field("range", "range", `style="width: 300px"`),
  datalist: field("city", "text", `list="cities"><datalist id="cities"><option>Porto<option>Lyon<option>Graz</datalist><i`),
  multiple_select: plain(`<label>Many <select id="many" multiple size="5"><option>one<option>two<option>three<option>four</select></label>`, ($, keep) => {
    $("many").addEventListener("change", () => keep("many", [...$("many").selectedOptions].map((each) => each.value)));
  }),
  file: plain(`<label>Note <input id="file" type="file"></label>`, ($, keep) => {
    $("file").addEventListener("change", () => keep("file", [...$("file").files].map((each) => each.name)));
  }),
  details: plain(`<details id="box"><summary>More</summary><label><input type="checkbox" id="inside"> Loud</label></details>`, ($, keep) => {
    $("box").addEventListener("toggle", () => keep("open", $("box").open));
    $("inside").addEventListener("change", () => keep("inside", $("inside").checked));
  }),
  dialog: plain(`<button id="open">Rename</button><dialog id="asks"><form method="dialog"><label>Name <input id="name"></label><button value="no">Cancel</button><button id="ok" value="ok">Save</button></form></dialog>`, ($, keep) => {
    $("open").onclick = () => $("asks").showModal();
    $("asks").addEventListener("close", () => { keep("name", $("name").value); keep("closed", $("asks").returnValue); });
  }),
  contenteditable: plain(`<p>Note</p><div id="edit" contenteditable="true" aria-label="Note" style="border: 1px solid; min-height: 60px"></div>`, ($, keep) => {
    keep("text", "");
    $("edit").addEventListener("input", () => keep("text", $("edit").innerText.replace(/\u00a0/g, " ")));
  }),
  label_cancels: plain(`<label id="l1"><input type="radio" name="s" value="post"> Post</label><label id="l2"><input type="radio" name="s" value="express"> Express</label>`, ($, keep, root) => {
    for (const label of root.querySelectorAll("label")) label.addEventListener("click", (event) => {
      event.preventDefault();
      const radio = label.querySelector("input");
      setTimeout(() => { radio.checked = true; keep("shipping", radio.value); }, 20);
    });
  }),
  number_buttons: plain(`<button id="minus" aria-label="Fewer">-</button><input id="number" type="number" value="1" aria-label="Guests"><button id="plus" aria-label="More">+</button>`, ($, keep) => {
    const by = (step) => () => { $("number").value = Number($("number").value) + step; keep("count", Number($("number").value)); };
    $("minus").onclick = by(-1);
    $("plus").onclick = by(1);
  }),
  one_time_code: plain(`<p>Code</p>${[0, 1, 2, 3].map((n) => `<input id="d${n}" maxlength="1" size="1" aria-label="Digit ${n + 1}">`).join("")}`, ($, keep) => {
    for (const n of [0, 1, 2, 3]) $(`d${n}`).addEventListener("input", () => {
      keep("code", [0, 1, 2, 3].map((each) => $(`d${each}`).value).join(""));
      if ($(`d${n}`).value && n < 3) $(`d${n + 1}`).focus();
    });
  }),
  hover_menu: plain(`<ul><li id="products">Products</li></ul>`, menus(["products"], [`<button id="boats" data-page>Boats</button>`])),
  css_hover_menu: plain(`<style>.inner { display: none } li:hover .inner { display: block }</style><ul><li id="services">Services<div class="inner"><button id="repair">Repair</button></div></li></ul>`, ($, keep) => {
    $("repair").onclick = () => keep("page", "repair");
  }),
  hover_twice: plain(`<ul><li id="more">More</li></ul>`, menus(["more"], [`<div id="tools" data-more>Tools</div>`])),
  tooltip: plain(`<button id="save">Save</button> <span id="tip" role="tooltip"></span>`, ($, keep) => {
    let saved = 0;
    $("save").onmouseenter = () => { $("tip").textContent = "Saves all"; };
    $("save").onmouseleave = () => { $("tip").textContent = ""; };
    $("save").onclick = () => { saved += 1; keep("saved", saved); };
  }),
  copy_paste: plain(TWO, ($, keep) => typed($, keep, "two")),
  cut_paste: plain(TWO, ($, keep) => typed($, keep, "one", "two")),
  undo: plain(TWO, ($, keep) => typed($, keep, "one")),
  autofill: plain(`<form id="form"><label>Given name <input id="given" autocomplete="given-name"></label><label>Mail <input id="mail" autocomplete="email"></label><button id="send">Send</button></form>`, ($, keep) => {
    $("form").onsubmit = (event) => { event.preventDefault(); keep("sent", { given: $("given").value, mail: $("mail").value }); };
  }),
  input_method: plain(TWO, ($, keep) => typed($, keep, "one")),
  keyboard_only: plain(`<form id="form"><label>Name <input id="first"></label><label><input id="agree" type="checkbox"> Agree</label>
    <label><input type="radio" name="plan" value="a" checked> Plan A</label><label><input type="radio" name="plan" value="b"> Plan B</label>
    <label>Size <select id="size"><option>S<option>M<option>L</select></label><button>Send</button></form>`, ($, keep) => {
    $("form").onsubmit = (event) => {
      event.preventDefault();
      keep("sent", { name: $("first").value, agree: $("agree").checked, plan: new FormData($("form")).get("plan"), size: $("size").value });
    };
  }),
  rows_with_shift: plain(ROWS, rows),
  rows_with_control: plain(ROWS, rows),
  double_click_edit: plain(`<table><tr><th>Name</th></tr><tr><td id="cell">Old</td></tr></table>`, ($, keep) => {
    $("cell").ondblclick = () => {
      const old = $("cell").textContent;
      $("cell").innerHTML = `<input aria-label="New name">`;
      const input = $("cell").firstChild;
      input.value = old;
      input.focus();
      input.onkeydown = (event) => {
        if (event.key !== "Enter") return;
        const { value } = input;
        $("cell").textContent = value;
        keep("cell", value);
      };
    };
  }),
  address_changes_late: plain(`<button id="go">Go</button><button id="on">On</button>`, ($, keep) => {
    $("go").onclick = () => { keep("went", true); setTimeout(() => history.replaceState(null, "", "?late"), 1700); };
    $("on").onclick = () => keep("on", true);
  }),
  context_menu: plain(`<p id="thing">A file</p><div id="menu" hidden style="border: 1px solid"><button id="rename">Rename</button><button id="delete">Delete</button></div>`, ($, keep) => {
    $("thing").oncontextmenu = (event) => { event.preventDefault(); $("menu").hidden = false; };
    for (const id of ["rename", "delete"]) $(id).onclick = () => { keep("did", id); $("menu").hidden = true; };
  }),
  canvas_press: plain(`<canvas id="canvas" width="200" height="100" style="border: 1px solid"></canvas>`, ($, keep) => {
    const points = [];
    $("canvas").onclick = (event) => { points.push([Math.round(event.offsetX), Math.round(event.offsetY)]); keep("points", points); };
  }),
  canvas_drag: plain(`<canvas id="canvas" width="200" height="100" style="outline: 1px solid"></canvas>`, ($, keep) => {
    let from = null;
    $("canvas").onpointerdown = (event) => { from = [Math.round(event.offsetX), Math.round(event.offsetY)]; };
    $("canvas").onpointerup = (event) => keep("line", [from, [Math.round(event.offsetX), Math.round(event.offsetY)]]);
  }),
  ...Object.fromEntries(["native_drag", "native_drag_back"].map((name) => [name, plain(`<style>.column { width: 200px; min-height: 120px; border: 1px solid; display: inline-block; vertical-align: top }</style>
    <div class="column" id="todo"><b>To do</b><div class="card" id="card1" draggable="true">Caulk the hull</div><div class="card" id="card2" draggable="true">Mend the sail</div></div><div class="column" id="done"><b>Done</b></div>`, ($, keep) => {
    columns(keep);
    for (const id of ["card1", "card2"]) $(id).ondragstart = (event) => event.dataTransfer.setData("text/plain", id);
    for (const id of ["todo", "done"]) {
      $(id).ondragover = (event) => event.preventDefault();
      $(id).ondrop = (event) => { event.preventDefault(); $(id).append($(event.dataTransfer.getData("text/plain"))); columns(keep); };
    }
  })])),
  pointer_on_release: plain(`<button id="down">Act at once</button>`, ($, keep) => {
    let pressed = 0;
    $("down").addEventListener("pointerdown", () => { pressed += 1; keep("pressed", pressed); });
  }),
  wizard: plain(`<h1 id="at">Step 1</h1><button id="back">Back</button><button id="next">Next</button><button id="finish" hidden>Finish</button>`, ($, keep) => {
    let step = 1;
    const by = (n) => () => { step += n; $("at").textContent = `Step ${step}`; $("finish").hidden = step < 3; keep("step", step); };
    $("back").onclick = by(-1);
    $("next").onclick = by(1);
    $("finish").onclick = () => keep("finished", true);
  }),
  middle_button: plain(`<div>${[1, 2, 3].map((n) => `<button id="tab${n}">Tab ${n}</button>`).join("")}</div>`, ($, keep, root) => {
    for (const each of root.querySelectorAll("button")) each.addEventListener("auxclick", () => {
      each.remove();
      keep("tabs", [...root.querySelectorAll("button")].map((one) => Number(one.id.slice(3))));
    });
  }),
  splitter: plain(`<div style="display: flex; height: 100px; width: 600px"><div id="left" style="width: 200px; background: #eee">left</div><div id="line" style="width: 8px; background: #888; cursor: col-resize"></div><div id="right" style="flex: 1; background: #ddd">right</div></div>`, ($, keep) => {
    keep("left", 200);
    $("line").onpointerdown = (event) => {
      $("line").setPointerCapture(event.pointerId);
      $("line").onpointermove = (move) => { $("left").style.width = `${move.clientX - $("left").getBoundingClientRect().left}px`; };
      $("line").onpointerup = () => { $("line").onpointermove = null; keep("left", Math.round($("left").getBoundingClientRect().width)); };
    };
  }),
});
