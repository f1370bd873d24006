"""Pages on which a click would go wrong, and pages on which it would not: what the gate is measured by.

Each negative page either never becomes safe, or becomes so only when `window.settled` is true. The
element is always `#go`. `sampled` judges as PACTS 6.3 writes it (three boxes, 120 ms apart).
"""

from __future__ import annotations

import asyncio
import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING

from agent.page.actionability_gate import GatePolicy, pass_gate
from agent.page.errors import GateFailed
from kb_schema.selectors import css
from tests.support.pages import SITE

if TYPE_CHECKING:
    from playwright.async_api import Page, Route

GO = "<button id=go style='position:absolute;left:40px;top:60px'>Go</button>"
_PICTURE = (
    "<svg xmlns='http://www.w3.org/2000/svg' width='300' height='120'>"
    "<rect width='300' height='120' fill='teal'/></svg>"
)
LATE_S = 0.12
"""How late the server gives what loads late."""


def jumping(every_ms: int, move: str = "b.style.left=(x=(x+40)%400)+'px'") -> str:
    """A page whose button jumps, moved by a statement over `b` and the place `x`."""
    return f"{GO}<script>const b=document.getElementById('go');let x=40;setInterval(()=>{{{move}}},{every_ms})</script>"


def _once(after_ms: int, change: str) -> str:
    """Shifted once, some time after the document was read."""
    return (
        f"<div id=top></div><button id=go>Go</button><script>setTimeout(()=>{{{change};window.settled=true}},"
        f"{after_ms})</script>"
    )


def _animated(keyframes: str, how: str = "1s infinite alternate", around: str = "") -> str:
    inner = f"<button id=go style='{'' if around else f'animation:go {how}'}'>Go</button>"
    held = f"<div style='animation:go {how}'>{inner}</div>" if around else inner
    return f"<style>@keyframes go{{{keyframes}}}</style>{held}"


