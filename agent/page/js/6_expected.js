// Timers, requests and tasks that the page has scheduled. On a page at rest an element moves only because of
// these, so knowing them replaces most waiting: if nothing is due soon, there is nothing to wait for.

const TIMERS_KEPT = 500; // a page with more under way is treated like one that is not known
const RUN_SHOWS_MS = 50; // and as many frames as this: what a timer begins (a smooth scroll) shows by then
const RUN_SHOWS_FRAMES = 4; // measured: a smooth scroll is seen in the second or third, however late they come
const RUNS_KEPT = 12;
const FRAME_LOOP = 3; // frames each asked for by the one before: a loop that draws without end
const RESOURCE_NEAR_MS = 360; // less than the longest rest: a wait that timed out is not repeated by the next judgement
const LONG_POLL_MS = 2000; // an answer that took so long is one that comes when there is news
const ASKED_BY_SCRIPT = new Set(["fetch", "xmlhttprequest"]);
const ADDRESS_SHOWN = 60;
const expectation = {
  whole: document.readyState === "loading" && document.scripts.length === 0, // here before any of the page's scripts
  timers: new Map(), // id -> {key, due, delay}
  ran: new Map(), // key -> when timers of that kind ran, the last times, newest first
  frames: new Map(), // id -> how many frames in a row led to it
  requests: new Map(), // address -> a token of the request
  tellers: new Set(), // sockets and workers that have not said anything yet
  told: false, // something outside (a socket, a worker) can change the page without a timer
  depth: 0,
};
const resourcesSince = new WeakMap(); // image, style sheet, request, worker -> when it was first seen under way

/** Replace a function of the window by one that behaves the same and also notifies the library. */
function overhear(owner, name, traps) {
  const native = owner[name];
  if (typeof native !== "function") return;
  try {
    owner[name] = new Proxy(native, traps(native));
  } catch {
    expectation.whole = false; // a window that forbids it is a window we do not know
  }
}

const asFunction = Function.prototype.toString;

/** Timers set by one place in the page's code: their last effect may occur again. */
function timerKey(handler, delay) {
  return `${delay}|${typeof handler === "function" ? asFunction.call(handler).slice(0, 120) : handler}`;
}

function overhearTimer(name, repeats) {
  overhear(window, name, () => ({
    apply(native, self, args) {
      const [handler, given] = args;
      const delay = Math.max(0, Math.round(Number(given) || 0));
      const entry = { key: timerKey(handler, delay), due: epoch() + delay, delay, once: !repeats };
      const ran = () => {
        noteRun(entry.key);
        if (repeats) entry.due = epoch() + delay;
        else expectation.timers.delete(id);
      };
      if (typeof handler === "function") {
        args[0] = function run(...values) {
          ran();
          return Reflect.apply(handler, this, values);
        };
      }
      const id = Reflect.apply(native, self, args);
      // A string handler cannot be wrapped: a timer of the library right after it detects that it ran.
      if (typeof handler !== "function") entry.follower = Reflect.apply(native, self, [ran, given]);
      if (expectation.timers.size < TIMERS_KEPT) expectation.timers.set(id, entry);
      return id;
    },
  }));
}

function noteRun(key) {
  if (expectation.ran.size > TIMERS_KEPT) expectation.ran.clear();
  expectation.ran.set(key, [epoch(), ...(expectation.ran.get(key) || [])].slice(0, RUNS_KEPT));
}

function overhearFrames() {
  overhear(window, "requestAnimationFrame", () => ({
    apply(native, self, args) {
      const handler = args[0];
      if (typeof handler !== "function") return Reflect.apply(native, self, args);
      const depth = expectation.depth + 1;
      const id = Reflect.apply(native, self, [function run(time) {
        expectation.frames.delete(id);
        const before = expectation.depth;
        expectation.depth = depth;
        try {
          return Reflect.apply(handler, this, [time]);
        } finally {
          expectation.depth = before;
        }
      }]);
      expectation.frames.set(id, depth);
      return id;
    },
  }));
}

function overhearEnd(name, kept) {
  overhear(window, name, (native) => ({
    apply(_, self, args) {
      const entry = kept.get(args[0]);
      if (entry && entry.follower) Reflect.apply(native, self, [entry.follower]);
      kept.delete(args[0]);
      return Reflect.apply(native, self, args);
    },
  }));
}

