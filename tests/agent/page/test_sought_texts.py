"""What of a text on the page is evidence: a person can see it, and it did not stand there before the press."""

from __future__ import annotations

import pytest

from agent.page.sought_texts import SoughtText, find_in_foreign_frames, find_texts, remember_standing
from tests.support.pages import SITE, show

TALL = "<p style='height:2000px'></p>"
UNSEEN = {
    "opacity": "<p style='opacity:0'>Saved</p>",
    "opacity around": "<div style='opacity:.3'><div style='opacity:.2'><p>Saved</p></div></div>",
    "filter": "<p style='filter:opacity(0)'>Saved</p>",
    "mask": "<p style='-webkit-mask:linear-gradient(transparent,transparent)'>Saved</p>",
    "white on white": "<p style='color:#fff'>Saved</p>",
    "near its ground": "<div style='background:#336'><p style='color:#343668'>Saved</p></div>",
    "transparent": "<p style='color:transparent'>Saved</p>",
    "transparent fill": "<p style='-webkit-text-fill-color:transparent'>Saved</p>",
    "off the page": "<p style='position:absolute;left:-9999px'>Saved</p>",
    "moved away": "<p style='transform:translateX(-3000px)'>Saved</p>",
    "fixed outside": "<p style='position:fixed;top:2000px'>Saved</p>",
    "indented away": "<p style='text-indent:-9999px;overflow:hidden;white-space:nowrap'>Saved</p>",
    "clip path": "<p style='clip-path:inset(50%)'>Saved</p>",
    "for screen readers": "<p style='position:absolute;clip:rect(0,0,0,0);width:1px;height:1px;overflow:hidden'>Saved</p>",
    "zero height": "<div style='height:0;overflow:hidden'><p>Saved</p></div>",
    "no size": "<p style='font-size:0'>Saved</p>",
    "one pixel": "<p style='font-size:1px'>Saved</p>",
    "covered": "<div style='position:relative'><p>Saved</p><div style='position:absolute;inset:0;background:#fff'></div></div>",
    "covered without presses": "<div style='position:relative'><p>Saved</p><div style='position:absolute;inset:0;background:#fff;"
    "pointer-events:none'></div></div>",
    "covered by a gradient": "<div style='position:relative'><p>Saved</p><div style='position:absolute;inset:0;"
    "background:linear-gradient(#fff,#eee)'></div></div>",
    "covered further down": f"{TALL}<div style='position:relative'><p>Saved</p><div style='position:absolute;inset:0;background:#fff'></div></div>",
    "covered by the whole window": "<p>Saved</p><div style='position:fixed;inset:0;background:#fff'></div>",
    "behind its ground": "<div style='background:#fff;position:relative;z-index:0'><div style='background:#eee'>"
    "<p style='position:relative;z-index:-1'>Saved</p></div></div>",
    "covered in a shadow root": "<div id=s></div><script>s.attachShadow({mode:'open'}).innerHTML = `<div style='position:relative'>"
    "<p>Saved</p><div style='position:absolute;inset:0;background:#fff'></div></div>`</script>",
    "covered by a border": "<div style='position:relative'><p style='margin:0'>Saved</p><div style='position:absolute;left:0;top:0;width:300px;"
    "height:0;border-bottom:40px solid #fff'></div></div>",
    "covered by a shape": "<svg width=200 height=40><text y=20>Saved</text><rect width=200 height=40 fill=white /></svg>",
    "covered by a drawing": "<div style='position:relative'><p>Saved</p><svg style='position:absolute;inset:0' width=300 height=60><path d='M0 0h300v60h-300z' "
    "fill='#fff'/></svg></div>",
    "covered by a canvas": "<div style='position:relative'><p>Saved</p><canvas id=c style='position:absolute;inset:0' width=300 height=60></canvas></div>"
    "<script>c.getContext('2d').fillRect(0, 0, 300, 60)</script>",
    "clear in a drawing": "<svg><text y=20 fill-opacity=0>Saved</text></svg>",
    "white in a drawing": "<svg><text y=20 fill=white>Saved</text></svg>",
    "white in a drawing on white": "<svg style='background:#fff'><g><text y=20 fill=white><tspan>Saved</tspan></text></g></svg>",
    "clear by a style in a drawing": "<svg><text y=20 style='fill:transparent'>Saved</text></svg>",
    "without paint in a drawing": "<svg><text y=20 fill=none>Saved</text></svg>",
    "definitions of a drawing": "<svg><defs><text y=20>Saved</text></defs></svg>",
    "white in a frame": "<iframe srcdoc=\"<p style='color:#fff'>Saved</p>\"></iframe>",
}  # fmt: skip
SEEN = {
    "plain": "<p>Saved</p>",
    "grey": "<p style='color:#bbb'>Saved</p>",
    "faded": "<p style='opacity:.5'>Saved</p>",
    "further down": f"{TALL}<p>Saved</p>",
    "further right": "<p style='position:absolute;left:3000px'>Saved</p>",
    "scrolled away": f"<div style='height:100px;overflow:auto'>{TALL}<p>Saved</p></div>",
    "scrolled away in a hidden body": f"<style>body{{overflow:hidden}}</style>{TALL}<p>Saved</p>",
    "white on a dark row": "<table><tr style='background:#333;color:#fff'><td>Saved</td></tr></table>",
    "white on a dark element beside": "<div style='position:relative'><div style='position:absolute;inset:0;background:#000'></div>"
    "<p style='position:relative;color:#fff'>Saved</p></div>",
    "white on a picture": "<div style='position:relative'><img style='position:absolute;inset:0;width:100%;height:100%' "
    "src='data:image/svg+xml,<svg xmlns=\"http://www.w3.org/2000/svg\"/>'><p style='position:relative;color:#fff'>Saved</p></div>",
    "white on generated ground": "<style>div{position:relative;z-index:0}div::before{content:'';position:absolute;inset:0;"
    "background:#000;z-index:-1}</style><div><p style='color:#fff'>Saved</p></div>",
    "white with a shadow": "<p style='color:#fff;text-shadow:0 0 3px #000'>Saved</p>",
    "in a gradient": "<p style='background:linear-gradient(red,blue);-webkit-background-clip:text;color:transparent'>Saved</p>",
    "in a drawing": "<svg><rect width=99 height=40></rect><text y=20 fill='#fff'>Saved</text></svg>",
    "below an outline": "<svg width=200 height=40><text y=20>Saved</text><rect width=200 height=40 fill=none stroke=red /></svg>",
    "below a clear shape": "<svg width=200 height=40><text y=20>Saved</text><rect width=200 height=40 fill=white fill-opacity=.3 /></svg>",
    "below a canvas without paint": "<div style='position:relative'><p>Saved</p><canvas id=c style='position:absolute;inset:0' width=300 height=60></canvas></div>"
    "<script>c.getContext('2d').fillRect(200, 0, 100, 60)</script>",
    "below a canvas of 3D without paint": "<div style='position:relative'><p>Saved</p><canvas id=c style='position:absolute;inset:0'></canvas></div>"
    "<script>c.getContext('webgl')</script>",
    "only drawn as an outline": "<svg><text y=20 fill=none stroke=red>Saved</text></svg>",
    "white in a drawing on a dark ground": "<svg style='background:#036'><text y=20 fill=white>Saved</text></svg>",
    "within a border": "<div style='position:relative'><p>Saved</p><div style='position:absolute;inset:0;border:5px solid #fff'></div></div>",
    "below a dotted border": "<div style='position:relative'><p style='margin:0'>Saved</p><div style='position:absolute;left:0;top:0;width:300px;"
    "border-bottom:40px dotted #fff'></div></div>",
    "black on black scheme": "<style>:root{color-scheme:dark}</style><p>Saved</p>",
    "cut off at its end": "<p style='width:60px;overflow:hidden;text-overflow:ellipsis;white-space:nowrap'>Saved</p>",
    "presses go through it": "<p style='pointer-events:none'>Saved</p>",
    "caption over a picture": "<div style='position:relative'><img width=200 height=50 style='background:#000'>"
    "<span style='position:absolute;left:5px;top:5px;pointer-events:none;color:#fff'>Saved</span></div>",
    "behind a banner": "<p style='margin-top:600px'>Saved</p><div style='position:fixed;bottom:0;left:0;right:0;height:200px;background:#fff'></div>",
    "behind a dialog": "<p>Saved</p><dialog id=d style='inset:0;width:100%;height:100%;margin:0'>Ready</dialog><script>d.showModal()</script>",
    "behind a veil": "<p>Saved</p><div style='position:fixed;inset:0;background:#0008'></div>",
    "of inline parts": "<p>Sa<b>v</b>ed</p>",
    "without a box of its own": "<div style='display:contents'>Saved</div>",
    "of a slot": "<div id=s>Saved</div><script>s.attachShadow({mode:'open'}).innerHTML = '<p><slot></slot></p>'</script>",
    "in a frame": "<iframe srcdoc='<p>Saved</p>'></iframe>",
    "chosen": "<select><option>Saved</option><option>Other</option></select>",
    "on a button": "<button disabled>Saved</button>",
    "on an input button": "<input type=submit value=Saved>",
    "inert": "<p inert>Saved</p>",
    "flowing over": "<div style='height:0'><p>Saved</p></div>",
    "in columns": "<div style='columns:3'><p>One</p><p>Saved</p><p>Three</p></div>",
    "turned": "<p style='writing-mode:vertical-rl'>Saved</p>",
    "oklch": "<p style='color:oklch(60% 0.2 30)'>Saved</p>",
}  # fmt: skip
SAYS = {
    "generated": "<style>p::before{content:'Sav'}p::after{content:'ed'}</style><p></p>",
    "generated from an attribute": "<style>p::after{content:attr(title)}</style><p title=Saved></p>",
    "a marker": "<style>li::marker{content:'Saved '}</style><ul><li>x</ul>",
    "a list's words": "<ul><li style='list-style-type:\"Saved \"'>x</ul>",
    "closed root": "<p id=z></p><script>z.attachShadow({mode:'closed'}).innerHTML='Saved'</script>",
    "closed root in an open one": "<p id=z></p><script>z.attachShadow({mode:'open'}).innerHTML='<p></p>';"
    "z.shadowRoot.firstChild.attachShadow({mode:'closed'}).innerHTML='Saved'</script>",
    "read-only": "<input readonly value=Saved>",
    "disabled": "<textarea disabled>Saved</textarea>",
    "zero width": "<p>Sa&#8203;v&shy;ed</p>",
    "word break": "<p>Sa<wbr>ved</p>",
}  # fmt: skip
NOT_SAID = {
    "an entry": "<input value=Saved>",
    "a secret": "<input type=password readonly value=Saved>",
    "a script": "<script>var Saved</script>",
    "hidden": "<p hidden>Saved</p>",
    "closed": "<details><summary>More</summary>Saved</details>",
    "a hidden item's marker": "<style>li::marker{content:'Saved '}</style><ul hidden><li>x</ul>",
    "another option": "<select><option>Other</option><option>Saved</option></select>",
    "two words": "<p>Sa</p><p>ved</p>",
}


