// A visitor's page: receives the server's feed and sends the visitor's input. `view.js` draws.
import { LeadForm } from "./lead.js";
import { View } from "./view.js";

const el = (id) => document.getElementById(id);
const here = location.pathname.replace(/\/$/, "");
const WRITING_AGAIN_MS = 5000; // repeats the notice of typing, for which the presenter waits
const FRESH_MS = 4000; // older utterances are not played any more

let view;
let lead;
let last = 0;
let follower;
let room;
const sound = el("voice");
let wanted = 0; // number of the utterance to play; 0: none
let writing = 0;
let streaming = false;
let heard = true;

const post = (path, body) =>
  fetch(`${here}/${path}`, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify(body ?? {}),
  }).catch(() => null);

async function send(path, body) {
  const answer = await post(path, body);
  const trouble = { 503: "busy", 429: "too_much" }[answer?.status];
  view.trouble(answer === null ? "lost" : answer.ok ? null : (trouble ?? (path === "start" ? "no_more" : null)));
  return answer?.ok ?? false;
}

const say = (text, by) => send("say", { text, by });

// -- the server's feed -----------------------------------------------------------------------------

async function refresh() {
  const answer = await fetch(`${here}/state`);
  if (answer.status === 404) return location.reload(); // the link is no longer valid: the page says so
  const state = await answer.json();
  last = state.number;
  view.presenter = state.presenter;
  view.whole(state);
  await watch(state);
}

function follow() {
  follower?.close();
  follower = new EventSource(`${here}/events?after=${last}`);
  let lost = false;
  follower.onopen = () => {
    view.connected(true);
    if (lost && view.state === "playing" && !room) showPicture();
    lost = false;
  };
  follower.onerror = () => {
    lost = true;
    view.connected(false);
    // Browsers stop at a response that is no stream (the server is starting): reconnect from the last number.
    if (follower.readyState === EventSource.CLOSED) setTimeout(reconnect, 2000);
  };
  const on = (kind, react) =>
    follower.addEventListener(kind, (event) => {
      last = Number(event.lastEventId) || last;
      react(JSON.parse(event.data));
    });
  on("status", async (status) => {
    view.trouble(null);
    if (status.state === "playing" || status.state === "starting") return refresh();
    view.status(status);
    hush();
    if (status.state === "ended") lead.offer(status.ended);
    await watch(status);
  });
  on("chapters", ({ chapters }) => view.chapters(chapters));
  on("caption", ({ text }) => view.caption(text));
  on("line", (line) => view.line(line));
  on("pace", () => {});
  on("speech", (speech) => room || speak(speech));
  on("hush", hush);
  on("resync", refresh);
}

async function reconnect() {
  try {
    await refresh();
    follow();
  } catch {
    setTimeout(reconnect, 2000);
  }
}

// -- picture and sound -----------------------------------------------------------------------------

function showPicture() {
  streaming = true;
  el("picture").hidden = false;
  el("picture").src = `${here}/picture?${performance.now()}`;
}

async function watch(state) {
  const playing = state.state === "playing";
  if (!playing) {
    streaming = false; // the stream ends by itself; the last picture stays behind the end screen
    el("video").hidden = true;
    el("mic").hidden = true;
    if (room) sound.srcObject = null;
    await room?.disconnect();
    room = undefined;
    return;
  }
  if (state.livekit && !room) room = await join(state.livekit).catch(() => undefined);
  if (!room && !streaming) showPicture();
}

async function join({ url, token }) {
  await import("./livekit-client.js"); // defines LivekitClient
  const { Room, RoomEvent, Track } = globalThis.LivekitClient;
  const joined = new Room();
  joined.on(RoomEvent.TrackSubscribed, (track) => {
    if (track.kind === Track.Kind.Video) {
      track.attach(el("video"));
      el("video").hidden = false;
    } else {
      track.attach(sound);
      sound.muted = !heard;
    }
  });
  await joined.connect(url, token);
  el("picture").hidden = true;
  el("mic").hidden = false;
  return joined;
}

async function speak({ id, duration_s }) {
  wanted = id;
  const began = performance.now();
  sound.pause();
  sound.src = `${here}/speech/${id}`;
  try {
    await sound.play();
  } catch {
    return; // the browser blocks sound, or a newer utterance is playing
  }
  if (wanted !== id || performance.now() - began > Math.min(FRESH_MS, duration_s * 1000)) sound.pause();
}

function hush() {
  wanted = 0;
  if (!room) sound.pause();
}

// -- the visitor's input ---------------------------------------------------------------------------

function stopWriting() {
  if (writing) send("attention", { writing: false });
  writing = 0;
}

function wire() {
  el("start").addEventListener("click", async () => {
    el("start").disabled = true;
    sound.src = "data:audio/wav;base64,UklGRiQAAABXQVZFZm10IBAAAAABAAEAgD4AAAB9AAACABAAZGF0YQAAAAA=";
    sound.play().catch(() => {}); // during the click, so that the browser allows sound later
    await send("start");
    el("start").disabled = false;
  });
  el("picture").addEventListener("error", () => {
    el("picture").hidden = true;
    streaming = false;
  });
  for (const button of document.querySelectorAll("[data-say]"))
    button.addEventListener("click", () => say(view.say(`say_${button.dataset.say}`), "button"));
  el("pause").addEventListener("click", () => say(view.say(view.paused ? "say_go_on" : "say_pause"), "button"));
  el("end").addEventListener("click", () => send("end"));
  el("ask").addEventListener("click", () => {
    send("attention", { writing: true });
    writing = performance.now();
    el("words").focus();
  });
  view.onChapter = (chapter) => say(view.say("say_show", { title: chapter.title }), "button");
  el("words").addEventListener("input", () => {
    if (!el("words").value) return stopWriting();
    if (writing && performance.now() - writing < WRITING_AGAIN_MS) return;
    writing = performance.now();
    send("attention", { writing: true });
  });
  el("words").addEventListener("blur", () => {
    if (!el("words").value) stopWriting();
  });
  el("say").addEventListener("submit", async (event) => {
    event.preventDefault();
    const text = el("words").value.trim();
    if (!text) return;
    writing = 0;
    if (await say(text, "text")) el("words").value = "";
  });
  const mute = el("sound");
  mute.hidden = !view.voice;
  mute.addEventListener("click", () => {
    heard = !heard;
    mute.textContent = view.say(heard ? "sound_on" : "sound_off");
    sound.muted = !heard;
  });
  el("mic").addEventListener("click", async () => {
    const mine = room?.localParticipant;
    await mine?.setMicrophoneEnabled(!mine.isMicrophoneEnabled).catch(() => {}); // permission was denied
    el("mic").textContent = view.say(mine?.isMicrophoneEnabled ? "mic_on" : "mic_off");
  });
  el("full").hidden = !document.fullscreenEnabled;
  el("full").addEventListener("click", () => el("screen").requestFullscreen());
}

const language = document.body.dataset.language;
const words = await (await fetch("static/words.json")).json();
view = new View(words[language] ?? words.en, "");
lead = new LeadForm((body) => post("lead", body), (name, values) => view.say(name, values));
await refresh();
wire();
follow();
