"""The trap site's pages: HTML and nothing else. What they count is in `traps`."""

from html import escape

SECTIONS = (
    ("/calendar/2030/1", "Calendar"),
    ("/session/first/shop", "Shop"),
    ("/feed", "Feed"),
    ("/popups", "Windows"),
    ("/slow", "Slow pages"),
    ("/broken", "Broken pages"),
    ("/app", "Client routes"),
    ("/hash", "Hash routes"),
    ("/items", "Items"),
    ("/hidden", "Hidden links"),
    ("/preferences", "Preferences"),
    ("/innocent", "Innocent"),
    ("/errors", "Errors"),
    ("/many", "Many links"),
    ("/downloads", "Downloads"),
    ("/private/plans", "Plans"),
    ("/elsewhere", "Elsewhere"),
    ("/frames", "Frames"),
    ("/account", "Account"),
    ("/automatic", "Automatic"),
    ("/hostile", "Hostile"),
    ("/restless", "Restless"),
    ("/search", "Search"),
)


def page(title: str, body: str, *, head: str = "", script: str = "") -> str:
    """An ordinary page of the site, with its menu."""
    menu = "".join(f'<li><a href="{href}">{name}</a></li>' for href, name in SECTIONS)
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{title}</title>{head}</head><body>'
        f'<nav aria-label="Sections"><a href="/">Home</a><ul>{menu}</ul></nav>'
        f"<main><h1>{title}</h1>{body}</main><script>{script}</script></body></html>"
    )


def links(*pairs: tuple[str, str]) -> str:
    """A list of links."""
    return (
        "<ul>"
        + "".join(f'<li><a href="{escape(h, quote=True)}">{name}</a></li>' for h, name in pairs)
        + "</ul>"
    )


HOME = page("Trap site", "<p>Everything here is a trap, and most of it is on the web, too.</p>")

FEED = page(
    "Feed",
    '<div id="feed"></div><div id="end" style="height:40px">Loading</div>',
    script="""
    let next = 1;
    const feed = document.getElementById("feed");
    const more = async () => {
      const answer = await fetch("/feed/more?after=" + next);
      for (const number of await answer.json()) {
        const card = document.createElement("article");
        card.style.height = "180px";
        card.innerHTML = `<h2>Story ${number}</h2><a href="/feed/story/${number}">Read story ${number}</a>`;
        feed.append(card);
        next = number + 1;
      }
    };
    new IntersectionObserver((all) => all.some((one) => one.isIntersecting) && more()).observe(document.getElementById("end"));
    """,
)

WINDOWS = page(
    "Windows",
    """
    <button type="button" onclick="window.open('/popups/window')">Open a window</button>
    <button type="button" onclick="alert('Hello')">Say hello</button>
    <button type="button" onclick="if (window.confirm('Go on?')) fetch('/changes/confirmed', {method: 'POST'})">Ask me</button>
    <button type="button" onclick="window.prompt('Your name?')">Ask my name</button>
    <a href="/popups/tab" target="_blank">Another tab</a>
    <a href="/popups/alerting">A page that greets</a>
    <a href="/popups/staying">A page that holds on</a>
    <a href="javascript:void(document.title = 'Renamed')">A script</a>
    """,
)
ALERTING = page("Greeting page", "<p>It greets.</p>", script="alert('one'); alert('two'); alert('three');")
STAYING = page(
    "Holding page",
    '<p>It does not like to be left.</p><input aria-label="Note"><button type="button">Edit</button>',
    script="addEventListener('beforeunload', (event) => { event.preventDefault(); event.returnValue = 'stay'; });",
)

SLOW = page("Slow pages", links(("/slow/some", "A little slow"), ("/slow/style", "Waits for a style"), ("/slow/never", "Never answers"),
                                ("/slow/drip", "Never ends")))  # fmt: skip
SLOW_STYLE = page(
    "Waits for a style", "<p>Here already.</p>", head='<link rel="stylesheet" href="/slow/never.css">'
)

BROKEN = page("Broken pages", links(("/broken/tags", "Tags"), ("/broken/ids", "Ids"), ("/broken/untitled", "Untitled"), ("/broken/empty", "Empty"),
                                    ("/broken/nested", "Nested"), ("/broken/bytes", "Bytes"), ("/broken/deep", "Deep")))  # fmt: skip
