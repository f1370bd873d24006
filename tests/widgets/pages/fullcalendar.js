import { Calendar } from "@fullcalendar/core";
import dayGrid from "@fullcalendar/daygrid";
import interaction from "@fullcalendar/interaction";
import timeGrid from "@fullcalendar/timegrid";
import { start } from "./start.js";

const calendar = (more) => (root, keep) => {
  root.style.width = "900px";
  new Calendar(root, {
    plugins: [dayGrid, timeGrid, interaction], initialView: "dayGridMonth", initialDate: "2027-05-03", height: 620, editable: true,
    events: [{ id: "1", title: "Regatta", start: "2027-05-11" }],
    dateClick: (event) => keep("day", event.dateStr),
    eventDrop: (event) => keep("moved", event.event.startStr),
    select: (event) => {
      if (!event.allDay) keep("hours", [event.startStr, event.endStr].map((each) => each.slice(11, 16)));
      else { keep("from", event.startStr); keep("to", event.endStr); }
    },
    ...more,
  }).render();
};

start({
  day: calendar({}), move_event: calendar({}), select_days: calendar({ selectable: true }),
  select_hours: calendar({ selectable: true, initialView: "timeGridDay", slotMinTime: "08:00:00", slotMaxTime: "14:00:00", allDaySlot: false, events: [], timeZone: "UTC" }),
});
