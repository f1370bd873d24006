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
