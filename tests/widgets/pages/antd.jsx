import { Cascader, ColorPicker, DatePicker, Dropdown, Input, InputNumber, Popconfirm, Rate, Segmented, Select, Slider, Switch, Table, TimePicker, Transfer, Tree, Upload } from "antd";
import dayjs from "dayjs";
import { useState } from "react";
import { shown, start } from "./start.js";

const NAMES = ["Jack", "Lucy", "Tom"].map((each) => ({ value: each, label: each }));
const DAY = dayjs("2027-05-03");
const TREE = [{ title: "fleet", key: "0", children: [{ title: "leaf a", key: "0-0" }, { title: "leaf b", key: "0-1" }] }, { title: "other", key: "1" }];
const PLACES = [{ value: "north", label: "North", children: [{ value: "oslo", label: "Oslo" }] }, { value: "south", label: "South" }];
const PEOPLE = ["Ada", "Grace", "Edith"].map((name) => ({ key: name.toLowerCase(), name }));
const wide = { width: 240 };
const text = (value) => value?.format("YYYY-MM-DD");

const Lists = ({ keep }) => {
  const [right, setRight] = useState([]);
  return <Transfer dataSource={["1", "2", "3"].map((key) => ({ key, title: `Entry ${key}` }))} targetKeys={right} render={(each) => each.title} onChange={(now) => { setRight(now); keep("right", now); }} />;
};

start({
  select: shown(({ keep }) => <Select aria-label="Name" style={wide} options={NAMES} onChange={(value) => keep("name", value)} />),
  select_several: shown(({ keep }) => <Select mode="multiple" aria-label="Names" style={wide} options={NAMES} onChange={(value) => keep("names", value)} />),
  select_search: shown(({ keep }) => <Select showSearch aria-label="Name" style={wide} options={NAMES} onChange={(value) => keep("name", value)} />),
  date_picker: shown(({ keep }) => <DatePicker defaultPickerValue={DAY} onChange={(value) => keep("day", text(value))} />),
  date_range: shown(({ keep }) => <DatePicker.RangePicker defaultPickerValue={[DAY, DAY]} onChange={(value) => { keep("from", text(value[0])); keep("to", text(value[1])); }} />),
  time_picker: shown(({ keep }) => <TimePicker format="HH:mm" onChange={(value) => keep("time", value.format("HH:mm"))} />),
  color_picker: shown(({ keep }) => <ColorPicker defaultValue="#1677ff" onChange={(value) => keep("color", value.toHexString())} />),
  tree: shown(({ keep }) => <Tree checkable treeData={TREE} onCheck={(keys) => keep("keys", keys)} />),
  tree_drag: shown(({ keep }) => <Tree draggable defaultExpandAll treeData={TREE} onDrop={(info) => keep("dropped", [info.dragNode.key, info.node.key])} />),
  cascader: shown(({ keep }) => <Cascader style={wide} options={PLACES} onChange={(value) => keep("place", value)} />),
  transfer: shown(Lists),
  input_number: shown(({ keep }) => <InputNumber aria-label="Guests" defaultValue={3} onChange={(value) => keep("number", value)} />),
  rate: shown(({ keep }) => <Rate onChange={(value) => keep("stars", value)} />),
  slider: shown(({ keep }) => <Slider style={{ width: 300, margin: 30 }} defaultValue={30} tooltip={{ open: false }} onChange={(value) => keep("level", value)} />),
  segmented: shown(({ keep }) => <Segmented options={["Day", "Week", "Month"]} onChange={(value) => keep("span", value)} />),
  switch: shown(({ keep }) => <Switch aria-label="Lights" onChange={(value) => keep("on", value)} />),
  dropdown_hover: shown(({ keep }) => <Dropdown menu={{ items: [{ key: "first", label: "First" }, { key: "second", label: "Second" }], onClick: (event) => keep("did", event.key) }}><span id="drop">Hover me</span></Dropdown>),
  popconfirm: shown(({ keep }) => <Popconfirm title="Delete it?" onConfirm={() => keep("deleted", true)}><button type="button" id="delete">Delete</button></Popconfirm>),
  upload: shown(({ keep }) => <Upload beforeUpload={() => false} onChange={(event) => keep("files", event.fileList.map((each) => each.name))}><button type="button">Choose file</button></Upload>),
  one_time_code: shown(({ keep }) => <Input.OTP length={4} onChange={(value) => keep("code", value)} />),
  table: shown(({ keep }) => <Table pagination={false} rowSelection={{ onChange: (keys) => keep("rows", keys) }} columns={[{ title: "Name", dataIndex: "name", sorter: (a, b) => a.name.localeCompare(b.name) }]} dataSource={PEOPLE} onChange={(_, __, sorter) => keep("sorted", sorter.order)} />),
});