_SHEET = "const sheet=new CSSStyleSheet();document.adoptedStyleSheets=[sheet];"
NEGATIVE: dict[str, str] = {
    "moving every frame": (
        f"{GO}<script>const b=document.getElementById('go');let x=0;"
        "(function move(){b.style.left=(x=(x+5)%400)+'px';requestAnimationFrame(move)})()</script>"
    ),
    "jumping every 100 ms": jumping(100),
    "jumping every 250 ms": jumping(250),
    "jumping, the first jump to where it is": (
        f"{GO}<script>const b=document.getElementById('go');let x=0;"
        "setInterval(()=>{b.style.left=(x=(x+40)%400)+'px'},100)</script>"
    ),
    "jumping by chained timers": (
        f"{GO}<script>const b=document.getElementById('go');let x=0;"
        "(function move(){b.style.left=(x=(x+40)%400)+'px';setTimeout(move,120)})()</script>"
    ),
    "jumping by the clock of a frame loop": (
        f"{GO}<script>const b=document.getElementById('go');"
        "(function move(t){b.style.left=(Math.floor((t||0)/130)%9)*40+'px';requestAnimationFrame(move)})()</script>"
    ),
    "jumping every 250 ms by the clock of a frame loop": (
        f"{GO}<script>const b=document.getElementById('go');"
        "(function move(t){b.style.left=(Math.floor((t||0)/250)%9)*40+'px';requestAnimationFrame(move)})()</script>"
    ),
    "jumping by tasks": (
        f"{GO}<script>const b=document.getElementById('go');let x=40;(function move(){{"
        "b.style.left=(x=(x+40)%400)+'px';scheduler.postTask(move,{delay:120})})()</script>"
    ),
    "jumping by a script in a frame": (
        f"{GO}<iframe style='position:absolute;top:300px' srcdoc=\"<script>let x=40;setInterval(()=>"
        "parent.document.getElementById('go').style.left=(x=(x+40)%400)+'px',200)</script>\"></iframe>"
    ),
    "jumping as a worker says": (
        f"{GO}<script>const b=document.getElementById('go');let x=40;const w=new Worker(URL.createObjectURL("
        "new Blob(['setInterval(()=>postMessage(0),120)'])));w.onmessage=()=>b.style.left=(x=(x+40)%400)+'px'</script>"
    ),
    "jumping by a variable of a style": (
        f"<style>#go{{left:var(--x,0)!important}}</style>{GO}<script>let x=40;setInterval(()=>"
        "document.documentElement.style.setProperty('--x',(x=(x+40)%400)+'px'),150)</script>"
    ),
    "jumping by short transitions": (f"<style>#go{{transition:left .08s}}</style>{jumping(220)}"),
    "in a marquee": "<marquee><button id=go>Go</button></marquee>",
    "jumping by transform": jumping(150, "b.style.transform=`translateX(${x=(x+40)%400}px)`"),
    "jumping by a style sheet": (
        f"{GO}<script>{_SHEET}let x=0;setInterval(()=>sheet.replaceSync("
        "`#go{transform:translateX(${x=(x+40)%400}px)}`),110)</script>"
    ),
    "jumping by short animations": jumping(
        90, "b.animate([{left:(x=(x+40)%400)+'px'}],{duration:1,fill:'forwards'})"
    ),
    "growing in steps": jumping(160, "b.style.width=(60+(x=(x+15)%200))+'px'"),
    "pushed by a growing neighbour": (
        "<div id=top></div><button id=go>Go</button><script>let x=0;"
        "setInterval(()=>document.getElementById('top').style.height=(x=(x+20)%300)+'px',140)</script>"
    ),
    "css animation": _animated("to{margin-left:200px}"),
    "transform animation": _animated("to{transform:translateX(200px)}"),
    "animation in steps": _animated("to{transform:translateX(300px)}", "1.2s steps(8) infinite"),
    "animated ancestor": _animated("to{transform:translateY(200px)}", around="div"),
    "rising while it fades in": _animated("from{opacity:0;transform:translateY(80px)}", "3s infinite"),
    "pushed by an animated neighbour": (
        "<style>@keyframes grow{from{height:0}to{height:200px}}</style>"
        "<div style='animation:grow 2s infinite alternate'></div><button id=go>Go</button>"
    ),
    "animation by script": (
        f"{GO}<script>document.getElementById('go').animate([{{left:'0px'}},{{left:'400px'}}],"
        "{duration:1500,iterations:Infinity,direction:'alternate'})</script>"
    ),
    "scrolled by script": (
        "<div style='height:300px'></div><button id=go>Go</button><div style='height:3000px'></div>"
        "<script>let y=0;setInterval(()=>scrollTo(0,y=y?0:90),130)</script>"
    ),
    "scroll snapping": (
        "<div id=s style='height:150px;overflow:auto;scroll-snap-type:y mandatory'>"
        "<div style='height:150px;scroll-snap-align:start'><button id=go>Go</button></div>"
        "<div style='height:150px;scroll-snap-align:start'>b</div></div>"
        "<script>const s=document.getElementById('s');setInterval(()=>s.scrollBy({top:s.scrollTop?-150:150,"
        "behavior:'smooth'}),200)</script>"
    ),
    "shifted once after 60 ms": _once(60, "document.getElementById('top').style.height='150px'"),
    "shifted once after 180 ms": _once(180, "document.getElementById('top').style.height='150px'"),
    "jumping as an animation elsewhere comes around": (
        f"<style>@keyframes f{{50%{{opacity:.4}}}}</style>{GO}<i id=p style='position:absolute;top:300px;animation:f .25s "
        "infinite'>.</i><script>const b=document.getElementById('go');let x=40;document.getElementById('p')"
        ".onanimationiteration=()=>b.style.left=(x=(x+40)%400)+'px'</script>"
    ),
    "shifted as a notice has faded away": (
        "<style>@keyframes away{to{opacity:0}}</style><p id=note style='animation:away .2s'>Saved</p>"
        "<button id=go>Go</button><script>addEventListener('animationend',()=>{document.getElementById('note').remove();"
        "window.settled=true})</script>"
    ),
    "shifted by a task that comes late": (
        "<div id=top></div><button id=go>Go</button><script>const {port1,port2}=new MessageChannel();"
        "port2.onmessage=()=>{const from=performance.now();while(performance.now()<from+5);"
        "if(from<900)port1.postMessage(0)};port1.postMessage(0);scheduler.postTask(()=>{document.getElementById('top').style.height='150px';"
        "window.settled=true},{delay:120,priority:'background'})</script>"
    ),
    "shifted by a late answer": (
        "<div id=top></div><button id=go>Go</button><script>fetch('/late.svg').then((r)=>r.text()).then(()=>{"
        "document.getElementById('top').style.height='150px';window.settled=true})</script>"
    ),
    "shifted by a late picture": (
        "<img src='/late.svg' onload='window.settled=true'><br><button id=go>Go</button>"
    ),
    "shifted by a late style sheet": (
        "<link rel=stylesheet href='/late.css' media=print onload=\"this.media='all';window.settled=true\">"
        "<div id=top></div><button id=go>Go</button>"
    ),
    "replaced every 100 ms by its like": (
        "<div id=app></div><script>const draw=()=>{document.getElementById('app').innerHTML="
        "'<button id=go>Go</button>'};draw();setInterval(draw,100)</script>"
    ),
    "there and not there": (
        "<div id=app></div><script>let n=0;const draw=()=>{document.getElementById('app').innerHTML="
        "(n+=1)%2?'<button id=go>Go</button>':''};draw();setInterval(draw,80)</script>"
    ),
    "covered": f"{GO}<div class=banner style='position:fixed;inset:0;background:#fff'>Cookies?</div>",
    "covered by glass": f"{GO}<div class=glass style='position:fixed;inset:0'></div>",
    "covered by a frame": (
        f"{GO}<iframe id=ad srcdoc='<p>Buy</p>' style='position:absolute;left:0;top:0;width:400px;height:200px'></iframe>"
    ),
    "under a sticky header": (
        GO
        + "<header style='position:fixed;left:0;top:0;width:100%;height:90px;background:#eee'>Site</header>"
    ),
    "see-through for the pointer": "<button id=go style='pointer-events:none'>Go</button>",
    "out of reach": "<button id=go style='position:absolute;left:-900px'>Go</button>",
    "cut away": "<div style='width:0;height:0;overflow:hidden'><button id=go>Go</button></div>",
    "without size": "<button id=go style='width:0;height:0;padding:0;border:0;overflow:hidden'></button>",
    "inert": "<div inert><button id=go>Go</button></div>",
    "in a disabled fieldset": "<fieldset disabled><button id=go>Go</button></fieldset>",
    "hidden by an ancestor": "<div style='visibility:hidden'><button id=go>Go</button></div>",
    "in closed details": "<details><summary>More</summary><button id=go>Go</button></details>",
    "two of them": "<button id=go>Go</button><button id=go>Go</button>",
}
"""Pages on which nothing may be clicked (until `window.settled`)."""

