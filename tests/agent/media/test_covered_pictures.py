"""A kept picture shows no secret, whatever the page does: two pages that differ in nothing but a secret give the same picture."""

from __future__ import annotations

import pytest
from playwright.async_api import Page

from agent.media.covered_pictures import take_covered_picture
from agent.media.secret_mask import SecretMask
from agent.page import in_page_library
from agent.redaction import Secrets

ONE, OTHER = "k7Qz9-fjord-42", "m2Xw5-brook-87"
PAGE = """<!doctype html><style>* {{ font: bold 17px monospace }} CSS</style><h1>Harbour</h1><main>HTML</main>
<script>const s = "{s}", d = document.querySelector("main"); DOES</script>"""
WAYS = {
    "text": ("<p></p>", "", "d.firstChild.textContent = s"),
    "generated content": ("", "main::before {{ content: '{s}' }}", ""),
    "an attribute": ("<p data-x='{s}'>", "p::after {{ content: attr(data-x) }}", ""),
    "a variable": ("<p style=\"--x: '{s}'\">", "p::before {{ content: var(--x) }}", ""),
    "quotes": ("<p>", "p {{ quotes: '{s}' '' }} p::before {{ content: open-quote }}", ""),
    "a marker": ("<ul style='margin-left: 200px'><li>.</ul>", "li::marker {{ content: '{s}' }}", ""),
    "a list style": ("<ul style='list-style: inside \"{s}\"'><li>.</ul>", "", ""),
    "a counter style": ("<ol style='list-style: zz inside'><li>.</ol>", "@counter-style zz {{ system: cyclic; symbols: '{s}'; suffix: '' }}", ""),
    "a placeholder": ("<input placeholder='{s}' size=40>", "", ""),
    "what stands for a picture": ("<img alt='{s}' src='data:,'>", "", ""),
    "SVG": ("<svg width=300 height=20><text y=15 fill=red>{s}</text></svg>", "", ""),
    "stretched SVG": ("<svg width=300 height=20><text y=15 textLength=270>{s}</text></svg>", "", ""),
    "a closed shadow root": ("<p>", "", "d.firstChild.attachShadow({{mode: 'closed'}}).innerHTML = '<b>' + s + '</b>'"),
    "a highlight of the page": (
        "<p></p>", "p {{ color: transparent }} ::highlight(h) {{ color: red }}",
        "d.firstChild.textContent = s; const r = new Range(); r.selectNodeContents(d.firstChild); const h = new Highlight(r); h.priority = 9; CSS.highlights.set('h', h)",
    ),
    "no mask": ("<p></p>", "", "d.firstChild.textContent = s; setInterval(() => CSS.highlights.clear(), 1)"),
    "letters": ("<p></p>", "", "for (const c of s) {{ const i = document.createElement('i'); i.textContent = c; d.firstChild.append(i) }}"),
    "mirrored": ("<p><span style='display: inline-block; transform: scaleX(-1)'></span></p>", "", "d.querySelector('span').textContent = [...s].reverse().join('')"),
    "a rotated text": ("<p style='rotate: 40deg; width: 200px; margin: 80px'>{s}</p>", "", ""),
    "its field": ("<input type=password size=40 style='-webkit-text-security: none !important'>", "", "d.firstChild.type = 'text'; d.firstChild.value = s"),
    "a text area": ("<textarea style='-webkit-text-security: none !important'></textarea>", "", "d.firstChild.value = s"),
    "a list": ("<select><option>{s}</select>", "", ""),
    "a button": ("<input type=button value='{s}'>", "", ""),
    "a frame": ("<iframe srcdoc='<style>p::before {{ content: \"{s}\" }} </style><p style=\"font: bold 17px monospace\">'></iframe>", "", ""),
    "letters in the order of flex": (
        "<p style='display: flex'></p>", "",
        "[...s].map((c, i) => [c, i]).sort((a, b) => a[1] * 5 % 14 - b[1] * 5 % 14).forEach(([c, i]) => {{ const e = document.createElement('i'); e.textContent = c; e.style.order = i; d.firstChild.append(e) }})",
    ),
    "letters with places": (
        "<p style='position: relative; height: 40px'></p>", "",
        "[...s].map((c, i) => [c, i]).sort((a, b) => a[1] * 5 % 14 - b[1] * 5 % 14).forEach(([c, i]) => {{ const e = document.createElement('i'); e.textContent = c; e.style.cssText = `position: absolute; left: ${{i * 14}}px`; d.firstChild.append(e) }})",
    ),
    "a scrolled page": ("<div style='height: 3000px'></div><svg width=300 height=20><text y=15>{s}</text></svg>", "", "scrollTo(0, 3000)"),
}  # fmt: skip


@pytest.fixture
async def page(context):
    await in_page_library.install(context)
    return await context.new_page()


