// Renders a site from its model with React, Vue, MUI or Ant Design. The page says which in `MODEL.make`.
/* global MODEL, React, ReactDOM, Vue, MaterialUI, antd */
(() => {
  const model = MODEL, make = model.make, parts = model.parts;
  const vue = make === "vue";
  const h = (type, props, ...children) =>
    vue ? Vue.h(type, props || {}, children.flat().filter((it) => it !== null && it !== "")) : React.createElement(type, props, ...children);
  const cls = (key) => (vue ? { class: model.classes[key] } : { className: model.classes[key] });
  const state = { ...model.state, page: "list", wanted: "", typed: "", form: {}, asked: null, tick: 0 };
  let draw = () => {};
  const change = (more) => { Object.assign(state, more); draw(); };
  const post = async (act, said) => {
    const answer = await fetch(`/api/${act}`, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(said) });
    if (!answer.ok) { change({ refused: "", message: "", asked: null }); return null; }
    const now = await answer.json();
    change({ ...now, asked: null });
    return now;
  };
  const boxed = (node, key) => {
    for (let n = 0; n < model.boxes; n++) node = h("div", { key: `${key}${n}` }, node);
    return node;
  };
  const said = (part) => ({ id: part.id || undefined, "data-testid": part.test_id || undefined });
  const icon = () => h("svg", { width: 16, height: 16, viewBox: "0 0 16 16", "aria-hidden": "true" }, h("path", { d: "M2 8h12M8 2v12" }));

  // -- controls --------------------------------------------------------------------------------------

  const press = (part, key, act, more = {}) => {
    if (part.removed) return null;
    const onClick = part.dead ? () => {} : act;
    const base = { key, ...said(part), ...cls(key === "save" ? "save" : "button"), ...more, onClick };
    const words = part.icon ? icon() : part.words;
    if (part.icon) base["aria-label"] = part.words;
    if (part.tag === "div" || part.tag === "a") {
      delete base.name;
      return boxed(h("div", { ...base, role: "button", tabIndex: 0 }, words), key);
    }
    if (make === "mui") return boxed(h(MaterialUI.Button, { ...base, variant: key === "save" ? "contained" : "text" }, words), key);
    if (make === "antd") return boxed(h(antd.Button, { ...base, type: key === "save" ? "primary" : "default" }, words), key);
    return boxed(h("button", { ...base, type: "button" }, words), key);
  };
  const input = (part, key, set, value) => {
    const base = { ...said(part), name: part.name || undefined, ...cls("field"), "aria-label": part.label === "aria" ? part.words : undefined, placeholder: part.label === "placeholder" ? part.words : undefined };
    if (part.label === "for" && !base.id) base.id = `f-${key}`;
    const tag = key === "note" ? "textarea" : "input";
    if (vue) return h(tag, { ...base, key, value, onInput: (event) => set(event.target.value) });
    const onChange = (event) => set(event.target.value);
    if (make === "mui") {
      const { id, name, placeholder, ...rest } = base;
      return h(MaterialUI.TextField, { key, id, name, placeholder, margin: "normal", value, onChange, label: part.label === "for" ? part.words : undefined, inputProps: { "aria-label": rest["aria-label"], "data-testid": rest["data-testid"] }, multiline: key === "note" });
    }
    if (make === "antd") return h(key === "note" ? antd.Input.TextArea : antd.Input, { key, ...base, value, onChange });
    return h(tag, { ...base, key, value, onChange });
  };
  const list = (part, key, set) => {
    const base = { ...said(part), name: part.name || undefined, ...cls("list"), "aria-label": part.label === "aria" ? part.words : undefined };
    if (part.label === "for" && !base.id) base.id = `f-${key}`;
    const value = state.form[key] ?? model.options[0][0];
    if (make === "mui") {
      const items = model.options.map(([value, words]) => h("option", { key: value, value }, words));
      return h(MaterialUI.TextField, { key, id: base.id, name: base.name, select: true, SelectProps: { native: true }, margin: "normal", label: part.label === "for" ? part.words : undefined, value, onChange: (event) => set(event.target.value), style: { minWidth: 220 } }, items);
    }
    const options = model.options.map(([value, words]) => h("option", { key: value, value }, words));
    return h("select", { key, ...base, value, onChange: (event) => set(event.target.value) }, options);
  };
  const tick = (part, key, set) => {
    const checked = Boolean(state.form[key]);
    const onChange = (event) => {
      if (part.forgets) event.target.checked = false; // Vue draws only what differs from what it drew last
      set(event.target.checked);
    };
    if (make === "antd") return h(antd.Checkbox, { key, id: part.id || undefined, name: part.name || undefined, checked, onChange }, part.words);
    if (make === "mui") return h(MaterialUI.FormControlLabel, { key, label: part.words, control: h(MaterialUI.Checkbox, { id: part.id || undefined, name: part.name || undefined, checked, onChange }) });
    const box = h("input", { key, ...said(part), ...(part.label === "for" && !part.id ? { id: `f-${key}` } : {}), name: part.name || undefined, type: "checkbox", ...cls("tick"), checked, onChange });
    if (part.label === "for") return h("div", { key: `${key}-tick` }, box, h("label", { key: "label", [vue ? "for" : "htmlFor"]: part.id || `f-${key}` }, part.words));
    return h("label", { key: `${key}-tick` }, box, " ", part.words);
  };
  const labelled = (part, key, node) => {
    if (key === "urgent" || (make === "mui" && part.label === "for")) return boxed(h("div", { key: `${key}-box`, ...cls("box") }, node), key);
    let inner = node;
    if (part.label === "for") inner = [h("label", { key: "label", ...cls("label"), [vue ? "for" : "htmlFor"]: part.id || `f-${key}` }, part.words), node];
    else if (part.label === "around" || (part.label === "placeholder" && key === "kind")) inner = h("label", { key: "label", ...cls("label") }, h("span", { key: "words" }, part.words), node);
    return boxed(h("div", { key: `${key}-box`, ...cls("box") }, inner), key);
  };
  const fieldOf = (key) => {
    const part = parts[key], set = (value) => change({ form: { ...state.form, [key]: part.forgets ? undefined : value } });
    const found = [];
    if (model.beside[key]) {
      const second = { words: model.beside[key], label: part.label, id: "", name: "", test_id: "" };
      found.push(labelled(second, "second", input(second, "second", (value) => change({ form: { ...state.form, second: value } }), state.form.second ?? "")));
    }
    if (part.removed) return found;
    const node = key === "kind" ? list(part, key, set) : key === "urgent" ? tick(part, key, set) : input(part, key, set, state.form[key] ?? "");
    found.push(labelled(part, key, node));
    return found;
  };

  // -- pages -------------------------------------------------------------------------------------------

  const messages = () => [
    state.message ? h("p", { key: "message", role: "status" }, state.message) : null,
    state.refused ? h("p", { key: "refused", role: "alert" }, state.refused) : null,
  ];
  const rowButton = (key, row) => {
    if (key === "other" || key === "more") return press({ words: key === "other" ? model.other_act : "Look at it" }, key, () => {});
    const part = parts[key];
    if (key === "remove") return press(part, key, () => change({ asked: row }));
    return press(part, key, () => post(part.opposite || key, { row: String(row.id) }), { name: part.name || undefined });
  };
  const listPage = () => {
    const kinds = Object.fromEntries(model.options);
    const none = state.wanted && model.bugs.includes("nothing_found");
    const shown = none ? [] : state.rows.filter((row) => row.name.toLowerCase().includes(state.wanted.toLowerCase()));
    const cell = (row, column) => h("td", { key: column }, column === "name" ? row.name : kinds[row.kind] || row.kind);
    const gone = state.message && model.bugs.includes("open_gone");
    const open = gone ? null : press(parts.open, "open", () => change({ page: "form", form: {}, message: "", refused: "" }));
    const search = h("div", { key: "search", role: "search" },
      labelled(parts.search, "search", input(parts.search, "search", (typed) => change({ typed: parts.search.forgets ? "" : typed }), state.typed)),
      press(parts.find, "find", () => change({ wanted: state.typed, message: "" })));
    const table = h("table", { key: "table", ...cls("table") },
      h("thead", { key: "head" }, h("tr", null, model.columns.map((column) => h("th", { key: column }, model.column_words[column])), h("th", { key: "acts" }))),
      h("tbody", { key: "body" }, shown.map((row) => h("tr", { key: row.id }, model.columns.map((column) => cell(row, column)), h("td", { key: "acts" }, model.row_buttons.map((key) => rowButton(key, row)))))));
    const lastOpen = parts.open.place === "last", lastSearch = parts.search.place === "last";
    return h("main", { key: "list" }, h("header", { key: "top" }, h("h1", null, model.list_heading)), messages(),
      lastOpen ? null : open, lastSearch ? null : search, table, lastSearch ? search : null, lastOpen ? open : null, dialog());
  };
  const dialog = () => {
    const row = state.asked;
    if (!row && make !== "mui" && make !== "antd") return null;
    const words = model.dialog.replace("{name}", row ? row.name : "");
    const confirm = press(parts.confirm, "confirm", () => post("remove", { row: String(row.id) }));
    const close = press({ words: model.close }, "close", () => change({ asked: null }));
    if (make === "mui") return h(MaterialUI.Dialog, { key: "ask", open: Boolean(row), transitionDuration: 0 }, h(MaterialUI.DialogTitle, null, words), h(MaterialUI.DialogActions, null, close, confirm));
    if (make === "antd") return h(antd.Modal, { key: "ask", open: Boolean(row), title: words, transitionName: "", maskTransitionName: "", onCancel: () => change({ asked: null }), footer: [close, confirm] });
    return h("div", { key: "ask", role: "dialog", "aria-modal": "true", "aria-label": words }, h("p", { key: "words" }, words), confirm, close);
  };
  const formPage = () => {
    const send = async () => {
      const now = await post(parts.save.opposite || "create", { kind: model.options[0][0], ...state.form });
      if (now && !now.refused && !model.bugs.includes("wrong_redirect")) change({ page: "list", wanted: "", typed: "" });
    };
    const save = press(parts.save, "save", send);
    const other = model.beside.save ? press({ words: model.beside.save }, "more", () => post("create_more", {})) : null;
    let fields = model.fields.map(fieldOf);
    if (model.groups.length) {
      const half = Math.floor(fields.length / 2);
      fields = model.groups.map((title, n) => h("fieldset", { key: title }, h("legend", { key: "legend" }, title), n ? fields.slice(half) : fields.slice(0, half)));
    }
    const first = parts.save.place === "first";
    return h("main", { key: "form" }, h("h1", { key: "h" }, model.form_heading), messages(),
      h("form", { key: "fields", ...cls("form"), onSubmit: (event) => event.preventDefault() }, first ? [other, save] : null, fields, first ? null : [other, save]));
  };
  const page = () => (state.page === "list" ? listPage() : formPage());
  const root = document.getElementById("root");
  if (vue) {
    const tick = Vue.ref(0);
    draw = () => { tick.value += 1; };
    Vue.createApp({ render: () => (tick.value, page()) }).mount(root);
  } else {
    const drawn = ReactDOM.createRoot(root);
    draw = () => drawn.render(make === "mui" ? h(MaterialUI.StyledEngineProvider, null, page()) : page());
    draw();
  }
})();