async def _unseen(page, **how):
    [found] = await find_texts(page, [SoughtText("Saved", **how)])
    return [each.unseen for each in found]


@pytest.mark.parametrize("html", UNSEEN.values(), ids=UNSEEN)
async def test_a_text_that_nobody_can_see_is_told_with_the_reason(page, html):
    await show(page, f"<!doctype html>{html}")
    assert all(await _unseen(page))


@pytest.mark.parametrize("html", SEEN.values(), ids=SEEN)
async def test_a_text_that_a_person_can_see_is_seen(page, html):
    await show(page, f"<!doctype html>{html}")
    assert None in await _unseen(page)
    assert await page.evaluate("[scrollX, scrollY, document.adoptedStyleSheets.length]") == [0, 0, 0]


@pytest.mark.parametrize("html", SAYS.values(), ids=SAYS)
async def test_what_is_drawn_is_found_wherever_it_comes_from(page, html):
    await show(page, f"<!doctype html>{html}")
    assert None in await _unseen(page, fixed=True)


@pytest.mark.parametrize("html", NOT_SAID.values(), ids=NOT_SAID)
async def test_what_is_not_drawn_is_not_found(page, html):
    await show(page, f"<!doctype html>{html}")
    assert await _unseen(page, fixed=True) == []


async def test_a_place_has_the_rest_of_its_block_beside_it(page):
    await show(page, "<p>Now</p><p>Not <b>Saved</b>, sorry</p><p>Later</p>")
    [[place]] = await find_texts(page, [SoughtText("Saved")])
    assert (place.before, place.after.rstrip(), place.said) == ("Not ", ", sorry", "Not Saved, sorry")


