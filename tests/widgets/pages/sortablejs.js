import Sortable from "sortablejs";
import { plain, start } from "./start.js";

const entry = (id) => `<li id="${id}" data-id="${id}" style="padding: 10px; border: 1px solid; width: 200px">Entry ${id}</li>`;

start({
  list: plain(`<ul id="list">${["s1", "s2", "s3", "s4"].map(entry).join("")}</ul>`, ($, keep) => {
    const made = new Sortable($("list"), { animation: 100, onEnd: () => keep("order", made.toArray().map((each) => Number(each.slice(1)))) });
  }),
  two_lists: plain(`<div style="display: flex; gap: 30px"><ul id="left">${["a1", "a2"].map(entry).join("")}</ul><ul id="right">${entry("b1")}</ul></div>`, ($, keep) => {
    const lists = ["left", "right"].map((id) => [id, new Sortable($(id), { group: "cards", animation: 100, onEnd: () => lists.forEach(([name, list]) => keep(name, list.toArray())) })]);
  }),
});