BROKEN_TAGS = """<!doctype html><title>Unclosed tags</title><h1>Unclosed tags<p><b><i>Bold</b> and</i> <table><a href=/broken>Back
<tr><td>one<td>two</table><div><span></div></span><button>Press <a href="/">Home</button><form><form><input name=x></form><ul><li>a<li>b<p></li>"""
BROKEN_IDS = page(
    "Duplicate ids", '<a id="x" href="/broken">Back</a>' + '<button id="x" type="button">Same id</button>' * 3
)
BROKEN_UNTITLED = '<main><p>No title, no heading. <a href="/broken">Back</a></main>'
BROKEN_NESTED = (
    "<title>Nested wrongly</title><a href=/broken>Back <a href=/>Home <button>Inner<button>Inner</button></a>"
    "<select><option>a<div>b</select><label><label><input></label>"
)
BROKEN_DEEP = "<title>Deep</title>" + "<div>" * 3_000 + '<a href="/broken">Back</a>'

APP = """<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Client routes</title></head><body>
<nav><a href="/">Home</a> <a data-route href="/app">Start</a> <a data-route href="/app/fleet">Fleet</a>
<a data-route href="/app/crew">Crew</a> <button type="button" id="help">Help</button></nav><main></main><script>
const views = {
  "/app": ["Client start", "<p>Choose a view.</p>"],
  "/app/fleet": ["Client fleet", "<table><tr><th>Ship</th></tr><tr><td>Argo</td></tr></table><button type=button id=detail>Argo in detail</button>"],
  "/app/fleet/argo": ["Client ship", "<dl><dt>Masts</dt><dd>1</dd></dl>"],
  "/app/crew": ["Client crew", "<ul><li>Jason</li><li>Orpheus</li></ul>"],
  "/app/help": ["Client help", "<ol><li>Ask.</li></ol>"],
};
const show = () => {
  const [title, body] = views[location.pathname] || ["Client nothing", "<p>No such view.</p>"];
  document.title = title;
  document.querySelector("main").innerHTML = `<h1>${title}</h1>${body}`;
};
const go = (path) => { history.pushState({}, "", path); show(); };
document.addEventListener("click", (event) => {
  const link = event.target.closest("a[data-route]");
  if (link) { event.preventDefault(); go(new URL(link.href).pathname); }
  if (event.target.id === "detail") go("/app/fleet/argo");
  if (event.target.id === "help") go("/app/help");
});
addEventListener("popstate", show);
show();
</script></body></html>"""

HASH = """<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Hash routes</title></head><body>
<nav><a href="/">Home</a> <a href="#/">Start</a> <a href="#/maps">Maps</a> <a href="#/tides">Tides</a></nav><main></main><script>
const views = { "#/maps": ["Hash maps", "<table><tr><td>Sea</td></tr></table>"], "#/tides": ["Hash tides", "<ul><li>High</li></ul>"] };
const show = () => {
  const [title, body] = views[location.hash] || ["Hash start", "<p>Choose.</p>"];
  document.title = title;
  document.querySelector("main").innerHTML = `<h1>${title}</h1>${body}`;
};
addEventListener("hashchange", show);
show();
</script></body></html>"""


def items_page(items: list[int]) -> str:
    """A list whose rows delete by GET, in one click, under several guises."""
    rows = "".join(
        f'<tr><td><a href="/items/{n}">Item {n}</a></td><td><a href="/items/{n}/delete">Delete</a></td>'
        f'<td><a href="/items/{n}/delete?now">Now</a></td><td><a href="/items?do=remove&amp;id={n}">&times;</a></td>'
        f'<td><a href="/items/{n}/archive">Put away</a></td>'
        f'<td><a href="/items/{n}/like" rel="nofollow">♥</a></td></tr>'
        for n in items
    )
    return page(
        "Items",
        f'<table>{rows}</table><a href="/items/new">New item</a> <a href="/logout">Leave</a> <a href="/items/x" onclick="'
        "event.preventDefault(); if (confirm('Sure?')) location = '/items/1/delete'\">Tidy up</a>"
        f'<a href="/shop?add-to-cart=3">Blue</a> <a href="/items/{items[0] if items else 0}?_token=a1">Do it</a>',
    )


def item_page(number: int) -> str:
    """One item: its page and history are harmless, its other links are not."""
    return page(
        "Item",
        f'<p>Item number {number}</p><a href="/items/{number}/history/" class="historylink">History</a> '
        f'<a href="/items/{number}/edit">Edit</a> <a href="/items/{number}/delete">Delete</a> '
        f'<a href="/items/{number}/publish">Go live</a>',
    )