TOLD = frozenset(
    name for name in NEGATIVE
    if name.startswith(("moving", "jumping", "growing", "pushed by a growing", "scroll", "replaced", "there and not"))
    and "style sheet" not in name and "short" not in name
)  # fmt: skip
"""Pages on which nothing moves but by a change of the document or a scroll: what `moves` notes, by the page's clock."""
_CLOCK = (
    "<script>window.moves=[performance.now()];{const note=()=>moves.push(performance.now());"
    "new MutationObserver(note).observe(document,{subtree:true,childList:true,attributes:true});"
    "addEventListener('scroll',note,true)}</script>"
)
_WITH_CLOCK = {NEGATIVE[name]: _CLOCK + NEGATIVE[name] for name in TOLD}
LOOK_MS = GatePolicy().longest_look_ms
"""What rests so long is at rest: three samples 120 ms apart, with what asking costs, see no more."""

POSITIVE: dict[str, str] = {
    "plain": "<button id=go>Go</button>",
    "fading": "<style>@keyframes f{from{opacity:.4}}</style><button id=go style='animation:f 1s infinite'>Go</button>",
    "a clock beside it": (
        "<button id=go>Go</button><p id=clock style='position:absolute;top:200px'></p>"
        "<script>setInterval(()=>clock.textContent=Date.now(),50)</script>"
    ),
    "a spinner inside it": (
        "<style>@keyframes r{to{transform:rotate(360deg)}}</style><button id=go>Go <i style='display:inline-block;"
        "animation:r 1s linear infinite'>o</i></button>"
    ),
    "a canvas drawn without end": (
        "<button id=go>Go</button><canvas id=c></canvas><script>const g=c.getContext('2d');"
        "(function draw(t){g.fillRect(t%100,0,5,5);requestAnimationFrame(draw)})(0)</script>"
    ),
    "a progress bar that grows in a box of its own": (
        "<style>@keyframes p{to{width:100%}}</style><div style='height:9px'><div style='height:9px;background:red;"
        "animation:p 9s'></div></div><button id=go>Go</button>"
    ),
    "polling": "<button id=go>Go</button><script>setInterval(()=>{window.n=(window.n||0)+1},200)</script>",
    "its own child on top": "<button id=go style='position:relative'><b style='position:absolute;inset:0'>Go</b></button>",
    "turned and scaled": "<button id=go style='margin:90px;transform:rotate(30deg) scale(1.5)'>Go</button>",
    "under a sticky header it can be scrolled from": (
        "<div style='height:900px'></div><button id=go>Go</button><div style='height:3000px'></div>"
        "<header style='position:fixed;top:0;left:0;width:100%;height:90px;background:#eee'>Site</header>"
        "<script>scrollTo(0,880)</script>"
    ),
    "far down": "<div style='height:2500px'></div><button id=go>Go</button>",
    "in a scroller": (
        "<div style='height:90px;overflow:auto'><div style='height:800px'></div><button id=go>Go</button></div>"
    ),
    "an animation bound to scrolling": (
        "<style>@keyframes s{to{transform:translateX(9px)}}</style><div style='height:30px;animation:s linear;"
        "animation-timeline:scroll()'></div><button id=go>Go</button><div style='height:2000px'></div>"
    ),
    "a timer far ahead": "<button id=go>Go</button><script>setTimeout(()=>location.reload(),60000)</script>",
    "a picture that never comes": "<button id=go>Go</button><img src='/never'>",
}
"""Pages on which a click is safe."""


