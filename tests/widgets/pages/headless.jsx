import { Combobox, ComboboxInput, ComboboxOption, ComboboxOptions, Disclosure, DisclosureButton, DisclosurePanel, Listbox, ListboxButton, ListboxOption, ListboxOptions, Menu, MenuButton, MenuItem, MenuItems, Radio, RadioGroup, Switch } from "@headlessui/react";
import { useEffect, useState } from "react";
import { shown, start } from "./start.js";

const PEOPLE = ["Durward", "Kenton", "Therese"];

const People = ({ keep }) => {
  const [person, setPerson] = useState("nobody");
  return <Listbox value={person} onChange={(value) => { setPerson(value); keep("person", value); }}><ListboxButton id="listbox">{person}</ListboxButton><ListboxOptions anchor="bottom">{PEOPLE.map((each) => <ListboxOption key={each} value={each}>{each}</ListboxOption>)}</ListboxOptions></Listbox>;
};
const Combo = ({ keep }) => {
  const [person, setPerson] = useState("Kenton");
  const [query, setQuery] = useState("");
  const fits = PEOPLE.filter((each) => each.toLowerCase().includes(query.toLowerCase()));
  return <Combobox value={person} onChange={(value) => { setPerson(value); keep("person", value); }} onClose={() => setQuery("")}><ComboboxInput id="combo" aria-label="Person" onChange={(event) => setQuery(event.target.value)} /><ComboboxOptions anchor="bottom">{fits.map((each) => <ComboboxOption key={each} value={each}>{each}</ComboboxOption>)}</ComboboxOptions></Combobox>;
};
const On = ({ keep }) => {
  const [on, setOn] = useState(false);
  return <Switch checked={on} aria-label="Lights" style={{ width: 44, height: 24 }} onChange={(value) => { setOn(value); keep("on", value); }}>{on ? "on" : "off"}</Switch>;
};
const Plan = ({ keep }) => {
  const [plan, setPlan] = useState("Startup");
  return <RadioGroup value={plan} aria-label="Plan" onChange={(value) => { setPlan(value); keep("plan", value); }}>{["Startup", "Business", "Enterprise"].map((each) => <Radio key={each} value={each}>{each}</Radio>)}</RadioGroup>;
};
const Panel = ({ open, keep }) => {
  useEffect(() => keep("open", open), [open, keep]);
  return <DisclosurePanel>Text</DisclosurePanel>;
};

start({
  listbox: shown(People), combobox: shown(Combo), switch: shown(On), radio_group: shown(Plan),
  menu: shown(({ keep }) => <Menu><MenuButton id="menu">Options</MenuButton><MenuItems anchor="bottom">{["Edit", "Copy"].map((each) => <MenuItem key={each}><button type="button" onClick={() => keep("did", each.toLowerCase())}>{each}</button></MenuItem>)}</MenuItems></Menu>),
  disclosure: shown(({ keep }) => <Disclosure>{({ open }) => <><DisclosureButton id="more">More</DisclosureButton><Panel open={open} keep={keep} /></>}</Disclosure>),
});
