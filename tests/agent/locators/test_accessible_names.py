"""Roles and names against Chromium's own accessibility tree."""

from __future__ import annotations

import pytest

from agent.locators.page_scan import scan_page
from agent.page import in_page_library
from tests.agent.locators.accessibility_agreement import Agreement, agreement_on
from tests.agent.locators.target_lists import SIGNED_OUT, opened, target_pages
from tests.agent.locators.test_page_index import same_on_the_stored_page
from tests.support.pages import show
from tests.support.rotation import rotating

GOAL = 0.99
SAMPLE = 2
MINIWOB_SAMPLE = 5
HARD_SAMPLE = 10

HARD_CASES = [
    "<button>Save <b>all</b></button><button aria-label='Close'>x</button><button title='Help'></button>",
    "<button><img alt='Print'></button><button><svg><title>Cut</title></svg></button><button>a<br>b</button>",
    "<button><span style='display:none'>no</span>yes<span style='visibility:hidden'>no</span></button>",
    "<button>A<span style='display:block'>B</span>C</button><a href=#><div>One</div><div>Two</div></a>",
    "<button><span aria-hidden=true>x</span>Delete</button><a href=# aria-labelledby='p q'>x</a><i id=p>P</i><i id=q>Q</i>",
    "<span id=h hidden>Hidden <b>words</b></span><input aria-labelledby=h><button id=s aria-label=Remove aria-labelledby='s h'></button>",
    "<label>Name <input></label><label for=m>Mail</label><input id=m><input placeholder=Phone><input title=Street>",
    "<label><input type=checkbox> Flash <input value=3 size=2> times</label><label for=e></label><input id=e placeholder=none>",
    "<label>Colour <select><option>Red<option selected>Blue</select></label><input type=submit><input type=reset value=Undo>",
    "<input type=image alt=Go><input type=image><input type=button value=B><input type=password><input type=search><input type=file>",
    "<fieldset><legend>Size</legend><input type=radio id=r><label for=r>Large</label></fieldset><details><summary>More</summary>x</details>",
    "<table><caption>Boats</caption><tr><th>Name</th><th>Berth</th></tr><tr><th>Argo</th><td>7</td></tr></table>",
    "<table role=grid><tr role=row tabindex=0><td role=gridcell>One</td><td>Two</td></tr></table>",
    "<ul><li>One</li></ul><ol role=presentation><li>Two</li></ol><nav aria-label=Main></nav><section aria-label=S>x</section><section>y</section>",
    "<main><header>h</header><footer>f</footer></main><header>H</header><footer>F</footer><aside>a</aside><search>s</search>",
    "<article><header>h</header></article><form aria-label=F></form><form></form><div role='foo button'>B</div><div role=none>n</div>",
    "<img alt=''><img alt='Logo' src='data:,'><img src='data:,'><figure><img alt=p><figcaption>Cap</figcaption></figure><svg role=img aria-label=Chart></svg>",
    "<a href=# role=none>Link</a><a>no link</a><button role=tab>T</button><div role=tablist><div role=tab tabindex=0>One</div></div>",
    "<div role=checkbox aria-checked=true tabindex=0>Agree</div><div role=switch tabindex=0>Dark</div><div role=slider aria-label=V tabindex=0></div>",
    "<style>.r::before{content:'* '} .r::after{content:' (new)'}</style><button class=r>Mail</button><h2 class=r>News</h2>",
    "<style>.i::before{content:'\\e900' / 'Search'}</style><button class=i></button><a href=# class=i>for it</a>",
    "<select><option>One<option>Two</select><select multiple><option>M</select><input list=l><datalist id=l><option value=x></datalist>",
    "<dl><dt>Term</dt><dd>Definition</dd></dl><hr><progress value=1 max=2></progress><meter value=1>1</meter><output>5</output>",
    "<div role=dialog aria-labelledby=dt><h2 id=dt>Sure?</h2></div><div role=alert>Oh</div><div role=status>ok</div><dialog open>d</dialog>",
    "<h1>One <small>two</small></h1><div role=heading aria-level=3>Three</div><blockquote>q</blockquote><p>p</p><code>c</code><em>e</em><strong>s</strong>",
    "<my-e></my-e><script>customElements.define('my-e',class extends HTMLElement{connectedCallback(){this.attachShadow({mode:'open'}).innerHTML='<button>In <slot></slot></button>'}})</script>",
    "<my-f>given</my-f><script>customElements.define('my-f',class extends HTMLElement{connectedCallback(){this.attachShadow({mode:'open'}).innerHTML='<button>In <slot>none</slot></button>'}})</script>",
    "<iframe title=Inner srcdoc='<button>Deep <i>in</i></button>'></iframe><textarea>t</textarea><textarea placeholder=ph></textarea>",
]  # fmt: skip


