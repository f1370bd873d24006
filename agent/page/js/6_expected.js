// What the page has asked the browser to do later. An element of a page at rest moves only because of
// that, so knowing it replaces most of the waiting: nothing due soon means nothing to wait for.

const TIMERS_KEPT = 500; // a page with more under way is treated like one that is not known
const RUN_SHOWS_MS = 50; // and as many frames as this: what a timer begins (a smooth scroll) shows by then
const RUN_SHOWS_FRAMES = 4; // measured: a smooth scroll is seen in the second or third, however late they come
const RUNS_KEPT = 12;
const FRAME_LOOP = 3; // frames each asked for by the one before: a loop that draws without end
const RESOURCE_NEAR_MS = 400;
const expectation = {
  whole: document.readyState === "loading" && document.scripts.length === 0, // here before any of the page's scripts
  timers: new Map(), // id -> {key, due, delay}
  ran: new Map(), // key -> when timers of that kind ran, the last times, newest first
  frames: new Map(), // id -> how many frames in a row led to it
  requests: new Map(), // what is asked for -> something that stands for this asking
  tellers: new Set(), // sockets and workers that have not said anything yet
  told: false, // something outside (a socket, a worker) can change the page without a timer
  depth: 0,
};
const resourcesSince = new WeakMap(); // image, style sheet, request, worker -> when it was first seen under way

/** Replace a function of the window by one that looks and behaves the same and also tells us. */
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

/** Timers of one place in the page's code: what it did the last time it may do again. */
function timerKey(handler, delay) {
  return `${delay}|${typeof handler === "function" ? asFunction.call(handler).slice(0, 120) : handler}`;
}

function overhearTimer(name, repeats) {
  overhear(window, name, () => ({
    apply(native, self, args) {
      const [handler, given] = args;
      const delay = Math.max(0, Math.round(Number(given) || 0));
      const entry = { key: timerKey(handler, delay), due: epoch() + delay, delay };
      let id;
      if (typeof handler === "function") {
        args[0] = function run(...values) {
          noteRun(entry.key);
          if (repeats) entry.due = epoch() + delay;
          else expectation.timers.delete(id);
          return Reflect.apply(handler, this, values);
        };
      } else entry.unheard = true; // a text as handler: when it ran is not told
      id = Reflect.apply(native, self, args);
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
  overhear(window, name, () => ({
    apply(native, self, args) {
      kept.delete(args[0]);
      return Reflect.apply(native, self, args);
    },
  }));
}

function overhearRequests() {
  overhear(window, "fetch", () => ({
    apply(native, self, args) {
      const [asked] = args;
      expectation.requests.set(absolute(asked && asked.url !== undefined ? asked.url : asked), {});
      return Reflect.apply(native, self, args);
    },
  }));
  overhear(window.XMLHttpRequest.prototype, "send", () => ({
    apply(native, self, args) {
      expectation.requests.set(self, {});
      self.addEventListener("loadend", () => expectation.requests.delete(self), { once: true });
      return Reflect.apply(native, self, args);
    },
  }));
  for (const name of ["WebSocket", "EventSource", "Worker", "SharedWorker"]) {
    overhear(window, name, (native) => ({
      construct(_, args, made) {
        expectation.told = true;
        const teller = Reflect.construct(native, args, made);
        expectation.tellers.add(teller);
        const source = teller.port || teller; // a shared worker speaks through its port
        source.addEventListener("message", () => expectation.tellers.delete(teller), { once: true });
        return teller;
      },
    }));
  }
  try {
    new PerformanceObserver((list) => {
      for (const entry of list.getEntries()) expectation.requests.delete(entry.name);
    }).observe({ type: "resource" });
  } catch {
    // without these entries a request counts as under way until it is no longer near
  }
}

function absolute(url) {
  try {
    return new URL(String(url), document.baseURI).href;
  } catch {
    return String(url);
  }
}

/** Tasks with a delay are timers by another name; one that was called off counts until it is overdue. */
function overhearTasks() {
  if (!window.scheduler) return;
  overhear(window.scheduler, "postTask", () => ({
    apply(native, self, args) {
      const [handler, options] = args;
      const delay = Math.max(0, Math.round(Number(options && options.delay) || 0));
      const entry = { key: timerKey(handler, delay), due: epoch() + delay, delay, unheard: true };
      const id = Symbol("task");
      if (expectation.timers.size < TIMERS_KEPT) expectation.timers.set(id, entry);
      if (typeof handler === "function") {
        args[0] = function run(...values) {
          noteRun(entry.key);
          expectation.timers.delete(id);
          return Reflect.apply(handler, this, values);
        };
      }
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
}

/** The times a timer of this kind ran since `seen`, and those of them whose effect would show by now. */
function runsOf(key, { seen, now }) {
  const all = (expectation.ran.get(key) || []).filter((at) => at > seen);
  return { all, shown: all.filter((at) => now - at >= RUN_SHOWS_MS && shows(at, RUN_SHOWS_FRAMES, now)) };
}

/** Whether a timer of this kind ran, and what it did was seen to be nothing that matters here. */
function harmless({ delay }, { shown }, changed, horizon) {
  // Where there is time for it, and for what changes the page, two runs: the first may have led nowhere.
  return shown.length > 1 || (shown.length === 1 && !changed && 2 * delay > horizon);
}

/** Whether a timer is about to run, or just did and what that does would not show yet. */
function stirring(entry, when, horizon) {
  const runs = runsOf(entry.key, when);
  if (runs.all.length && !runs.shown.length) return true;
  return entry.due - when.now <= (when.lateOnly ? 0 : horizon) && !harmless(entry, runs, when.changed, horizon);
}

/**
 * What is known to come soon and has not come since `seen`: in words, or null. `changed`: the page did since.
 * `inner`: the element is outside of this document; what loads in it moves nothing out there.
 */
function comingSoon(doc, when, horizon) {
  const { now } = when;
  for (const [id, entry] of expectation.timers) {
    if (entry.unheard && now > entry.due + horizon) expectation.timers.delete(id);
    else if (stirring(entry, when, horizon)) return `a timer of the page (${entry.delay} ms) is about to run`;
  }
  if (when.lateOnly) return null;
  for (const depth of expectation.frames.values()) if (depth < FRAME_LOOP) return "the page is about to draw a frame";
  for (const [asked, asking] of expectation.requests) {
    if (near(asking, now)) return "the page waits for an answer it asked for";
    expectation.requests.delete(asked);
  }
  for (const teller of expectation.tellers) {
    if (near(teller, now)) return `a ${teller.constructor.name} of the page has not said anything yet`;
    expectation.tellers.delete(teller);
  }
  return when.inner ? null : resourceComing(doc, now);
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

/** Whether everything that could move something in a document is overheard. */
const wellKnown = () =>
  expectation.whole && !expectation.told && expectation.timers.size < TIMERS_KEPT && !drawsWithoutEnd();
