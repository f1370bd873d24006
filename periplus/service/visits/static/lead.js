// The form in which a visitor leaves an address: opened by its buttons and at the end of the demo.

const el = (id) => document.getElementById(id);

/** Returns 32 hexadecimal digits; `randomUUID` is missing on pages without https. */
function makeKey() {
  return [...crypto.getRandomValues(new Uint8Array(16))].map((each) => each.toString(16).padStart(2, "0")).join("");
}

export class LeadForm {
  /** `post(body)` returns the server's answer, or null if it did not come; `say` returns the page's words. */
  constructor(post, say) {
    this.dialog = el("lead"); // null: the page has no form
    this.post = post;
    this.say = say;
    this.key = "";
    this.sent = false;
    if (!this.dialog) return;
    for (const button of document.querySelectorAll(".open-lead")) button.addEventListener("click", () => this.open());
    el("lead-close").addEventListener("click", () => this.dialog.close());
    el("lead-form").addEventListener("submit", (event) => {
      event.preventDefault();
      this.send();
    });
  }

  open() {
    if (!this.dialog || this.dialog.open) return;
    if (document.fullscreenElement) document.exitFullscreen();
    this.key ||= makeKey();
    el("lead-form").hidden = false;
    el("lead-sent").hidden = true;
    el("lead-trouble").textContent = "";
    this.dialog.showModal();
  }

  /** Opens it when the demo has come to its end or the visitor ended it, unless it was sent. */
  offer(ended) {
    if (this.dialog && !this.sent && (ended === "finished" || ended === "left")) this.open();
  }

  async send() {
    const form = el("lead-form");
    const values = Object.fromEntries(new FormData(form));
    el("lead-send").disabled = true;
    const answer = await this.post({ key: this.key, agreed: el("lead-agreed").checked, values });
    el("lead-send").disabled = false;
    if (!answer?.ok) {
      el("lead-trouble").textContent = await this.trouble(answer);
      return;
    }
    this.sent = true;
    this.key = "";
    form.reset();
    form.hidden = true;
    el("lead-sent").hidden = false;
    el("lead-sent").focus();
    setTimeout(() => el("lead-sent").hidden || this.dialog.close(), 4000);
  }

  async trouble(answer) {
    if (answer?.status === 409 && (await answer.json()).code === "too_many") return this.say("lead_too_many");
    if (answer?.status !== 422) return this.say("lead_failed");
    const names = (await answer.json()).errors.map((each) => each.location.split(".").at(-1));
    const labels = names.map((name) => document.querySelector(`label[for="lead-${CSS.escape(name)}"]`)?.firstChild?.textContent.trim());
    return this.say("lead_check", { fields: labels.filter(Boolean).join(", ") });
  }
}