@pytest.mark.parametrize("html", rotating("hard names", HARD_CASES, HARD_SAMPLE))
async def test_roles_and_names_of_hard_cases_are_chromiums(page, html):
    await show(page, f"<!doctype html><title>t</title><body>{html}")
    result = await agreement_on(page, "case")
    assert result.compared
    assert not result.disagreements, result.table()
    await same_on_the_stored_page(page, await scan_page(page, everything=True))


async def over_site(browser, site: str, base: str, pages) -> Agreement:
    total = Agreement()
    for signed_out in (True, False):
        async with opened(browser, site, base, signed_out=signed_out) as page:
            for each in pages:
                if (each.signed_out or each.path in SIGNED_OUT) is signed_out:
                    await page.goto(base + each.path)
                    total.add(await agreement_on(page, each.path))
                    await same_on_the_stored_page(page, await scan_page(page, everything=True))
    return total


async def over_miniwob(browser, files) -> Agreement:
    total = Agreement()
    context = await browser.new_context()
    await in_page_library.install(context)
    page = await context.new_page()
    for file in files:
        await page.goto(file.as_uri())
        await page.evaluate("Math.seedrandom('42'); core.EPISODE_MAX_TIME = 600000; core.startEpisodeReal()")
        await page.clock.install()  # pages that move by themselves stand still while they are compared
        total.add(await agreement_on(page, file.stem))
    await context.close()
    return total


def pages_of(site: str):
    return [each for each in target_pages("targets.yaml") if each.site == site]


async def test_a_sample_of_spadeworks_agrees_with_chromium(browser, spadeworks, chance):
    result = await over_site(browser, "spadeworks", spadeworks, chance.sample(pages_of("spadeworks"), SAMPLE))
    assert result.rate >= GOAL, result.table()


async def test_a_sample_of_django_admin_agrees_with_chromium(browser, django_admin, chance):
    result = await over_site(browser, "django", django_admin, chance.sample(pages_of("django"), SAMPLE))
    assert result.rate >= GOAL, result.table()


async def test_a_sample_of_miniwob_agrees_with_chromium(browser, miniwob_pages, chance):
    result = await over_miniwob(browser, chance.sample(miniwob_pages, MINIWOB_SAMPLE))
    assert not unexplained(result), result.table()


def unexplained(result: Agreement) -> list[str]:
    """Disagreements whose reason is not in the table of docs/locating.md."""
    return [each.kind for each in result.disagreements if each.page != "phone-book"]


@pytest.mark.nightly
async def test_every_page_agrees_with_chromium(browser, spadeworks, django_admin, miniwob_pages):
    results = {
        "spadeworks": await over_site(browser, "spadeworks", spadeworks, pages_of("spadeworks")),
        "django": await over_site(browser, "django", django_admin, pages_of("django")),
        "miniwob": await over_miniwob(browser, miniwob_pages),
    }
    for site, result in results.items():
        print(f"{site}: {result.rate:.2%} of {result.compared}\n{result.table()}")  # noqa: T201 - the report
        assert result.rate >= GOAL, (site, result.table())
        assert not unexplained(result), (site, result.table())