STRUCK = {
    "<p><s>Saved</s></p>": "line",
    "<p><del>Saved</del></p>": "deleted",
    "<style>del{text-decoration:none}</style><p><del>Sa<b>ved</b></del></p>": "deleted",
    "<p style='text-decoration:line-through'><b>Saved</b></p>": "line",
    "<p>Sa<s>ved</s></p>": "line",
    "<p><s>Draft</s> Saved</p>": None,
    "<p style='text-decoration:line-through'><b style='display:inline-block'>Saved</b></p>": None,
    "<p style='text-decoration:underline'>Saved</p>": None,
}


@pytest.mark.parametrize(("html", "struck"), STRUCK.items())
async def test_a_text_that_is_struck_out_is_told(page, html, struck):
    await show(page, html)
    [[place]] = await find_texts(page, [SoughtText("Saved")])
    assert place.struck == struck


NOT = "<span>Not</span><span>saved</span>"
READ_TOGETHER = {
    "flex": f"<div style='display:flex;gap:4px'>{NOT}</div>",
    "flex with usual gap": f"<div style='display:flex;gap:.5rem'>{NOT}</div>",
    "flex of blocks": "<div style='display:flex;gap:4px'><p>Not</p><p>saved</p></div>",
    "inline blocks": "<div style='display:inline'>Not </div><div style='display:inline'>saved</div>",
    "inline-block": "<b style='display:inline-block'>Not</b> <b style='display:inline-block'>saved</b>",
    "grid": f"<div style='display:grid;grid-template-columns:auto auto;gap:4px;justify-content:start'>{NOT}</div>",
    "reversed": "<div style='display:flex;gap:4px;flex-direction:row-reverse;justify-content:start'><span>saved</span><span>Not</span></div>",
    "placed": "<div style='position:relative;height:20px'><span style='position:absolute;left:32px'>saved</span>"
    "<span style='position:absolute;left:4px'>Not</span></div>",
    "table for layout": "<table><tr><td>Not</td><td>saved</td></tr></table>",
    "table that says so": "<table role=presentation><tr><td>Not</td><td>saved</td></tr><tr><td>x</td></tr></table>",
    "floats": "<div><div style='float:left'>Not&nbsp;</div><div style='float:left'>saved</div></div>",
    "by a frame": f"<iframe srcdoc='<div style=\"display:flex;gap:4px\">{NOT}</div>'></iframe>",
    "right to left": "<div dir=rtl style='display:flex;gap:4px'><span>Not</span><span>saved</span></div>",
    "generated": "<style>p{display:flex;gap:4px}p::before{content:'Not'}</style><p><span>saved</span></p>",
    "generated in a line": "<style>b{display:inline-flex;gap:3px}b::before{content:'Not'}</style><p><b><i>saved</i></b></p>",
    "generated, reversed": "<style>p{display:flex;flex-direction:row-reverse;gap:4px}p::after{content:'Not'}</style><p><span>saved</span></p>",
    "letters": "<div style='display:flex'><b>N</b><b>o</b><b>t</b><b>&nbsp;saved</b></div>",
    "icon between": "<div style='display:flex;gap:4px'><b>Not</b><svg width=16 height=16><circle r=7 cx=8 cy=8 /></svg><b>saved</b></div>",
    "box between": "<div style='display:flex;gap:4px'><b>Not</b><i style='width:16px;height:16px;background:red'></i><b>saved</b></div>",
    "items of a status": "<ul role=status style='display:flex;gap:4px;list-style:none'><div role=listitem>Not</div><div role=listitem>saved</div></ul>",
    "items in a status": "<div aria-live=polite><ul style='display:flex;gap:4px;list-style:none'><li>Not<li>saved</ul></div>",
    "grid of one row": f"<div style='display:grid;grid-template-columns:max-content max-content;gap:4px'>{NOT}</div>",
    "box in a box": "<div style='display:flex;gap:4px'><div><div>Not</div></div><div><div>saved</div></div></div>",
}
READ_APART = {
    "columns of a table": "<table><tr><th>Active<th>State<tr><td>Not<td>saved</table>",
    "rows of a table": "<table><tr><td>Not<td>saved<tr><td>Not<td>saved</table>",
    "roles of a table": "<div role=row style='display:flex;gap:4px'><div role=cell>Not</div><div role=cell>saved</div></div>",
    "wide gap": f"<div style='display:flex;gap:24px'>{NOT}</div>",
    "wide columns": f"<div style='display:grid;grid-template-columns:100px 100px'>{NOT}</div>",
    "lines": "<div>Not</div><div>saved</div>",
    "buttons": "<div style='display:flex;gap:4px'><button>Not</button><button>saved</button></div>",
    "beside a button": "<div style='display:flex;gap:4px'><button>Not</button><span>saved</span></div>",
    "links": "<nav style='display:flex;gap:4px'><a href=#a>Not</a><a href=#b>saved</a></nav>",
    "tabs": "<div style='display:flex;gap:4px'><div role=tab>Not</div><div role=tab>saved</div></div>",
    "items": "<ul style='display:flex;gap:4px;list-style:none'><li>Not<li>saved</ul>",
    "badges": f"<style>span{{background:#ddd}}</style><div style='display:flex;gap:4px'>{NOT}</div>",
    "bordered": f"<style>span{{border:1px solid}}</style><div style='display:flex;gap:4px'>{NOT}</div>",
    "generated badge": "<style>p{display:flex;gap:4px}p::before{content:'Not';background:#ddd}</style><p><span>saved</span></p>",
    "generated in a column": "<style>p{display:flex;gap:90px}p::before{content:'Not'}</style><p><span>saved</span></p>",
    "grid": "<div style='display:grid;grid-template-columns:max-content max-content;gap:4px'><b>Not</b><b>saved</b><b>Not</b><b>saved</b></div>",
    "wide gap with an icon": "<div style='display:flex;gap:24px'><b>Not</b><i style='width:16px;height:16px;background:red'></i><b>saved</b></div>",
    "terms": "<dl style='display:flex;gap:4px'><dt>Not<dd style='margin:0'>saved</dl>",
    "hidden": f"<style>span:first-child{{opacity:0}}</style><div style='display:flex;gap:4px'>{NOT}</div>",
}


