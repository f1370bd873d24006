"""Whether the control that shows a state is the only one that could be meant."""

from __future__ import annotations

import pytest

from agent.page.shown_states import find_doubt
from kb_schema.selectors import Selector
from tests.support.pages import show

FOLLOWS = "//article[.//h3[normalize-space()='{{mate}}']]//button[normalize-space()='%s']"


def _button(name: str) -> Selector:
    template = {"type": "parameterized_xpath", "template": FOLLOWS % name, "parameters": ["mate"]}
    return Selector.model_validate(
        {"strategies": [{**template, "required_context": ["mate"]}], "parameterized": True}
    )


def _card(name: str, rest: str) -> str:
    return f"<article class=card><h3>{name}</h3>{rest}</article>"


def _closed(html: str) -> str:
    return f"<span></span><script>document.currentScript.previousSibling.attachShadow({{mode: 'closed'}}).innerHTML = '{html}'</script>"


ON, OFF = "<button>Following</button>", "<button>Follow</button>"
OTHERS = _card("Bo", ON) + _card("Ann", "<p>Knows Eve</p>" + OFF)


@pytest.mark.parametrize(
    ("cards", "doubt"),
    [
        (_card("Eve", ON), ""),
        (_card("Eve", "<details><summary>More</summary><button>Follow</button></details>" + ON), "waits to be pressed"),
        (_card("Eve", ON + "<button hidden>Follow</button>"), "waits to be pressed"),
        (_card("Eve", "<button disabled>Following</button>"), "is disabled"),
        (_card("Eve", ON + ON), "2 elements"),
        (_card("Eve", ON + "<button hidden>Following</button>"), "2 elements"),
        (_card("Eve", ON) + _card("Eve", "<button>+ Follow</button>"), "is one of 2"),
        (_card("Eve", ON + "<a href='/eve'>Follow Eve</a>"), "stands beside it"),
        (_card("Eve", ON + "<button title='Follow Eve'>+</button>"), "stands beside it"),
        (_card("Eve", ON + "<a href='#'><img alt='Follow Eve' width=9 height=9></a>"), "stands beside it"),
        (_card("Eve", ON + "<form><input type=submit value='Follow Eve'></form>"), "stands beside it"),
        (_card("Eve", ON + "<div>+ Follow</div>"), "stands beside it"),
        (_card("Eve", ON) + "<button>Follow Eve</button>", "stands beside it"),
        (_card("Eve", "<p>You do not follow Eve yet.</p>" + ON), "is said beside it"),
        (_card("Eve", "<p>You don't follow Eve</p>" + ON), "is said beside it"),
        (_card("Eve", "<p>Not followed by you</p>" + ON), "is said beside it"),
        (_card("Eve", ON + "<div tabindex=0 style='cursor:pointer'>Follow Eve</div>"), "stands beside it"),
        (_card("Eve", "<p>You unfollowed Eve.</p>" + ON), "is said beside it"),
        (_card("Eve", "<p>You stopped following Eve on 3 May.</p>" + ON), "is said beside it"),
        (_card("Eve", "<p>Eve declined your request to follow.</p>" + ON), "is said beside it"),
        (_card("Eve", "<p>Requested to follow</p>" + ON), "is said beside it"),
        (_card("Eve", ON + _closed("<button>Follow Eve</button>")), "stands beside it"),
        (_card("Eve", _closed("<p>You do not follow Eve</p>") + ON), "is said beside it"),
        (_card("Eve", ON) + _closed("<button>Follow Eve</button>"), "stands beside it"),
        (_card("Eve", ON + "<button>Unfollow</button><p>12 followers, followed by Bo"), ""),
        (_card("Eve", "<p>You follow Eve, and Eve does follow Bo, as many people of the harbor do.</p>" + ON), ""),
        (_card("Eve", ON + "<a href='/f'>Followers (3)</a><a href='/m'>Mates</a>"), ""),
    ],
)  # fmt: skip
async def test_a_second_candidate_or_a_control_that_waits_is_a_doubt(page, cards, doubt):
    await show(page, f"<title>Mates</title><h1>Mates</h1>{OTHERS}{cards}")
    found = await find_doubt(page, [_button("Following")], _button("Follow"), {"mate": "Eve"})
    assert doubt in found
    assert bool(found) is bool(doubt)


async def test_the_name_of_the_row_is_not_that_of_the_control(page):
    stars = {
        on: f"//article[.//h3[normalize-space()='{{{{mate}}}}']]//button[@aria-pressed='{on}']"
        for on in ("true", "false")
    }
    shown, waiting = (
        Selector.model_validate(
            {
                "strategies": [
                    {
                        "type": "parameterized_xpath",
                        "template": each,
                        "parameters": ["mate"],
                        "required_context": ["mate"],
                    }
                ],
                "parameterized": True,
            }
        )
        for each in stars.values()
    )
    star = "<button aria-label=Favourite aria-pressed=%s>*</button>"
    await show(page, f"<h1>Mates</h1>{_card('Bo', star % 'false')}{_card('Eve', star % 'true')}")
    assert await find_doubt(page, [shown], waiting, {"mate": "Eve"}) == ""
