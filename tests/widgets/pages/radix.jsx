import { Accordion, Checkbox, ContextMenu, Dialog, DropdownMenu, HoverCard, Menubar, Popover, RadioGroup, Select, Slider, Switch, Tabs, ToggleGroup } from "radix-ui";
import { shown, start } from "./start.js";

const FRUITS = ["Pear", "Plum", "Fig"];
const box = { border: "1px solid", padding: 6, background: "#fff" };

const OneSelect = ({ keep }) => (
  <Select.Root defaultValue="Apple" onValueChange={(value) => keep("fruit", value)}>
    <Select.Trigger id="fruit" aria-label="Fruit"><Select.Value /></Select.Trigger>
    <Select.Portal><Select.Content style={box}><Select.Viewport>
      {["Apple", ...FRUITS].map((each) => <Select.Item key={each} value={each}><Select.ItemText>{each}</Select.ItemText></Select.Item>)}
    </Select.Viewport></Select.Content></Select.Portal>
  </Select.Root>
);
const Menu = ({ keep }) => (
  <DropdownMenu.Root>
    <DropdownMenu.Trigger id="menu">File</DropdownMenu.Trigger>
    <DropdownMenu.Portal><DropdownMenu.Content style={box}>
      <DropdownMenu.Item onSelect={() => keep("did", "copy")}>Copy</DropdownMenu.Item>
      <DropdownMenu.Sub>
        <DropdownMenu.SubTrigger>Share</DropdownMenu.SubTrigger>
        <DropdownMenu.Portal><DropdownMenu.SubContent style={box}>
          <DropdownMenu.Item onSelect={() => keep("did", "mail")}>By mail</DropdownMenu.Item>
          <DropdownMenu.Item onSelect={() => keep("did", "link")}>By link</DropdownMenu.Item>
        </DropdownMenu.SubContent></DropdownMenu.Portal>
      </DropdownMenu.Sub>
      <DropdownMenu.Item onSelect={() => keep("did", "print")}>Print</DropdownMenu.Item>
    </DropdownMenu.Content></DropdownMenu.Portal>
  </DropdownMenu.Root>
);
const Context = ({ keep }) => (
  <ContextMenu.Root>
    <ContextMenu.Trigger id="area" style={{ display: "block", padding: 30, border: "1px dashed" }}>Right-click here</ContextMenu.Trigger>
    <ContextMenu.Portal><ContextMenu.Content style={box}>
      <ContextMenu.Item onSelect={() => keep("did", "copy")}>Copy</ContextMenu.Item>
      <ContextMenu.Item onSelect={() => keep("did", "delete")}>Delete</ContextMenu.Item>
    </ContextMenu.Content></ContextMenu.Portal>
  </ContextMenu.Root>
);
const Bar = ({ keep }) => (
  <Menubar.Root>
    <Menubar.Menu>
      <Menubar.Trigger>View</Menubar.Trigger>
      <Menubar.Portal><Menubar.Content style={box}>
        <Menubar.CheckboxItem checked={false} onCheckedChange={(value) => keep("grid", value)}>Grid</Menubar.CheckboxItem>
      </Menubar.Content></Menubar.Portal>
    </Menubar.Menu>
  </Menubar.Root>
);
const OneDialog = ({ keep }) => (
  <Dialog.Root>
    <Dialog.Trigger id="open">New</Dialog.Trigger>
    <Dialog.Portal><Dialog.Overlay style={{ position: "fixed", inset: 0, background: "#0006" }} />
      <Dialog.Content style={{ ...box, position: "fixed", top: 80, left: 80 }} aria-describedby={undefined}>
        <Dialog.Title>New book</Dialog.Title>
        <label>Title <input id="title" /></label>
        <Dialog.Close onClick={() => keep("title", document.getElementById("title").value)}>Save</Dialog.Close>
      </Dialog.Content></Dialog.Portal>
  </Dialog.Root>
);
const Pop = ({ keep }) => (
  <Popover.Root onOpenChange={(value) => keep("open", value)}>
    <Popover.Trigger id="pop">Settings</Popover.Trigger>
    <Popover.Portal><Popover.Content style={box}>
      <label><input type="checkbox" id="loud" onChange={(event) => keep("loud", event.target.checked)} /> Loud</label>
    </Popover.Content></Popover.Portal>
  </Popover.Root>
);
const Pages = ({ keep }) => (
  <Tabs.Root defaultValue="about" onValueChange={(value) => keep("tab", value)}>
    <Tabs.List><Tabs.Trigger value="about">About</Tabs.Trigger><Tabs.Trigger value="prices">Prices</Tabs.Trigger></Tabs.List>
    <Tabs.Content value="about">About us</Tabs.Content><Tabs.Content value="prices">From 5</Tabs.Content>
  </Tabs.Root>
);
const Parts = ({ keep }) => (
  <Accordion.Root type="single" collapsible onValueChange={(value) => keep("part", value)}>
    {["one", "two", "three"].map((each) => (
      <Accordion.Item key={each} value={each}>
        <Accordion.Header><Accordion.Trigger>{each[0].toUpperCase() + each.slice(1)}</Accordion.Trigger></Accordion.Header>
        <Accordion.Content>Text of {each}</Accordion.Content>
      </Accordion.Item>
    ))}
  </Accordion.Root>
);
const track = { position: "relative", display: "flex", alignItems: "center", width: 300, height: 20 };
const Volume = ({ keep, value = [30] }) => (
  <Slider.Root id={value.length > 1 ? "track2" : "track"} style={track} defaultValue={value} onValueChange={(now) => {
    if (now.length > 1) { keep("lower", now[0]); keep("upper", now[1]); } else keep("volume", now[0]);
  }}>
    <Slider.Track style={{ background: "#ccc", flex: 1, height: 4, position: "relative" }}><Slider.Range style={{ position: "absolute", background: "#338", height: 4 }} /></Slider.Track>
    {value.map((_, at) => <Slider.Thumb key={at} aria-label={value.length > 1 ? ["Least", "Most"][at] : "Volume"} style={{ display: "block", width: 16, height: 16, background: "#338", borderRadius: 8 }} />)}
  </Slider.Root>
);

