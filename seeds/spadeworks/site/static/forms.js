// Small help while filling in a form. The server decides; this only says early what it would say.

function showProblem(field, text) {
  const note = document.getElementById(`${field.id}-error`);
  if (!note) return;
  note.textContent = text;
  note.hidden = !text;
  if (text) field.setAttribute("aria-invalid", "true");
  else field.removeAttribute("aria-invalid");
}

function missing(field) {
  if (!field.required || field.value.trim()) return "";
  const label = field.labels[0].textContent.trim().toLowerCase();
  return field.tagName === "SELECT" ? `Choose: ${label}` : `Enter: ${label}`;
}

for (const field of document.querySelectorAll(".field > :is(input, select, textarea)")) {
  let touched = false;
  field.addEventListener("input", () => {
    touched = true;
    showProblem(field, "");
  });
  field.addEventListener("change", () => {
    if (touched) showProblem(field, missing(field));
  });
}

for (const file of document.querySelectorAll('input[type="file"]')) {
  file.addEventListener("change", () => {
    const name = document.querySelector("[data-file-name]");
    name.textContent = file.files.length ? file.files[0].name : "No file chosen";
    showProblem(file, "");
  });
}
