"""A look that is taken for a question: it says what a whole look would say, and reads less."""

from __future__ import annotations

import random

import pytest

from agent.locators.candidate_ranking import DiscoveryCandidate, DiscoveryRanking, rank_candidates
from agent.locators.element_descriptions import ElementDescription, build_scan_query
from agent.locators.page_index import PageIndex
from agent.locators.page_scan import scan_page
from agent.locators.word_comparison import WordFit, build_letter_key, compare_words, normalize_words
from tests.agent.locators.target_lists import SIGNED_OUT, opened, target_pages
from tests.agent.locators.test_accessible_names import HARD_CASES
from tests.agent.locators.test_target_discovery import FOUND, TRAPS
from tests.support.pages import show
from tests.support.rotation import rotating

HARDER = [
    "<style>.r::before{content:'Press '}</style><button class=r>Save</button><button>Press Save</button>",
    "<style>.r::before{content:'\\e900 *'}</style><button class=r>Save</button><button>Other</button>",
    "<style>i::after, x y::before{content:'ve' !important}</style><button>Sa<i></i></button><label>Sa<i></i> <input></label>",
    "<style>::before{content:'Sa'} @media all {b::after{content:attr(title)}}</style><button>ve</button><button>Sa<b title=ve></b></button>",
    "<style>div{& a::before{content:'Save'}} #q::after{content:'»'}</style><div><a href=#>it</a><a href=# id=q>Save</a></div>",
    "<button>S<b>a</b>v<i>e</i></button><button>Sav.e</button><button>&#xff33;&#xff41;&#xff56;&#xff45;</button><button>S_A_V_E</button>",
    "<button>Log in</button><a href=#>login</a><button>E-mail</button><label>Email address <input></label>",
    "<label>Category <select><option>Boats</select></label><a href=#>Categories</a><input type=checkbox> Category",
    "<label><input type=checkbox></label> Boats <input type=checkbox> Boats <table><tr><th>Boats<tr><td><input></table>",
    "<button><img alt=Save></button><button><span aria-label=Save>x</span></button><a href=#><svg><title>Save</title></svg></a>",
    "<b id=s>Save</b><button aria-labelledby=s>x</button><button title=Save></button><input type=button value=Save>",
    "<h2>Save</h2><input><h2>Load</h2><input><fieldset><legend>Save</legend><input></fieldset>",
    "<div style='cursor:pointer'>Save <span title=Save>it</span></div><div onclick=f()>Save</div><p>Save</p>",
    "<label for=s>Save</label><input type=submit id=s><input type=submit><label for=o>Save</label><output id=o>1</output>",
    "<label>Boats <select><option>Save</select></label><label><select><option>Save</select></label> Save",
    "<form id=save-form><button>Go</button></form><form><h2>Save</h2><button>Go</button></form>",
    "<label><span style='display:none'>Save</span></label><label for=z style='display:none'>Save</label><input id=z>",
]  # fmt: skip
EXTRA = (
    "Save",
    "Press Save",
    "Login",
    "Email",
    "Categories",
    "Category",
    "Boats",
    "Save@Save",
    "Go@SaveForm",
    "Submit",
)


def words_on(index: PageIndex, dice: random.Random, count: int) -> list[str]:
    """What elements of the page are called, whole and begun, in regions and with nouns."""
    said = sorted({
        text
        for e in index.elements
        for text in (e.name, e.label, e.text, e.placeholder, e.id or "", e.attributes.get("title", ""), *e.near)
        if text
    })  # fmt: skip
    regions = sorted({text for region in index.regions for text in (region.name, *region.texts) if text})
    words = dice.sample(said, min(count, len(said)))
    words += [" ".join(each.split()[:2]) for each in words[: count // 2]]
    words += [f"{each} button" for each in words[: count // 4]] + [f"{each}s" for each in words[: count // 4]]
    if regions:
        words += [f"{each}@{dice.choice(regions)}" for each in words[: count // 2]]
    return words


def told(ranked: DiscoveryRanking) -> object:
    """Everything an answer is made of; hints aside, for which everything must be read."""

    def of(candidate: DiscoveryCandidate) -> object:
        return candidate.element, candidate.strategy, candidate.fit, candidate.matched_text

    return (ranked.best and of(ranked.best), [of(each) for each in ranked.rivals])


async def same_answers(page, words: list[str]) -> tuple[int, int]:
    """Asserts that; how many elements were read in all, of how many."""
    whole = await scan_page(page)
    read = there = 0
    for each in words:
        asked = build_scan_query([ElementDescription(each)])
        if asked is None:
            continue
        index = await scan_page(page, query=asked)
        for action in ("click", "fill", None):
            ours, theirs = (
                rank_candidates(look, ElementDescription(each, action)) for look in (index, whole)
            )
            assert told(ours) == told(theirs), each
            if ours.best is not None:
                chain, other = ([*look.regions_of(ours.best.element)] for look in (index, whole))
                assert chain == other
        read += sum(element.at >= 0 for element in index.elements)
        there += len(index.elements)
    return read, there


PAGES = list(dict.fromkeys([*HARD_CASES, *HARDER, *(case[0] for case in (*TRAPS, *FOUND))]))


@pytest.mark.parametrize("html", rotating("asked", PAGES, 5))
async def test_on_hard_pages_a_look_for_a_question_answers_as_a_whole_look(page, html, chance):
    await show(page, f"<!doctype html><title>t</title><body>{html}")
    whole = await scan_page(page)
    await same_answers(page, [*words_on(whole, chance, 4), *EXTRA])


@pytest.mark.parametrize(
    ("pages", "words_each"), [(1, 8), pytest.param(4, 12, marks=pytest.mark.nightly)], ids=["sample", "more"]
)
async def test_on_pages_of_sites_a_look_for_a_question_answers_as_a_whole_look(
    browser, spadeworks, django_admin, chance, pages, words_each
):
    read = there = 0
    for site, base in (("spadeworks", spadeworks), ("django", django_admin)):
        of_site = [p for p in target_pages("targets.yaml") if p.site == site and p.path not in SIGNED_OUT]
        async with opened(browser, site, base) as page:
            for each in chance.sample([p for p in of_site if not p.signed_out], pages):
                await page.goto(base + each.path)
                words = words_on(await scan_page(page), chance, words_each)
                counted = await same_answers(page, words)
                read, there = read + counted[0], there + counted[1]
    assert read < there / 2, "next to everything was read"


@pytest.mark.parametrize(
    ("wanted", "said"),
    [("category", "Categories"), ("items", "Item"), ("email address", "E-mail"), ("log in", "Login"),
     ("new email address please", "New e-mail address, please!"), ("user name", "userName"), ("dont", "Don't"),
 ("save", "Save changes")],
)  # fmt: skip
def test_the_core_of_words_is_in_whatever_fits_them(wanted, said):
    assert compare_words(normalize_words(wanted), said) is not WordFit.NOT
    letters = "".join(c for c in said.lower() if c.isalnum())
    assert build_letter_key(normalize_words(wanted)) in letters


@pytest.mark.parametrize("words", ["\u00d7", "OK", "Größe", "", "row Bob"])
def test_what_has_too_few_letters_to_go_by_takes_a_whole_look(words):
    assert build_scan_query([ElementDescription(words, "click")]) is None
