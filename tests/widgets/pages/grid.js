import { AllCommunityModule, createGrid, ModuleRegistry } from "ag-grid-community";
import { start } from "./start.js";

ModuleRegistry.registerModules([AllCommunityModule]);
const ROWS = Array.from({ length: 500 }, (_, n) => ({ id: n, name: `Person ${n}`, city: ["Oslo", "Graz", "Porto"][n % 3], age: 20 + (n % 50) }));

const grid = (root, keep) => {
  root.style.cssText = "width: 700px; height: 400px";
  createGrid(root, {
    rowData: ROWS, columnDefs: [{ field: "name", editable: true }, { field: "city" }, { field: "age" }],
    rowSelection: { mode: "multiRow", enableClickSelection: true, checkboxes: false, headerCheckbox: false },
    onSortChanged: (event) => keep("sorted", Object.fromEntries(event.api.getColumnState().filter((each) => each.sort).map((each) => [each.colId, each.sort]))),
    onCellValueChanged: (event) => keep("edited", [event.data.id, event.newValue]),
    onSelectionChanged: (event) => keep("chosen", event.api.getSelectedRows().map((each) => each.id).sort((a, b) => a - b)),
    onDragStopped: (event) => keep("columns", event.api.getColumnState().map((each) => each.colId)),
  });
};

start({ sort: grid, edit: grid, far_row: grid, several_rows: grid, column_drag: grid });
