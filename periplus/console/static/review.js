// One key for each decision. Without this script the buttons are pressed.
document.addEventListener("keydown", (event) => {
  const typing = event.target.closest("input:not([type=hidden]), select, textarea");
  if (typing || event.ctrlKey || event.metaKey || event.altKey || !/^[a-z]$/.test(event.key)) return;
  const control = document.querySelector(`[data-key="${event.key}"]`);
  if (!control) return;
  event.preventDefault();
  const field = control.form?.querySelector("[name=answer]");
  if (field && !field.value) field.focus();
  else control.click();
});