@pytest.mark.parametrize("html", READ_TOGETHER.values(), ids=READ_TOGETHER)
async def test_boxes_side_by_side_are_read_together(page, html):
    await show(page, f"<!doctype html>{html}")
    places = (await find_texts(page, [SoughtText("saved")]))[0]
    assert places[0].left.strip() == "Not"


@pytest.mark.parametrize("html", READ_APART.values(), ids=READ_APART)
async def test_items_controls_columns_and_badges_are_read_apart(page, html):
    await show(page, f"<!doctype html>{html}")
    places = (await find_texts(page, [SoughtText("saved")]))[0]
    assert [each.left.strip() for each in places if each.unseen is None] == [""] * len(places)


PAD = "style='background:#fdd;padding:2px 6px'"
ALONE = {
    "badge": f"<p>Invoice 12 <span {PAD}>Not paid</span> Saved</p>",
    "chips": f"<p><span {PAD}>no stock</span> <span {PAD}>was Saved</span></p>",
    "chips, the last of one word": f"<p><span {PAD.replace('background:#fdd', 'border:1px solid')}>not here</span> <span {PAD}>reSaved</span></p>",
    "label of a check box": "<p><label><input type=checkbox> Not important</label> Saved</p>",
    "link": "<p>Saved <a href=#>Not you?</a></p>",
}
TOLD = {
    "one word": f"<p><b {PAD}>NOT</b> <span>Saved</span></p>",
    "a sentence that goes on after a link": "<p><b><a href=#>Not all of it</a></b> was Saved</p>",
    "a sentence that goes on in a badge": f"<p>It was <b {PAD}>not yet</b> Saved</p>",
    "mark": "<p>It <mark>Was not</mark> Saved</p>",
    "link of one word": "<p><a href=#>Not</a> <span>Saved</span></p>",
}


