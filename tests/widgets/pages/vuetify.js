import { createApp, h, ref } from "vue";
import { createVuetify } from "vuetify";
import * as components from "vuetify/components";
import "vuetify/styles";
import { start } from "./start.js";

const { VApp, VSelect, VCombobox, VSwitch, VExpansionPanels, VExpansionPanel, VSlider, VDatePicker, VRating, VCheckbox } = components;

/** A widget with one value: `told` says what is kept of it. */
const bound = (component, first, more, key, told = (value) => value, inside = undefined) => (root, keep) => {
  const value = ref(first);
  createApp({
    render: () => h(VApp, () => h("div", { style: "width: 420px; padding: 20px" }, [h(component, {
      ...more, modelValue: value.value, "onUpdate:modelValue": (now) => { value.value = now; keep(key, told(now)); },
    }, inside)])),
  }).use(createVuetify({ components })).mount(root);
};

start({
  select: bound(VSelect, null, { label: "Item", items: ["Foo", "Bar", "Baz"] }, "item"),
  combobox: bound(VCombobox, [], { label: "Tags", multiple: true, chips: true }, "tags", (now) => [...now]),
  switch: bound(VSwitch, false, { label: "Lights" }, "on"),
  panels: bound(VExpansionPanels, null, {}, "panel", (now) => now, () => [h(VExpansionPanel, { title: "Details", text: "Text" }), h(VExpansionPanel, { title: "More", text: "Text" })]),
  slider: bound(VSlider, 30, { label: "Level", step: 1 }, "level"),
  date_picker: bound(VDatePicker, null, {}, "day", (now) => now.getDate()),
  rating: bound(VRating, 0, {}, "stars"),
  checkbox: bound(VCheckbox, false, { label: "Agree" }, "agree"),
});