def item_form(title: str) -> str:
    """Edit and create: forms that are not sent."""
    return page(
        title,
        '<form method="post" action="/items/save"><label>Name <input name="name" required></label><label>Price '
        '<input type="number" name="price" min="1" max="9"></label><label>Kind <select name="kind"><option value="">Choose'
        '<option value="a">Big<option value="b">Small</select></label><button>Go</button>'
        '<button formaction="/items/preview" formmethod="post">Preview</button></form>',
    )


HIDDEN = page(
    "Hidden links",
    """<p>Nothing to see.</p><a href="/honeypot/none" style="display:none">Secret offers</a>
    <a href="/honeypot/invisible" style="visibility:hidden">Secret offers</a>
    <div hidden><a href="/honeypot/hidden">Secret offers</a></div>
    <a href="/honeypot/nothing" style="position:absolute;width:0;height:0;overflow:hidden;font-size:0"></a>
    <a href="/honeypot/faint" style="opacity:0">Secret offers</a>
    <div style="opacity:0"><a href="/honeypot/in-faint">Secret offers</a></div>
    <a href="/honeypot/far" style="position:absolute;left:-9999px">Secret offers</a>
    <a href="/honeypot/dot" style="position:absolute;width:1px;height:1px;overflow:hidden">Secret offers</a>
    <a href="/hidden/shown">Open offers</a>""",
)

PREFERENCES = page(
    "Preferences",
    """<label>Theme <select id="theme"><option>Light<option>Dark</select></label>
    <label><input type="checkbox" id="news"> News by letter</label>
    <form method="post" action="/changes/on-change"><label>Language <select name="l" onchange="this.form.submit()"><option>en<option>de</select></label></form>
    <div role="switch" tabindex="0" aria-checked="false" id="live">Live</div>""",
    script="""
    for (const id of ["theme", "news"])
      document.getElementById(id).addEventListener("change", () => fetch("/changes/preference-" + id, {method: "POST"}));
    document.getElementById("live").addEventListener("click", () => fetch("/changes/switch", {method: "PUT"}));
    """,
)

INNOCENT = page(
    "Innocent",
    """<button type="button" data-do="fetch">Show details</button><button type="button" data-do="xhr">More about it</button>
    <button type="button" data-do="beacon">Nice</button><button type="button" data-do="go">Next one</button>
    <button type="button" data-do="quiet">Look again</button><button type="button" data-do="form">View</button>
    <div tabindex="0" role="button" data-do="fetch">Panel</div><a href="#" data-do="delete">Info</a>
    <form id="hidden-form" method="post" action="/changes/script-form"></form>""",
    script="""
    const doings = {
      fetch: () => fetch("/changes/fetch", {method: "POST"}),
      xhr: () => { const x = new XMLHttpRequest(); x.open("PUT", "/changes/xhr"); x.send(); },
      beacon: () => navigator.sendBeacon("/changes/beacon", "x"),
      go: () => { location.href = "/items/1/delete"; },
      quiet: () => fetch("/items/2/delete"),
      form: () => document.getElementById("hidden-form").submit(),
      delete: () => fetch("/changes/delete", {method: "DELETE"}),
    };
    document.addEventListener("click", (event) => { const it = event.target.dataset.do; if (it) doings[it](); });
    """,
)

ERRORS = page("Errors", links(("/errors/500", "A fault"), ("/errors/gone", "Gone"), ("/errors/soft", "Softly missing"), ("/loop/a", "A loop"),
                              ("/errors/reset", "Hangs up"), ("/redirect/items", "To the items")))  # fmt: skip

DOWNLOADS = page("Downloads", links(("/downloads/report.bin", "Report"), ("/downloads/latest", "Latest"), ("/downloads/paper.pdf", "Paper"),
                                    ("/downloads/notes", "Notes")))  # fmt: skip

FRAMES = page(
    "Frames",
    '<iframe title="Inner" src="/frames/inner"></iframe><iframe title="Empty" srcdoc="<a href=/hidden/shown>Framed link</a>"></iframe>',
)
FRAME_INNER = "<!doctype html><title>Inner frame</title><p>Inner</p><a href='/frames/target' target='_top'>Out of the frame</a>"

