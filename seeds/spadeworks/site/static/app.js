// What every page can do: the user menu, dialogs, toasts, the cookie notice and the newsletter.

const TOAST_MS = 8000;

export function csrfToken() {
  return document.querySelector('meta[name="csrf-token"]').content;
}

function wireUserMenu() {
  const panel = document.getElementById("user-panel");
  if (!panel) return;
  const button = panel.previousElementSibling;
  const show = (open) => {
    panel.hidden = !open;
    button.setAttribute("aria-expanded", String(open));
  };
  button.addEventListener("click", () => show(panel.hidden));
  document.addEventListener("click", (event) => {
    if (!panel.parentElement.contains(event.target)) show(false);
  });
  panel.parentElement.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || panel.hidden) return;
    show(false);
    button.focus();
  });
}

function wireDialogs() {
  for (const opener of document.querySelectorAll("[data-opens]")) {
    opener.addEventListener("click", () => document.getElementById(opener.dataset.opens).showModal());
  }
  for (const closer of document.querySelectorAll("dialog [data-closes]")) {
    closer.addEventListener("click", () => closer.closest("dialog").close());
  }
}

function wireToasts() {
  for (const toast of document.querySelectorAll(".toast-box")) {
    const leave = () => {
      toast.classList.add("leaving");
      setTimeout(() => toast.remove(), 250);
    };
    let timer = setTimeout(leave, TOAST_MS);
    toast.addEventListener("pointerenter", () => clearTimeout(timer));
    toast.addEventListener("pointerleave", () => {
      timer = setTimeout(leave, TOAST_MS);
    });
    toast.querySelector(".toast-close").addEventListener("click", leave);
  }
}

function wireCookieNotice() {
  for (const button of document.querySelectorAll("[data-consent]")) {
    button.addEventListener("click", () => {
      document.cookie = `sw_consent=${button.dataset.consent}; Path=/; Max-Age=31536000; SameSite=Lax`;
      button.closest("section").remove();
    });
  }
}

function wireNewsletter() {
  const buttons = document.querySelectorAll("[data-dismiss-overlay]");
  for (const button of buttons) {
    button.addEventListener("click", () => button.closest(".overlay").remove());
  }
  if (buttons.length) buttons[0].focus();
}

// A form is sent once, however often its button is pressed.
function wireForms() {
  for (const form of document.querySelectorAll('form[method="post"]')) {
    form.addEventListener("submit", (event) => {
      if (form.dataset.sent) event.preventDefault();
      form.dataset.sent = "yes";
      for (const button of form.querySelectorAll('[type="submit"]')) button.setAttribute("aria-disabled", "true");
    });
  }
  window.addEventListener("pageshow", () => {
    for (const form of document.querySelectorAll("form[data-sent]")) {
      delete form.dataset.sent;
      for (const button of form.querySelectorAll("[aria-disabled]")) button.removeAttribute("aria-disabled");
    }
  });
}

wireUserMenu();
wireDialogs();
wireToasts();
wireCookieNotice();
wireNewsletter();
wireForms();
