"""What a snapshot carries, and what it never does."""

from __future__ import annotations

import json

import pytest

from agent.page.condition_probes import answer_probes
from agent.page.snapshot_capture import take_snapshot
from kb_schema.page_snapshots import PageSnapshot
from kb_schema.probes import ElementProbe, TextProbe, probe_key
from kb_schema.selectors import css
from tests.support.pages import SITE, show
from web_pages.selectors.selector_generator import PageSelectors
from web_pages.stored_pages import StoredPage

SECRETS = """<title>Sign in</title><input type=password id=pw value=hunter1><input id=code autocomplete=one-time-code>
<input id=card data-value=4111 data-pp-secret><p id=key data-pp-secret title="sk-live-1">sk-live-<b>2</b></p>
<div id=named aria-label="tok-1">tok-2<input value=tok-3></div><select id=pick data-pp-secret><option>A<option selected>Bee</select>
<input type=password id=empty><div id=h></div><iframe srcdoc="<input type=password value=hunter2>"></iframe>
<script>const token = 'tok-4'; pw.value = 'hunter3'; code.value = '123456'; card.value = '4111';
h.attachShadow({mode: 'open'}).innerHTML = '<input type=password value=hunter4><p id=named>tok-5</p>'</script>"""


async def test_secrets_never_leave_the_page(page):
    await show(page, SECRETS)
    snapshot = await take_snapshot(page, secrets=[css("#named")])
    for secret in ("hunter", "123456", "4111", "sk-live", "tok-", "Bee"):
        assert secret not in snapshot.html, secret
    assert snapshot.url == f"{SITE}/"
    assert (snapshot.title, snapshot.annotated, snapshot.ready_state) == ("Sign in", True, "complete")


async def test_of_a_secret_only_whether_it_is_empty_is_told(page):
    await show(page, SECRETS)
    stored = StoredPage(await take_snapshot(page))
    assert stored.answer(ElementProbe(selector=css("#pw"))).value is None
    assert stored.answer(ElementProbe(selector=css("#empty"))).value == ""


async def test_a_password_that_was_made_readable_stays_a_secret_where_we_used_it(page):
    from agent.page.page_actions import perform_action  # noqa: PLC0415 - the one test that acts

    await show(page, "<input type=password id=pw><button onclick=\"pw.type='text'\">Show</button>")
    await perform_action(page, "fill", selector=css("#pw"), value="hunter5")
    await perform_action(page, "click", selector=css("button"))
    assert "hunter5" not in (await take_snapshot(page)).html


async def test_markup_that_a_parser_would_tear_apart_comes_back_whole(page):
    await show(
        page,
        "<p id=outer><x-a id=a></x-a><b>after</b></p><table><tr><td><iframe srcdoc='<body class=inner><p>framed'></iframe></table>"
        "<pre>\n\nlines</pre><script>a.attachShadow({mode:'open'}).innerHTML='<div>one<p>two</p></div>"
        "<x-b></x-b>';a.shadowRoot.querySelector('x-b').attachShadow({mode:'open'}).innerHTML='<ul><li>deep &amp; \"quoted\"</ul>'</script>",
    )
    probes = [
        ElementProbe(selector=css("#outer > b")),
        ElementProbe(selector=css("div > p")),
        ElementProbe(selector=css("ul li:first-child")),
        ElementProbe(selector=css("body.inner > p")),
        ElementProbe(selector=css("pre")),
        ElementProbe(selector=css("x-a:only-child, x-a + b:last-child")),
        TextProbe(value='deep & "quoted"'),
        TextProbe(value="one two"),
        TextProbe(value="framed", css="body.inner"),
    ]
    live = await answer_probes(page, probes)
    stored = StoredPage(await take_snapshot(page))
    for probe in probes:
        assert stored.answer(probe) == live[probe_key(probe)], probe
        assert live[probe_key(probe)].visible == 1, probe


async def test_a_snapshot_survives_its_journey_through_json(page):
    await show(page, "<p>ünï 你好 \u2028 &nbsp; 😀</p>")
    snapshot = await take_snapshot(page)
    assert PageSnapshot.model_validate(json.loads(snapshot.model_dump_json())) == snapshot