function overhearRequests() {
  overhear(window, "fetch", () => ({
    apply(native, self, args) {
      const [asked] = args;
      const address = absolute(asked && asked.url !== undefined ? asked.url : asked);
      expectation.requests.set(address, { address });
      return Reflect.apply(native, self, args);
    },
  }));
  overhear(window.XMLHttpRequest.prototype, "open", () => ({
    apply(native, self, args) {
      addressOf.set(self, absolute(args[1]));
      return Reflect.apply(native, self, args);
    },
  }));
  overhear(window.XMLHttpRequest.prototype, "send", () => ({
    apply(native, self, args) {
      const asking = { address: addressOf.get(self) };
      expectation.requests.set(self, asking);
      self.addEventListener("loadend", () => expectation.requests.delete(self), { once: true });
      return Reflect.apply(native, self, args);
    },
  }));
  for (const name of ["WebSocket", "EventSource", "Worker", "SharedWorker"]) overhearTeller(name);
  try {
    new PerformanceObserver((list) => {
      for (const entry of list.getEntries()) {
        expectation.requests.delete(entry.name);
        if (ASKED_BY_SCRIPT.has(entry.initiatorType)) noteSlowness(entry.name, entry.duration >= LONG_POLL_MS);
      }
    }).observe({ type: "resource" });
  } catch {
    // without these entries a request counts as open until it is no longer recent
  }
}

/** Sockets, workers and event sources count as about to send, until they did or a wait for them timed out. */
function overhearTeller(name) {
  overhear(window, name, (native) => ({
    construct(_, args, made) {
      expectation.told = true;
      const teller = Reflect.construct(native, args, made);
      limitMessages(name, teller);
      // A socket that is opened again stays as silent as before; each worker may be a different one.
      addressOf.set(teller, name.endsWith("Worker") ? undefined : absolute(args[0]));
      if (isSlow(addressOf.get(teller))) return teller;
      expectation.tellers.add(teller);
      const source = teller.port || teller; // a shared worker speaks through its port
      source.addEventListener("message", () => {
        expectation.tellers.delete(teller);
        noteSlowness(addressOf.get(teller), false);
      }, { once: true });
      return teller;
    },
  }));
}

