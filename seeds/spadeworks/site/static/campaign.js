// The filter dialog of a campaign's audience: what is applied becomes a chip that the form sends.

const dialog = document.querySelector("[data-filter-dialog]");
const chips = document.querySelector("[data-chips]");

function chip(text) {
  const element = document.createElement("span");
  element.className = chips.dataset.chipClass;
  element.setAttribute("role", "listitem");
  const label = document.createElement("span");
  label.textContent = text;
  const input = document.createElement("input");
  input.type = "hidden";
  input.name = "filters";
  input.value = text;
  const remove = document.createElement("button");
  remove.type = "button";
  remove.textContent = "×";
  remove.setAttribute("aria-label", `Remove filter ${text}`);
  element.append(label, input, remove);
  return element;
}

function wire() {
  const field = dialog.querySelector("[data-filter-field]");
  const value = dialog.querySelector("[data-filter-value]");
  const note = document.getElementById(`${value.id}-error`);
  const apply = () => {
    const text = value.value.trim();
    note.textContent = text ? "" : "Enter a value";
    note.hidden = Boolean(text);
    if (!text) return;
    chips.append(chip(`${field.value}: ${text}`));
    value.value = "";
    dialog.close();
  };
  field.addEventListener("change", () => {
    value.placeholder = field.selectedOptions[0].dataset.hint;
  });
  dialog.querySelector("[data-apply-filter]").addEventListener("click", apply);
  value.addEventListener("keydown", (event) => {
    if (event.key === "Enter") apply();
  });
  chips.addEventListener("click", (event) => {
    const remove = event.target.closest('[role="listitem"] button');
    if (remove) remove.closest('[role="listitem"]').remove();
  });
}

if (dialog) wire();