AUTOMATIC = page("Automatic", links(("/automatic/post", "Sends itself"), ("/automatic/get", "Looks up itself"), ("/automatic/refresh", "Moves on"),
                                    ("/automatic/self", "Comes back"), ("/automatic/loading", "Counts you"), ("/automatic/worker", "Has a worker"),
                                    ("/automatic/closing", "Closes itself"), ("/automatic/blank", "Goes blank")))  # fmt: skip
AUTO_POST = page("Sends itself", '<form method="post" action="/changes/automatic"><input name="a" value="1"></form>',
                 script="document.forms[0].submit()")  # fmt: skip
AUTO_GET = page(
    "Looks up itself",
    '<form action="/search"><input name="q" value="sea"></form>',
    script="document.forms[0].submit()",
)
AUTO_REFRESH = page(
    "Moves on", "<p>Wait.</p>", head='<meta http-equiv="refresh" content="0;url=/automatic/arrived">'
)
AUTO_LOADING = page(
    "Counts you",
    '<p>Counted.</p><img alt="" src="/items/3/delete"><iframe title="bye" src="/logout"></iframe>',
    script="fetch('/changes/on-load', {method: 'POST'}); navigator.sendBeacon('/changes/on-load-beacon', 'x');"
    "addEventListener('pagehide', () => navigator.sendBeacon('/changes/on-leaving', 'x'));",
)
AUTO_WORKER = page(
    "Has a worker",
    "<p>It works.</p>",
    script="navigator.serviceWorker.register('/worker.js').catch(() => {})",
)
WORKER = """
self.addEventListener("install", (event) => event.waitUntil(fetch("/changes/worker-installed", {method: "POST"}).then(() => self.skipWaiting())));
self.addEventListener("activate", (event) => event.waitUntil(self.clients.claim()));
self.addEventListener("fetch", (event) => { fetch("/changes/worker", {method: "POST"}); });
"""

HOSTILE_TITLES = {
    "script": "&lt;script&gt;document.title='pwned'&lt;/script&gt;&lt;img src=x onerror=alert(1)&gt;",
    "quotes": "&quot;&#39;`${7*7}{{7*7}}{% raw %}--&gt;]]&gt;\\n&lt;/title&gt;",
    "long": "Very long " * 1_000,
    "controls": "Bell\u0007 left\u202eright \u0000 zero\u200bwidth",
    "path": "../../../../etc/passwd",
    "formula": "=HYPERLINK(&quot;http://x&quot;)",
}

DETOURS = page(
    "Detours",
    """<p>Nothing here says what it leads to.</p><a href="/detour/shown">See offers</a> <a href="/detour/a">Go round</a>
    <a href="/detour/item">Next</a> <a href="/detour/plans">Our plan</a> <a href="/detour/window" target="_blank">In a window</a>
    <button type="button" onclick="fetch('/detour/fetched')">Count again</button>
    <button type="button" onclick="window.open('/detour/opened')">Side by side</button>
    <button type="button" onclick="location = '/detour/script'">Turn the page</button>
    <button type="button" onclick="new Worker('/detour-worker.js')">Work it out</button>
    <form action="/detour/form"><label>Words <input type="search" name="q"></label><button>Search</button></form>
    <img alt="" src="/detour/picture"><iframe title="Inner" src="/detour/frame"></iframe>""",
)
DETOUR_WORKER = "fetch('/detour/worker');"
DETOURS_TO = {
    "shown": "/hidden/shown", "a": "/detour/b", "b": "/logout", "item": "/items/1/delete", "plans": "/private/plans",
    "window": "/items/2/delete", "fetched": "/items/3/delete", "opened": "/items/4/delete", "script": "/items?do=remove&id=5",
    "worker": "/items/6/delete", "form": "/items/7/delete", "picture": "/items/8/delete", "frame": "/logout?now=1",
}  # fmt: skip
"""Where each of them is sent on to."""

