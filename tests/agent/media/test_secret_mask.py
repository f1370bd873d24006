"""What is filmed shows no secret: two pages that differ in nothing but a secret look the same."""

from __future__ import annotations

import pytest

from agent.media.secret_mask import SecretMask
from agent.page import in_page_library
from agent.page.errors import ScriptFailed
from agent.redaction import Secrets
from kb_schema.selectors import Selector, css

ONE, OTHER = "hunter22x", "mmmmmmmmm"
PAGE = """<!doctype html><style>.k {{ display: inline-block; width: 300px; overflow: hidden }} * {{ font-family: monospace }}</style>
<label>Key <input id=typed></label><input value="{s}" name=prefilled><textarea>a {s} b</textarea>
<select class=s style="width: 200px"><option>{s}</select><p class=k>Your key is {s}, keep it</p><div id=late></div>
<iframe srcdoc='<p style="font-family: monospace">{s}</p><input value="{s}">'></iframe>
<script>
  const root = document.getElementById("late").attachShadow({{mode: "open"}});
  root.innerHTML = '<input value="{s}"><p style="width: 300px">in a shadow: {s}</p>';
</script>"""


@pytest.fixture
async def page(context):
    await in_page_library.install(context)
    return await context.new_page()


async def _show(page, secret, url="http://site.test/"):
    await page.route(url, lambda r: r.fulfill(body=PAGE.format(s=secret), content_type="text/html"), times=1)
    await page.goto(url)


async def _veil(page, *secrets, selector=None):
    kept = Secrets()
    for secret in secrets:
        kept.keep(secret)
    veil = SecretMask(page, kept)
    await veil.draw(selector)
    return veil


async def test_two_pages_that_differ_in_a_secret_look_the_same(page):
    await _show(page, ONE)
    bare = await page.screenshot()
    await _show(page, OTHER)
    assert await page.screenshot() != bare, "the control: without a veil they differ"
    await _veil(page, ONE, OTHER)  # on the page that is open already
    covered = await page.screenshot()
    await _show(page, ONE)  # and on later documents, from their first picture on
    assert await page.screenshot() == covered != bare


async def test_a_field_is_covered_from_the_first_character_on(page):
    pictures = []
    for secret in (ONE, OTHER):
        await _show(page, "nothing")
        veil = await _veil(page, secret)
        await veil.draw(Selector.model_validate({"type": "label", "name": "Key"}))
        await page.focus("#typed")
        for char in secret[:3]:
            await page.keyboard.press(char)
        await page.evaluate("document.activeElement.blur()")
        pictures.append(await page.screenshot())
    assert pictures[0] == pictures[1]


async def test_what_comes_later_is_covered_too(page):
    await _show(page, "nothing")
    await _veil(page, ONE, OTHER)
    pictures = []
    for secret in (ONE, OTHER):
        await page.evaluate(
            """(secret) => {
              document.body.innerHTML = `<p style="width: 300px">got ${secret}</p><p id=t style="width: 300px">x</p><input id=v>`;
              document.getElementById("t").firstChild.data = `and ${secret}`;
              document.getElementById("v").value = secret;
              document.getElementById("v").dispatchEvent(new Event("input", { bubbles: true }));
            }""",
            secret,
        )
        pictures.append(await page.screenshot())
    assert pictures[0] == pictures[1]


async def test_the_page_sees_nothing_of_it_and_behaves_as_without(page):
    await _show(page, ONE)
    before = await page.evaluate(
        """() => {
          window.heard = [];
          new MutationObserver((all) => heard.push(...all.map((each) => each.type)))
            .observe(document, { subtree: true, childList: true, attributes: true, characterData: true });
          for (const name of ["includes", "indexOf", "startsWith"]) {
            const native = String.prototype[name];
            String.prototype[name] = function (...args) { heard.push(String(args[0])); return native.apply(this, args); };
          }
          return document.documentElement.outerHTML;
        }"""
    )
    await _veil(page, ONE, "another-secret", selector=css("#typed"))
    await page.fill("#typed", "another-secret")
    assert await page.input_value("#typed") == "another-secret"
    heard = await page.evaluate("heard")
    assert not any("another-secret" in each for each in heard)
    assert not {"attributes", "childList", "characterData"} & set(heard)
    assert await page.evaluate("document.documentElement.outerHTML") == before


async def test_where_nothing_is_secret_nothing_is_done(page):
    await _show(page, ONE)
    await _veil(page)
    assert await page.evaluate("document.adoptedStyleSheets.length") == 0


async def test_where_it_cannot_be_drawn_nothing_may_be_typed_and_no_secret_is_told(page, monkeypatch):
    await _show(page, "nothing")

    async def refuse(_page):
        raise in_page_library.DriverError(f"no session: {ONE}")

    monkeypatch.setattr(page.context, "new_cdp_session", refuse)
    with pytest.raises(ScriptFailed) as caught:
        await _veil(page, ONE)
    assert ONE not in str(caught.value)
    assert ONE not in repr(caught.value.__cause__)


SPLIT = "hunter2-horse"


@pytest.mark.parametrize(
    "disguise",
    [
        lambda text: "".join(f"<b>{each}</b>" for each in text),
        lambda text: f"{text[:5]}<wbr>{text[5:]}",
        lambda text: text[::-1],
        lambda text: text.upper(),
        " ".join,
        lambda text: text.encode().hex(),
    ],
)
async def test_a_page_that_repeats_a_secret_in_disguise_shows_nothing_of_it(page, disguise):
    pictures = []
    for secret in (SPLIT, "mmmmmmm-mm9mm"):
        body = (
            f'<!doctype html><p style="width: 500px; font: 14px monospace">{disguise(secret)}</p><p>words</p>'
        )
        await page.goto("about:blank")
        await page.set_content(body)
        await _veil(page, secret)
        pictures.append(await page.screenshot())
    assert pictures[0] == pictures[1]
