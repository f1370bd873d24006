import { closestCenter, DndContext, DragOverlay, KeyboardSensor, PointerSensor, useDraggable, useDroppable, useSensor, useSensors } from "@dnd-kit/core";
import { arrayMove, SortableContext, sortableKeyboardCoordinates, useSortable, verticalListSortingStrategy } from "@dnd-kit/sortable";
import { useState } from "react";
import { shown, start } from "./start.js";

const moved = (transform) => (transform ? { transform: `translate(${transform.x}px, ${transform.y}px)` } : {});
const Card = ({ id }) => {
  const { attributes, listeners, setNodeRef } = useDraggable({ id });
  return <div id={`card-${id}`} ref={setNodeRef} style={{ padding: 10, border: "1px solid", margin: 6 }} {...listeners} {...attributes}>Card {id}</div>;
};
const Column = ({ id, cards }) => {
  const { setNodeRef } = useDroppable({ id });
  return <div id={`column-${id}`} ref={setNodeRef} style={{ width: 220, minHeight: 200, border: "1px solid" }}><h2>{id}</h2>{cards.map((each) => <Card key={each} id={each} />)}</div>;
};
const Kanban = ({ keep }) => {
  const [columns, setColumns] = useState({ todo: ["a", "b"], done: [] });
  const [held, setHeld] = useState(null);
  const sensors = useSensors(useSensor(PointerSensor, { activationConstraint: { distance: 6 } }));
  const end = ({ active, over }) => {
    setHeld(null);
    if (!over) return;
    const now = Object.fromEntries(Object.entries(columns).map(([name, cards]) => [name, cards.filter((each) => each !== active.id)]));
    now[over.id].push(active.id);
    setColumns(now);
    Object.entries(now).forEach(([name, cards]) => keep(name, cards));
  };
  return <DndContext sensors={sensors} onDragStart={({ active }) => setHeld(active.id)} onDragEnd={end}><div style={{ display: "flex", gap: 20 }}>{Object.entries(columns).map(([id, cards]) => <Column key={id} id={id} cards={cards} />)}</div><DragOverlay>{held && <div style={{ padding: 10, background: "#ffd" }}>Card {held}</div>}</DragOverlay></DndContext>;
};
const Item = ({ id }) => {
  const { attributes, listeners, setNodeRef, transform, transition } = useSortable({ id });
  return <div id={`item-${id}`} ref={setNodeRef} style={{ padding: 12, border: "1px solid", width: 240, transition, ...moved(transform) }} {...attributes} {...listeners}>Entry {id}</div>;
};
const Sortable = ({ keep }) => {
  const [items, setItems] = useState([1, 2, 3, 4]);
  const sensors = useSensors(useSensor(PointerSensor), useSensor(KeyboardSensor, { coordinateGetter: sortableKeyboardCoordinates }));
  const end = ({ active, over }) => {
    if (!over || active.id === over.id) return;
    const now = arrayMove(items, items.indexOf(active.id), items.indexOf(over.id));
    setItems(now);
    keep("order", now);
  };
  return <DndContext sensors={sensors} collisionDetection={closestCenter} onDragEnd={end}><SortableContext items={items} strategy={verticalListSortingStrategy}>{items.map((each) => <Item key={each} id={each} />)}</SortableContext></DndContext>;
};

start({ kanban: shown(Kanban), sortable: shown(Sortable), sortable_keyboard: shown(Sortable) });