@dataclass(frozen=True, slots=True)
class Ruling:
    """What a gate said of a page."""

    passed: bool
    settled: bool = False
    """The page had become safe when it passed."""
    why: str = ""
    rested_ms: float = 0.0
    """The rest, by the page's own clock, that it was let through in (or that just ended); 0 where it cannot tell.

    On a starved computer a page's timers and workers come late: then it does rest."""

    @property
    def held(self) -> bool:
        """Nothing was let through that was not safe yet, or not at rest."""
        return not self.passed or self.settled or self.rested_ms >= LOOK_MS


async def open_page(page: Page, html: str) -> None:
    """Show it; what is asked for as late comes `LATE_S` later than it could."""

    async def answer(route: Route) -> None:
        path = route.request.url.removeprefix(SITE)
        if path.startswith("/never"):
            return
        if path.startswith("/late"):
            await asyncio.sleep(LATE_S)
        bodies = {"/late.svg": (_PICTURE, "image/svg+xml"), "/late.css": ("#top{height:150px}", "text/css")}
        body, kind = bodies.get(path, (_WITH_CLOCK.get(html, html), "text/html; charset=utf-8"))
        await route.fulfill(status=200, content_type=kind, body=body)

    await page.unroute_all()
    await page.route(f"{SITE}/**", answer)
    await page.goto(SITE + "/", wait_until="domcontentloaded")


async def gated(page: Page, timeout_s: float = 0.8) -> Ruling:
    """What our gate says."""
    try:
        await pass_gate(page, css("#go"), timeout_s=timeout_s)
    except GateFailed as failed:
        return Ruling(passed=False, why=f"{failed.point}: {failed.evidence}")
    return await _let_through(page)


async def sampled(page: Page) -> Ruling:
    """What the gate of PACTS 6.2 and 6.3 says: count, visible, enabled, three boxes 120 ms apart."""
    found = page.locator("#go")
    count = await found.count()
    if count != 1 or not await found.is_visible() or not await found.is_enabled():
        return Ruling(passed=False, why="count, visible or enabled")
    element = await page.query_selector("#go")
    boxes = []
    for _ in range(3):
        box = await element.bounding_box() if element else None
        if box is None:
            return Ruling(passed=False, why="no box")
        boxes.append(box)
        await page.wait_for_timeout(120)
    for box in boxes[1:]:
        if any(abs(box[side] - boxes[0][side]) > 2.0 for side in ("x", "y", "width", "height")):
            return Ruling(passed=False, why="moved")
    return await _let_through(page)


async def _let_through(page: Page) -> Ruling:
    settled, moments = await page.evaluate(
        "[window.settled === true, window.moves ? [...window.moves, performance.now()] : []]"
    )
    rests = [later - earlier for earlier, later in itertools.pairwise(moments)]
    return Ruling(passed=True, settled=settled, rested_ms=max(rests[-2:], default=0.0))