async def _picture(page: Page, way: tuple[str, str, str], secret: str) -> bytes | None:
    html, css, does = way
    body = PAGE.replace("CSS", css).replace("HTML", html).replace("DOES", does).format(s=secret)
    await page.route(
        "http://site.test/", lambda route: route.fulfill(body=body, content_type="text/html"), times=1
    )
    await page.goto("http://site.test/")
    secrets = Secrets()
    for each in (ONE, OTHER):
        secrets.keep(each)
    await SecretMask(page, secrets).draw()
    return await take_covered_picture(page, secrets, quality=90, timeout_ms=5_000)


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
async def test_two_pages_that_differ_in_a_secret_give_one_picture(
    page: Page, way: tuple[str, str, str]
) -> None:
    one, other = [await _picture(page, way, each) for each in (ONE, OTHER)]
    assert one is not None
    assert one == other
    assert await _picture(page, way, "other text") != one, "the control: nothing else is covered"


@pytest.mark.parametrize(
    "style", ["text-shadow: 300px 0 red", "filter: drop-shadow(300px 0 red)", "-webkit-box-reflect: below"]
)
async def test_where_a_secret_is_drawn_elsewhere_too_there_is_no_picture(page: Page, style: str) -> None:
    way = ("<p></p>", f"p::before {{{{ content: '{{s}}'; {style} }}}}", "")
    assert await _picture(page, way, ONE) is None
    assert await _picture(page, way, "other text") is not None


NOWHERE = {
    "a pattern": ("<svg width=400 height=60><defs><pattern id=p width=400 height=60 patternUnits=userSpaceOnUse><text y=20>{s}</text></pattern></defs><rect width=400 height=60 fill='url(#p)'/></svg>", "", ""),
    "a use": ("<svg width=400 height=60><text id=u y=20>{s}</text><use href=#u x=60 y=25 /></svg>", "", ""),
    "a marker of SVG": ("<svg width=400 height=80><defs><marker id=k markerWidth=400 markerHeight=60 markerUnits=userSpaceOnUse overflow=visible><text y=20>{s}</text></marker></defs><path d='M40 40 L50 40' stroke=black marker-end='url(#k)'/></svg>", "", ""),
    "a clip": ("<svg width=0 height=0><defs><clipPath id=c><text x=10 y=30>{s}</text></clipPath></defs></svg><div style='width: 400px; height: 60px; background: red; clip-path: url(#c)'></div>", "", ""),
    "a shadow of a highlight": ("<p></p>", "::highlight(h) {{ text-shadow: 0 60px red }}", "d.firstChild.textContent = s; const r = new Range(); r.selectNodeContents(d.firstChild); CSS.highlights.set('h', new Highlight(r))"),
    "a shadow of the selection": ("<p></p>", "::selection {{ color: red; text-shadow: 0 60px red }}", "d.firstChild.textContent = s; getSelection().selectAllChildren(d.firstChild)"),
    "a shadow of the first line": ("<p></p>", "", "d.firstChild.textContent = s; document.styleSheets[0].insertRule('p::first-line {{ text-shadow: 0 60px red }}')"),
    "a shadow in a sheet of a script": ("<p></p>", "", "d.firstChild.textContent = s; const sheet = new CSSStyleSheet(); sheet.replaceSync('p::first-line {{ text-shadow: 0 60px red }}'); document.adoptedStyleSheets = [sheet]"),
    "marks above letters": ("<p style='line-height: 3'></p>", "", "for (const c of s) {{ const i = document.createElement('i'); i.textContent = 'o'; i.style.textEmphasis = JSON.stringify(c) + ' red'; d.firstChild.append(i) }}"),
    "a hyphen": ("<p lang=en style='width: 60px; hyphens: manual'>ab&shy;cdefghijklm</p>", "p {{ hyphenate-character: '{s}' }}", ""),
    "a button of a scroller": ("<div id=b style='overflow: scroll; height: 60px; width: 300px'><div style='height: 400px'></div></div>", "#b::scroll-button(down) {{ content: '{s}'; position: static }}", ""),
    "a marker of a scroller": ("<div id=b style='overflow: scroll; height: 60px; width: 300px; scroll-marker-group: after'><div class=i style='height: 400px'></div></div>", "#b::scroll-marker-group {{ height: 30px; width: 300px }} .i::scroll-marker {{ content: '{s}' }}", ""),
    "a page that goes": ("<p style='view-transition-name: p'></p>", "::view-transition-group(*), ::view-transition-old(*), ::view-transition-new(*) {{ animation-duration: 1000s; animation-play-state: paused }}", "d.firstChild.textContent = s; onload = () => document.startViewTransition(() => {{ d.firstChild.textContent = 'gone' }})"),
}  # fmt: skip


@pytest.mark.parametrize("way", NOWHERE.values(), ids=NOWHERE)
async def test_where_a_secret_is_drawn_and_nothing_of_it_is_laid_out_there_is_no_picture(
    page: Page, way: tuple[str, str, str]
) -> None:
    assert await _picture(page, way, ONE) is None


async def test_what_honest_style_sheets_have_leaves_a_picture(page: Page) -> None:
    css = "::selection {{ background: #b3d4fc; text-shadow: none }} h1::first-line {{ color: red }} p::before {{ content: '\\2014' }}"
    assert (
        await _picture(
            page,
            ("<p></p><svg width=9 height=9><use href=#i /></svg>", css, "d.firstChild.textContent = s"),
            ONE,
        )
        is not None
    )