/** Addresses whose last answer took as long as a long poll, or that never sent anything. */
const slow = new Set();
const addressOf = new WeakMap(); // request, socket -> its address
const place = (address) => address.split(/[?#]/, 1)[0];
const isSlow = (address) => address !== undefined && slow.has(place(address));

function noteSlowness(address, isSo) {
  if (address === undefined) return;
  if (slow.size >= TIMERS_KEPT) slow.clear();
  if (isSo) slow.add(place(address));
  else slow.delete(place(address));
}

function absolute(url) {
  try {
    return new URL(String(url), document.baseURI).href;
  } catch {
    return String(url);
  }
}

/** Delayed tasks are treated as timers; a late one is still pending unless it was cancelled. */
function overhearTasks() {
  if (!window.scheduler) return;
  overhear(window.scheduler, "postTask", () => ({
    apply(native, self, args) {
      const [handler, options] = args;
      if (typeof handler !== "function") return Reflect.apply(native, self, args);
      const { delay: given, signal } = options || {};
      const delay = Math.max(0, Math.round(Number(given) || 0));
      const entry = { key: timerKey(handler, delay), due: epoch() + delay, delay };
      const id = Symbol("task");
      if (expectation.timers.size < TIMERS_KEPT) expectation.timers.set(id, entry);
      const over = () => expectation.timers.delete(id);
      if (signal instanceof AbortSignal) {
        if (signal.aborted) over();
        signal.addEventListener("abort", over, { once: true });
      }
      args[0] = function run(...values) {
        noteRun(entry.key);
        over();
        return Reflect.apply(handler, this, values);
      };
      return Reflect.apply(native, self, args);
    },
  }));
}

function overhearPage() {
  overhearTimer("setTimeout", false);
  overhearTimer("setInterval", true);
  overhearTasks();
  overhearFrames();
  for (const name of ["clearTimeout", "clearInterval"]) overhearEnd(name, expectation.timers);
  overhearEnd("cancelAnimationFrame", expectation.frames);
  overhearRequests();
  limitConsole();
  limitServiceWorkers();
  overhearListeners();
}

/** The runs of a timer of this kind since `seen`, and those whose effect would be visible by now. */
function runsOf(key, { seen, now }) {
  const all = (expectation.ran.get(key) || []).filter((at) => at > seen);
  return { all, shown: all.filter((at) => now - at >= RUN_SHOWS_MS && shows(at, RUN_SHOWS_FRAMES, now)) };
}

/** Whether a timer of this kind ran without an effect on the element. */
function harmless({ delay }, { shown }, changed, horizon) {
  // Two runs if time allows and for timers that change the page: the first may have had no effect yet.
  return shown.length > 1 || (shown.length === 1 && !changed && 2 * delay > horizon);
}

/** Whether a timer is about to run, or has just run and its effect may not be visible yet. */
function stirring(entry, when, horizon) {
  const runs = runsOf(entry.key, when);
  if (runs.all.length && !runs.shown.length) return true;
  return entry.due - when.now <= (when.lateOnly ? 0 : horizon) && !harmless(entry, runs, when.changed, horizon);
}

/**
 * The next event that is due soon and has not occurred since `seen`, in words; or null. `changed`: the page did since.
 * `inner`: the element is outside this document; loading inside it moves nothing outside.
 */
function comingSoon(doc, when, horizon) {
  const { now } = when;
  for (const entry of expectation.timers.values()) {
    if (stirring(entry, when, horizon)) return `a timer of the page (${entry.delay} ms) is about to run`;
  }
  forgetSilent(now);
  if (when.lateOnly) return null;
  for (const depth of expectation.frames.values()) if (depth < FRAME_LOOP) return "the page is about to draw a frame";
  const round = roundComing(doc, when, horizon);
  if (round) return round;
  for (const { address } of expectation.requests.values()) return `the page waits for an answer from ${shortly(address)}`;
  for (const teller of expectation.tellers) return `a ${teller.constructor.name} of the page has not said anything yet`;
  return when.inner ? null : resourceComing(doc, now);
}

/** An event whose wait timed out is never waited for again. */
function forgetSilent(now) {
  for (const [asked, asking] of expectation.requests) {
    if (isSlow(asking.address) || !near(asking, now)) expectation.requests.delete(asked);
  }
  for (const teller of expectation.tellers) {
    if (near(teller, now)) continue;
    expectation.tellers.delete(teller);
    noteSlowness(addressOf.get(teller), true);
  }
}

/** The end of an address, long enough for a person to recognise it. */
function shortly(address) {
  const said = place(address || "somewhere").replace(/^\w+:\/\/[^/]*/, "") || "/";
  return said.length > ADDRESS_SHOWN ? `...${said.slice(-ADDRESS_SHOWN)}` : said;
}

function resourceComing(doc, now) {
  if (doc.fonts && doc.fonts.status === "loading" && near(doc.fonts, now)) return "a font of the page is being loaded";
  for (const image of doc.images) {
    if (!image.complete && image.loading !== "lazy" && near(image, now)) return `${describe(image)} is being loaded`;
  }
  for (const link of doc.querySelectorAll("link[rel~=stylesheet]")) {
    if (!link.sheet && !link.disabled && near(link, now)) return "a style sheet of the page is being loaded";
  }
  return null;
}

function near(resource, now) {
  if (!resourcesSince.has(resource)) resourcesSince.set(resource, now);
  return drawnTime(resourcesSince.get(resource), now) < RESOURCE_NEAR_MS;
}

const drawsWithoutEnd = () => [...expectation.frames.values()].some((depth) => depth >= FRAME_LOOP);

/** Whether everything that could move an element in a document is observed. */
const wellKnown = () =>
  expectation.whole && !expectation.told && expectation.timers.size < TIMERS_KEPT && !drawsWithoutEnd();

const RUN_TWICE = 2; // a timer that its own code sets again and again is not waited for

/** Resolves when the page's one-time timers that are due within so long have run, and those that they set; whether there were any. */
async function afterTimers(most) {
  const deadline = epoch() + most;
  let waited = false;
  for (;;) {
    const now = epoch();
    const coming = [...expectation.timers.values()].filter(({ key, due, once }) =>
      once && due <= deadline && (expectation.ran.get(key) || []).length < RUN_TWICE);
    if (!coming.length || now >= deadline) return waited;
    waited = true;
    const last = Math.max(...coming.map((entry) => entry.due));
    await new Promise((done) => nativeTimeout(done, Math.max(RUN_SHOWS_MS, last - now + 1)));
  }
}