start({
  select: shown(OneSelect), select_keyboard: shown(OneSelect),
  menu: shown(Menu), nested_menu: shown(Menu), menu_keyboard: shown(Menu),
  context_menu: shown(Context), menubar: shown(Bar), dialog: shown(OneDialog), popover: shown(Pop), tabs: shown(Pages), accordion: shown(Parts),
  switch: shown(({ keep }) => <label>Alarm <Switch.Root onCheckedChange={(value) => keep("alarm", value)} style={{ width: 40, height: 20 }}><Switch.Thumb /></Switch.Root></label>),
  checkbox: shown(({ keep }) => <label><Checkbox.Root onCheckedChange={(value) => keep("agree", value)} style={{ width: 20, height: 20 }}><Checkbox.Indicator>x</Checkbox.Indicator></Checkbox.Root> Agree</label>),
  radio: shown(({ keep }) => <RadioGroup.Root defaultValue="land" onValueChange={(value) => keep("way", value)}>{["land", "sea", "air"].map((each) => <RadioGroup.Item key={each} value={each} aria-label={`By ${each}`} style={{ width: 24, height: 24 }}><RadioGroup.Indicator>o</RadioGroup.Indicator></RadioGroup.Item>)}</RadioGroup.Root>),
  slider_pointer: shown(Volume), slider_keyboard: shown(Volume), slider_two: shown(({ keep }) => { keep("lower", 20); return <Volume keep={keep} value={[20, 60]} />; }),
  toggle_group: shown(({ keep }) => <ToggleGroup.Root type="multiple" onValueChange={(value) => keep("marks", value)}>{["bold", "italic", "under"].map((each) => <ToggleGroup.Item key={each} id={each} value={each}>{each}</ToggleGroup.Item>)}</ToggleGroup.Root>),
  hover_card: shown(({ keep }) => <HoverCard.Root openDelay={100}><HoverCard.Trigger id="person" href="#x">@ada</HoverCard.Trigger><HoverCard.Portal><HoverCard.Content style={box}><button type="button" id="follow" onClick={() => keep("follows", true)}>Follow</button></HoverCard.Content></HoverCard.Portal></HoverCard.Root>),
});