@pytest.mark.parametrize("html", ALONE.values(), ids=ALONE)
async def test_a_thing_of_its_own_in_a_line_is_read_apart(page, html):
    await show(page, f"<!doctype html>{html}")
    [[place]] = await find_texts(page, [SoughtText("Saved")])
    told = f"{place.left} {place.before} {place.after} {place.right}".casefold()
    assert not {"not", "no"} & set(told.split())


@pytest.mark.parametrize("html", TOLD.values(), ids=TOLD)
async def test_a_sentence_is_read_as_a_whole(page, html):
    await show(page, f"<!doctype html>{html}")
    [[place]] = await find_texts(page, [SoughtText("Saved")])
    assert "not" in place.before.casefold()


async def test_what_stands_after_a_text_on_its_line_is_told(page):
    await show(page, "<div style='display:flex;gap:4px'><b>Saved:</b><i>no</i><u>more</u></div>")
    [[place]] = await find_texts(page, [SoughtText("Saved")])
    assert (place.after.rstrip(), place.right.strip()) == (":", "no more")


@pytest.mark.parametrize(
    ("style", "fading"),
    [
        ("opacity:0", False),
        ("animation:f 60s", True),
        ("animation:f 60s infinite", True),
        ("opacity:0;animation:turn 60s infinite", False),
    ],
)
async def test_a_text_that_is_about_to_appear_is_told(page, style, fading):
    await show(
        page,
        f"<style>@keyframes f{{0%,50%{{opacity:0}}}} @keyframes turn{{to{{rotate:1turn}}}}</style><p style='{style}'>Saved</p>",
    )
    [[place]] = await find_texts(page, [SoughtText("Saved")])
    assert (place.unseen is not None, place.fading) == (True, fading)