async def test_probes_survive_a_page_that_navigates_under_them(page):
    await show(
        page,
        "<script>setTimeout(()=>location.href='/2',30)</script>",
        pages={"/2": "<script>setTimeout(()=>location.href='/3',30)</script>", "/3": "<p>There</p>"},
    )
    probe = TextProbe(value="There")
    answers = await answer_probes(page, [probe])
    while not answers[probe_key(probe)].visible:
        answers = await answer_probes(page, [probe])
    assert page.url.endswith("/3")
    assert await answer_probes(page, []) == {}


BUILT = {
    "a block in a paragraph": "<p><i>before</i></p>|p|<div class=box><span><a href='#x'>Result</a></span></div>",
    "a link in a link": "<a href='#card'><i>Card</i></a>|a|<span><a href='#more'>More</a><b>end</b></span>",
    "a button in a button": "<button><i>Open</i></button>|button|<span><button>Close</button><b>end</b></span>",
    "rows without a body": "<table id=t></table>|table|",
    "a row outside a table": "<div class=grid></div>|.grid|",
    "a paragraph beside a field that is called children": (
        "<form><input name=children><p><i>Guests</i></p></form>|p|<div><b>Two</b></div>"
    ),
    "a form in a form": "<form><i>Search</i></form>|form|<div><form><input name=q></form><b>end</b></div>",
}
"""What a script puts into what: the markup, the element, and what is put into it; rows are made apart."""
_BUILD = """([target, html]) => {
  const parent = document.querySelector(target);
  const make = (tag, text) => { const el = document.createElement(tag); el.append(text); return el; };
  const add = (into, markup) => {
    const template = document.createElement('template');
    template.innerHTML = markup;
    for (const child of [...template.content.childNodes]) into.append(child);
  };
  if (html) {
    const inner = html.match(/^<(div|span)[^>]*>/)[0];
    const box = document.createElement(inner.match(/\\w+/)[0]);
    for (const piece of html.split(/(?=<(?:a|button|form|span|b)\\b)/).slice(1)) add(box, piece);
    parent.append(box);
  } else for (const name of ['Ann', 'Bob']) {
    const row = document.createElement('tr');
    row.append(make('td', name), make('td', make('button', 'Delete')));
    parent.append(row);
  }
}"""
_PATHS = """() => [...document.body.querySelectorAll('*')].map((el) => {
  const path = [];
  for (let node = el; node !== document.documentElement; node = node.parentElement) path.unshift(node.tagName.toLowerCase());
  return path.join('/');
})"""


@pytest.mark.parametrize("kind", BUILT)
async def test_what_a_script_builds_and_no_parser_would_comes_back_as_it_was(page, kind):
    markup, target, inside = BUILT[kind].split("|")
    await show(page, f"<body>{markup}</body>")
    await page.evaluate(_BUILD, [target, inside])
    stored = StoredPage(await take_snapshot(page))
    (root,) = stored.roots
    body = next(each for each in root.elements if each.tag == "body")
    paths = [
        "/".join(each.tag for each in [*reversed(list(el.ancestors())), el][1:]) for el in body.descendants()
    ]
    assert paths == await page.evaluate(_PATHS)
    for each in body.descendants():
        chosen = PageSelectors(stored).of(each).selector
        if chosen is not None:
            for strategy in chosen.strategies:
                alone = chosen.model_copy(update={"strategies": (strategy,)})
                found = (await answer_probes(page, [ElementProbe(selector=alone)])).popitem()[1]
                assert found.present == 1, alone


async def test_css_finds_renamed_elements_by_their_tag(page):
    await show(page, "<table id=t></table><p class=told>It tells</p>")
    await page.evaluate(_BUILD, ["table", ""])
    stored = StoredPage(await take_snapshot(page))
    for selector in (
        "table > tr",
        "#t tr:nth-of-type(2) > td",
        'tr:has-text("Bob") button',
        "tr + tr",
        "p.told",
    ):
        probe = ElementProbe(selector=css(selector))
        assert (
            stored.answer(probe).present == (await answer_probes(page, [probe]))[probe_key(probe)].present > 0
        )
