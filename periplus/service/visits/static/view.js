// Draws the server's data: state, chapters, caption, conversation. Sends no requests.

const el = (id) => document.getElementById(id);

function put(tag, text, kind) {
  const made = document.createElement(tag);
  made.textContent = text;
  if (kind) made.className = kind;
  return made;
}

export class View {
  constructor(words, presenter) {
    this.words = words;
    this.presenter = presenter;
    this.paused = false;
    this.lines = new Map();
    this.state = "waiting";
    this.onChapter = () => {};
  }

  /** Returns the text for `name`, with `{x}` replaced. */
  say(name, values = {}) {
    return (this.words[name] ?? name).replace(/\{(\w+)\}/g, (_, key) => values[key] ?? "");
  }

  /** Draws the complete state from `/state`. */
  whole(state) {
    this.minutes = state.minutes;
    this.voice = state.voice;
    el("lines").replaceChildren();
    this.lines.clear();
    this.paused = false;
    for (const line of state.lines) this.line(line);
    this.chapters(state.chapters);
    this.caption(state.caption);
    this.status(state);
  }

  status({ state, ended }) {
    this.state = state;
    if (state !== "playing") this.paused = false;
    const playing = state === "playing";
    el("curtain").hidden = playing;
    el("start").hidden = playing || state === "starting";
    el("start").textContent = this.say(state === "ended" ? "start_again" : "start");
    el("about").hidden = state === "ended";
    el("ending").textContent = state === "ended" ? this.say(`ended_${ended ?? "closed"}`) : state === "starting" ? this.say("starting") : "";
    for (const id of ["next", "lead-next"]) if (el(id)) el(id).hidden = state !== "ended";
    const length = this.minutes ? `${this.say("minutes", { n: Math.max(1, Math.round(this.minutes)) })}. ` : "";
    el("hint").textContent = state === "waiting" ? length + this.say(this.voice ? "with_sound" : "without_sound") : "";
    for (const button of document.querySelectorAll("#controls button:not(.open-lead)")) button.disabled = !playing;
    for (const button of document.querySelectorAll("#chapters button")) button.disabled = !playing;
    el("words").disabled = !playing;
    document.querySelector("#say button").disabled = !playing;
    this.mark(playing && this.paused ? "paused" : state);
    this.pause(this.paused);
  }

  mark(state) {
    const status = el("status");
    status.dataset.state = state;
    status.textContent = this.say(state === "paused" || state === "lost" ? state : `state_${state}`);
  }

  /** Shows whether the connection is lost. */
  connected(there) {
    if (!there) this.mark("lost");
    else this.mark(this.paused ? "paused" : this.state);
  }

  pause(paused) {
    this.paused = paused;
    el("pause").textContent = this.say(paused ? "go_on" : "pause");
    if (this.state === "playing") this.mark(paused ? "paused" : "playing");
  }

  caption(text) {
    el("caption").textContent = text;
  }

  chapters(chapters) {
    const focused = document.activeElement?.closest?.("#chapters li")?.dataset.id;
    const made = chapters.map((chapter) => {
      const item = put("li", "", chapter.status);
      item.dataset.id = chapter.id;
      if (chapter.status === "now") item.setAttribute("aria-current", "step");
      const button = put("button", "");
      button.type = "button";
      button.disabled = this.state !== "playing";
      button.title = this.say("show_chapter", { title: chapter.title });
      button.append(put("span", chapter.title, "title"));
      const why = chapter.why ? `: ${this.say(`why_${chapter.why}`)}` : "";
      if (chapter.status !== "ahead") button.append(put("small", this.say(`chapter_${chapter.status}`) + why));
      button.addEventListener("click", () => this.onChapter(chapter));
      item.append(button);
      return item;
    });
    el("chapters").replaceChildren(...made);
    if (focused) document.querySelector(`#chapters li[data-id="${CSS.escape(focused)}"] button`)?.focus();
  }

  /** Adds or updates a line of the conversation. */
  line(line) {
    const list = el("lines");
    const atEnd = list.scrollHeight - list.scrollTop - list.clientHeight < 60;
    const item = put("li", "", `${line.who} ${line.kind}`);
    item.append(put("span", `${line.who === "visitor" ? this.say("you") : this.presenter}: `, "who"));
    item.append(put("span", line.text, "text"));
    if (line.understood) item.append(put("small", `${this.say("understood")}: ${line.understood}`, "understood"));
    if (line.kind === "declined") item.append(put("small", this.say("declined")));
    if (line.sources?.length) item.append(put("small", `${this.say("from")}: ${line.sources.join(", ")}`, "sources"));
    const former = this.lines.get(line.id);
    if (former) former.replaceWith(item);
    else list.append(item);
    this.lines.set(line.id, item);
    if (line.request === "pause") this.pause(true);
    else if (line.request) this.pause(false);
    if (atEnd) list.scrollTop = list.scrollHeight;
  }

  trouble(name) {
    el("trouble").textContent = name ? this.say(name) : "";
  }
}
