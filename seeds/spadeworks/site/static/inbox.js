// Deletes messages one by one, and shows those that arrived meanwhile.

import { csrfToken } from "/static/app.js";

const SLIDE_MS = 200;

const mails = document.querySelector("[data-mails]");
const problem = document.querySelector("[data-inbox-error]");

function showLeft(left) {
  document.querySelector("[data-inbox]").hidden = left === 0;
  document.querySelector("[data-inbox-empty]").hidden = left !== 0;
  const badge = document.querySelector("[data-inbox-count]");
  if (!badge) return;
  badge.textContent = String(left);
  badge.setAttribute("aria-label", `${left} messages`);
  badge.hidden = left === 0;
}

function complain(text) {
  problem.textContent = text;
  problem.hidden = !text;
}

async function remove(button) {
  const row = button.closest(".mail");
  button.disabled = true;
  complain("");
  try {
    const answer = await fetch(button.dataset.delete, {
      method: "POST",
      headers: { accept: "application/json", "x-csrf-token": csrfToken() },
    });
    if (answer.status === 401) {
      window.location.assign("/session-expired?next=/inbox");
      return;
    }
    const body = await answer.json();
    if (!answer.ok) throw new Error(body.error);
    row.classList.add("leaving");
    setTimeout(() => {
      row.remove();
      mails.insertAdjacentHTML("beforeend", body.arrived.join(""));
      showLeft(body.left);
    }, SLIDE_MS);
  } catch (error) {
    button.disabled = false;
    complain(error instanceof TypeError ? "The connection was lost. Please reload the page." : error.message);
  }
}

mails.addEventListener("click", (event) => {
  const button = event.target.closest("[data-delete]");
  if (button) remove(button);
});