UNSEEN = page(
    "Unseen",
    '<p>It has ways of its own.</p><script type="speculationrules">{"prefetch": [{"source": "list", "eagerness": "immediate",'
    ' "urls": ["/items/1/delete", "/detour/window"]}], "prerender": [{"source": "list", "eagerness": "immediate", "urls":'
    ' ["/items/3/delete", "/automatic/loading"]}]}</script>',
    script="""
    const work = (code) => URL.createObjectURL(new Blob([code], { type: "text/javascript" }));
    const asking = `fetch("${location.origin}/changes/shared", { method: "POST" }); fetch("${location.origin}/items/4/delete")`;
    const attempts = [
      () => new SharedWorker(work(asking)),
      () => new AudioContext().audioWorklet.addModule("/items/5/delete").catch(() => 0),
      () => CSS.paintWorklet.addModule("/items/6/delete").catch(() => 0),
      () => fetchLater("/changes/later", { method: "POST", body: "x" }),
      () => {
        const rules = document.createElement("script");
        rules.type = "speculationrules";
        rules.textContent = JSON.stringify({ prefetch: [{ source: "list", eagerness: "immediate", urls: ["/items/7/delete"] }] });
        document.head.append(rules);
      },
    ];
    for (const attempt of attempts) {
      try { attempt(); } catch {}
    }
    addEventListener("pagehide", () => { new Image().src = "/items/8/delete"; });
    document.addEventListener("visibilitychange", () => { new Image().src = "/items/2/delete"; });
    """,
)

SOCKETS = page(
    "Sockets",
    """<p id="said">Silence.</p><button type="button" data-say="remove">Tidy</button>
    <button type="button" data-say="count">Refresh</button><button type="button" data-say="other">Elsewhere</button>""",
    script="""
    const socket = new WebSocket("/socket");
    socket.addEventListener("open", () => {
      socket.send(JSON.stringify({ kind: "here", at: 1 }));
      setInterval(() => socket.send(JSON.stringify({ kind: "here", at: Date.now() })), 200);
    });
    socket.addEventListener("message", (event) => { document.getElementById("said").textContent = event.data; });
    document.addEventListener("click", (event) => {
      const say = event.target.dataset.say;
      if (say === "other") new WebSocket("/socket").addEventListener("open", (event) => event.target.send('{"kind": "elsewhere"}'));
      else if (say) socket.send(JSON.stringify({ kind: say, item: 1 }));
    });
    """,
)

RESTLESS = page("Restless", links(("/restless/ticking", "Ticking"), ("/restless/random", "Different each time"), ("/restless/deep/", "Ever deeper"),
                                  ("/restless/facets", "Facets"), ("/restless/growing", "Growing"), ("/restless/pushing", "Pushing")))  # fmt: skip
TICKING = page("Ticking", '<p id="t">0</p><button type="button">Stay</button>',
               script="let n = 0; setInterval(() => { document.getElementById('t').textContent = ++n; }, 50)")  # fmt: skip
GROWING = page("Growing", '<ul id="g"></ul>', script="setInterval(() => { const li = document.createElement('li'); li.innerHTML = "
               "'<a href=\"/restless/grown\">One more</a>'; document.getElementById('g').append(li); }, 200)")  # fmt: skip
PUSHING = page(
    "Pushing",
    "<p>Watch the address.</p>",
    script="let n = 0; setInterval(() => history.pushState({}, '', '/restless/pushing?n=' + ++n), 300)",
)

SEARCH = page(
    "Search",
    '<form action="/search"><label>Words <input type="search" name="q"></label><button>Search</button></form>'
    '<form action="/search" id="ask"><button>Delete everything</button></form>'
    '<form method="post" action="/changes/contact"><label>E-mail <input type="email" name="e"></label><button>OK</button></form>',
)
SIGN_IN = page(
    "Sign in",
    '<form method="post" action="/sign-in"><label>Name <input name="name" autocomplete="username"></label><label>Password '
    '<input type="password" name="password" autocomplete="current-password"></label><button>Sign in</button></form>',
)
ACCOUNT = page(
    "Account",
    links(
        ("/account/orders", "Orders"),
        ("/account/profile", "Profile"),
        ("/logout", "Log out"),
        ("/logout?now=1", "Bye"),
    ),
)

HARD = page("Hard", links(("/hard/hang", "Hangs"), ("/hard/huge", "Huge"), ("/hard/alerts", "Greets for ever"), ("/hard/windows", "Opens windows"),
                          ("/hard/after", "After all")))  # fmt: skip
HANG = page("Hangs", "<p>Busy.</p>", script="setTimeout(() => { for (;;) {} }, 0)")
ALERTS = page("Greets for ever", "<p>Hello.</p>", script="setInterval(() => alert('again'), 50)")
WINDOWS_FOR_EVER = page(
    "Opens windows",
    '<button type="button" onclick="for (let i = 0; i < 30; i++) window.open(\'/popups/window?\' + i)">Open</button>',
)
