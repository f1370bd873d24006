import { Accordion, AccordionDetails, AccordionSummary, Autocomplete, Button, Checkbox, Chip, Drawer, FormControlLabel, IconButton, InputLabel, List, ListItem, ListItemButton, ListItemIcon, ListItemText, Menu, MenuItem, Radio, RadioGroup, Rating, Select, Slider, Step, StepButton, Stepper, Switch, Tab, Tabs, TextField, ToggleButton, ToggleButtonGroup } from "@mui/material";
import { DateField, DatePicker, DigitalClock, LocalizationProvider } from "@mui/x-date-pickers";
import { AdapterDayjs } from "@mui/x-date-pickers/AdapterDayjs";
import dayjs from "dayjs";
import { useState } from "react";
import { shown, start } from "./start.js";

const DAY = dayjs("2027-05-03");
const Dates = ({ children }) => <LocalizationProvider dateAdapter={AdapterDayjs}>{children}</LocalizationProvider>;
const day = (keep) => (value) => value?.isValid() && keep("day", value.format("YYYY-MM-DD"));

const Age = ({ keep }) => {
  const [age, setAge] = useState("");
  return <><InputLabel id="age-label">Age</InputLabel><Select id="age" labelId="age-label" value={age} style={{ width: 200 }} onChange={(event) => { setAge(event.target.value); keep("age", event.target.value); }}>{["Ten", "Twenty", "Thirty"].map((each) => <MenuItem key={each} value={each}>{each}</MenuItem>)}</Select></>;
};
const Several = ({ keep }) => {
  const [tags, setTags] = useState([]);
  return <><InputLabel id="tags-label">Tags</InputLabel><Select id="tags" labelId="tags-label" multiple value={tags} style={{ width: 200 }} onChange={(event) => { setTags(event.target.value); keep("tags", event.target.value); }}>{["Red", "Green", "Blue"].map((each) => <MenuItem key={each} value={each}>{each}</MenuItem>)}</Select></>;
};
const Labels = ({ keep, value = [] }) => <Autocomplete id="labels" multiple freeSolo options={["urgent", "later"]} defaultValue={value} style={{ width: 400 }} onChange={(_, now) => keep("labels", now)} renderInput={(given) => <TextField {...given} label="Labels" />} renderTags={(all, get) => all.map((each, index) => { const { key, ...more } = get({ index }); return <Chip key={key} label={each} {...more} />; })} />;
const More = ({ keep }) => {
  const [at, setAt] = useState(null);
  const act = (name) => () => { keep("did", name); setAt(null); };
  return <><IconButton id="more" aria-label="More" onClick={(event) => setAt(event.currentTarget)}>+</IconButton><Menu anchorEl={at} open={at !== null} onClose={() => setAt(null)}><MenuItem onClick={act("edit")}>Edit</MenuItem><MenuItem onClick={act("archive")}>Archive</MenuItem></Menu></>;
};
const Side = ({ keep }) => {
  const [open, setOpen] = useState(false);
  const set = (value) => { setOpen(value); keep("open", value); };
  return <><Button id="drawer" onClick={() => set(true)}>Menu</Button><Drawer open={open} onClose={() => set(false)}><List>{["Inbox", "Drafts"].map((each) => <ListItem key={each} disablePadding><ListItemButton onClick={() => { keep("page", each.toLowerCase()); set(false); }}><ListItemText primary={each} /></ListItemButton></ListItem>)}</List></Drawer></>;
};
const TwoTabs = ({ keep }) => {
  const [tab, setTab] = useState(0);
  return <><Tabs value={tab} onChange={(_, value) => { setTab(value); keep("tab", value); }}><Tab label="One" /><Tab label="Two" /></Tabs><p>Page {tab + 1}</p></>;
};
const Align = ({ keep }) => {
  const [align, setAlign] = useState([]);
  return <ToggleButtonGroup value={align} onChange={(_, value) => { setAlign(value); keep("align", value); }}>{["left", "center", "right"].map((each) => <ToggleButton key={each} value={each}>{each}</ToggleButton>)}</ToggleButtonGroup>;
};
const Transfer = ({ keep }) => {
  const [right, setRight] = useState([]);
  const [ticked, setTicked] = useState([]);
  const left = [1, 2, 3].filter((each) => !right.includes(each));
  const flip = (each) => setTicked(ticked.includes(each) ? ticked.filter((one) => one !== each) : [...ticked, each]);
  const list = (items) => <List>{items.map((each) => <ListItemButton key={each} onClick={() => flip(each)}><ListItemIcon><Checkbox checked={ticked.includes(each)} tabIndex={-1} disableRipple /></ListItemIcon><ListItemText primary={`Item ${each}`} /></ListItemButton>)}</List>;
  return <div style={{ display: "flex" }}>{list(left)}<Button aria-label="move right" onClick={() => { const now = [...right, ...ticked]; setRight(now); setTicked([]); keep("right", now); }}>&gt;</Button>{list(right)}</div>;
};
const Steps = ({ keep }) => {
  const [step, setStep] = useState(0);
  const go = (to) => { setStep(to); keep("step", to); };
  return <><Stepper nonLinear activeStep={step}>{["Name", "Address", "Payment"].map((each, at) => <Step key={each}><StepButton onClick={() => go(at)}>{each}</StepButton></Step>)}</Stepper><Button id="next" onClick={() => go(step + 1)}>Next</Button></>;
};

start({
  select: shown(Age), select_several: shown(Several),
  autocomplete: shown(({ keep }) => <Autocomplete id="film" options={["Maria", "Nina", "Pinta"]} style={{ width: 300 }} onChange={(_, value) => keep("film", value)} renderInput={(given) => <TextField {...given} label="Ship" />} />),
  tags_input: shown(Labels), tags_remove: shown(({ keep }) => <Labels keep={keep} value={["first", "second"]} />),
  menu: shown(More), drawer: shown(Side),
  rating: shown(({ keep }) => <Rating name="stars" defaultValue={1} onChange={(_, value) => keep("stars", value)} />),
  slider: shown(({ keep }) => <Slider aria-label="Level" defaultValue={30} style={{ width: 300, margin: 30 }} onChange={(_, value) => keep("level", value)} />),
  slider_press: shown(({ keep }) => <Slider aria-label="Level" defaultValue={30} style={{ width: 300, margin: 30 }} onChange={(_, value) => keep("level", value)} />),
  date_picker: shown(({ keep }) => <Dates><DatePicker label="Day" defaultValue={DAY} onChange={day(keep)} /></Dates>),
  date_field: shown(({ keep }) => <Dates><DateField label="Day" onChange={day(keep)} /></Dates>),
  time_list: shown(({ keep }) => <Dates><DigitalClock onChange={(value) => keep("time", value.format("HH:mm"))} /></Dates>),
  tabs: shown(TwoTabs),
  accordion: shown(({ keep }) => <Accordion onChange={(_, open) => keep("open", open)}><AccordionSummary>Details</AccordionSummary><AccordionDetails>Text</AccordionDetails></Accordion>),
  switch: shown(({ keep }) => <FormControlLabel control={<Switch onChange={(event) => keep("on", event.target.checked)} />} label="Lights" />),
  radio: shown(({ keep }) => <RadioGroup defaultValue="red" onChange={(event) => keep("paint", event.target.value)}>{["Red", "Green", "Blue"].map((each) => <FormControlLabel key={each} value={each.toLowerCase()} control={<Radio />} label={each} />)}</RadioGroup>),
  toggle_buttons: shown(Align), transfer_list: shown(Transfer), stepper: shown(Steps),
});