@pytest.mark.parametrize(
    ("change", "stood"),
    [
        ("", True),
        ("o.textContent = 'Saved'", False),
        ("o.firstChild.data = 'Saved'", False),
        ("o.hidden = true; setTimeout(() => o.hidden = false, 30)", False),
        ("o.className = 'x'", True),
        ("const it = o; it.remove(); document.body.append(it)", False),
    ],
    ids=["nothing", "written anew", "same node", "hidden for a while", "styled", "moved"],
)
async def test_what_stood_there_before_the_press_is_told(page, change, stood):
    await show(page, "<p id=o>Saved</p><p hidden id=h>Saved</p>")
    await remember_standing(page, [SoughtText("Saved")])
    await page.evaluate(f"async () => {{ {change}; await new Promise((done) => setTimeout(done, 60)) }}")
    [places] = await find_texts(page, [SoughtText("Saved")])
    assert [each.stood for each in places] == [stood]


async def test_what_could_not_be_seen_before_the_press_did_not_stand_there(page):
    await show(page, "<p id=o style='opacity:0'>Saved</p>")
    await remember_standing(page, [SoughtText("Saved")])
    await page.evaluate("o.style.opacity = 1")
    [[place]] = await find_texts(page, [SoughtText("Saved")])
    assert (place.unseen, place.stood) == (None, False)


async def test_frames_of_other_origins_are_read(page):
    other = "http://other.test/"
    await page.route(other, lambda route: route.fulfill(body="<p>Error</p>", content_type="text/html"))
    await show(page, f"<iframe src='{other}'></iframe><iframe hidden src='{other}'></iframe>")
    assert page.url.startswith(SITE)
    found = await find_in_foreign_frames(page, SoughtText("Error"))
    assert [(each.said, each.unseen) for each in found] == [("Error", None)]
