// Forbids and allows calls to a contact without reloading the page.

import { csrfToken } from "/static/app.js";

async function switchCalls(button) {
  button.disabled = true;
  try {
    const answer = await fetch(button.dataset.calls, {
      method: "POST",
      headers: { accept: "application/json", "x-csrf-token": csrfToken() },
    });
    if (answer.status === 401) {
      window.location.assign("/session-expired?next=/contacts");
      return;
    }
    if (!answer.ok) throw new Error(answer.statusText);
    button.closest("tr").outerHTML = (await answer.json()).row;
  } catch {
    button.disabled = false;
  }
}

document.querySelector("tbody").addEventListener("click", (event) => {
  const button = event.target.closest("[data-calls]");
  if (button) switchCalls(button);
});
