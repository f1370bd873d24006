"""The traps: what is there looks like what was meant, and is not. Nothing wrong is ever clicked."""

from __future__ import annotations

from contextlib import suppress

import pytest

from agent.errors import PersonNeeded
from agent.healing.healer import CandidateChoice, IntendedElement
from agent.page.errors import ElementChanged, PageError
from kb_schema.conditions import UrlContains
from kb_schema.probes import ProbeFacts
from kb_schema.selectors import css
from tests.support.pages import NamedElements
from tests.support.rotation import rotating

REFUSED = (PageError, PersonNeeded)
"""Nothing was done, and it was said why."""


def rows(*names: str, extra: str = "") -> str:
    return "<table><thead><tr><th>Name</th><th>Do</th></tr></thead>" + "".join(
        f"<tr id=row-{n}><td>{name}</td><td><button class=edit data-truth='edit {name}'>Edit</button>"
        f"<button class=delete data-truth='delete {name}'>Delete</button>{extra}</td></tr>"
        for n, name in enumerate(names)
    ) + "</table>"  # fmt: skip


async def refused(hands, where, known, *others):
    with pytest.raises(REFUSED):
        await hands.click(where, known, *others)
    return await hands.clicks()


def saves(first="Profile", second="Password", **ids):
    return (
        f"<form action=/a><h2>{first}</h2><label>Name<input name=n></label>"
        f"<button id={ids.get('a', 'save-a')} data-truth=first>Save</button></form>"
        f"<form action=/b><h2>{second}</h2><label>Secret<input name=s></label>"
        f"<button id={ids.get('b', 'save-b')} data-truth=second>Save</button></form>"
    )


async def test_of_two_save_buttons_the_one_of_its_own_form_is_clicked_whatever_its_id_is_now(hands):
    await hands.show(saves())
    known = await hands.record("#save-b")
    await hands.show(saves(a="save-b", b="store"))  # the id went to the other one
    await hands.click("#save-b", known)
    assert await hands.clicks() == ["second"]


async def test_a_save_button_that_is_gone_is_not_the_one_of_the_other_form(hands):
    await hands.show(saves())
    known = await hands.record("#save-b")
    await hands.show(saves().split("<form action=/b>")[0])
    assert await refused(hands, "#save-b", known) == []


@pytest.mark.parametrize("after", [("Carol", "Bob", "Ann"), ("Zoe", "Ann", "Bob"), ("Bob", "Carol")])
async def test_a_row_that_moved_is_followed_and_no_other_row_is_touched(hands, after):
    await hands.show(rows("Ann", "Bob", "Carol"))
    known = await hands.record("#row-1 .delete")
    await hands.show(rows(*after))
    await hands.click("#row-1 .delete", known)
    assert await hands.clicks() == ["delete Bob"]


@pytest.mark.parametrize("after", [("Ann", "Carol"), ("Ann", "Bobby", "Carol"), ("Rob", "Carol", "Ann")])
async def test_a_row_that_is_gone_is_not_another_row(hands, after):
    await hands.show(rows("Ann", "Bob", "Carol"))
    known = await hands.record("#row-1 .delete")
    await hands.show(rows(*after))
    assert await refused(hands, "#row-1 .delete", known) == []


BAR = "<div class=bar><h2>Agent</h2>{}</div>"


@pytest.mark.parametrize("new", ["Remove", "Loeschen", "Bin"])
async def test_a_renamed_delete_beside_a_new_edit_is_never_the_edit(hands, new):
    await hands.show(BAR.format("<button class='b one'>Delete</button>"))
    known = await hands.record(".bar button")
    await hands.show(
        BAR.format(
            f"<button class='b one' data-truth=edit>Edit</button><button class=b data-truth=it>{new}</button>"
        )
    )
    with suppress(*REFUSED):
        await hands.click(".bar button", known)
    assert "edit" not in await hands.clicks()


async def test_a_renamed_delete_is_found_by_what_it_means_and_where_it_stands(hands):
    await hands.show(BAR.format("<button class=e>Edit</button><button class=d>Delete agent</button>"))
    edit, delete = await hands.record(".e"), await hands.record(".d")
    await hands.show(
        BAR.format(
            "<button class=d data-truth=edit>Change</button><button class=x data-truth=it>Remove agent</button>"
        )
    )
    await hands.click(".d", delete, edit)
    assert await hands.clicks() == ["it"]


async def test_swapped_positions_swap_nothing(hands):
    await hands.show(BAR.format("<button>Approve</button><button>Reject</button>"))
    approve, reject = await hands.record("button:nth-of-type(1)"), await hands.record("button:nth-of-type(2)")
    await hands.show(BAR.format("<button>Reject</button><button>Approve</button>"))
    await hands.click("button:nth-of-type(1)", approve, reject)
    await hands.click("button:nth-of-type(2)", reject, approve)
    assert await hands.clicks() == ["Approve", "Reject"]


@pytest.mark.parametrize(
    "left", ["", "<button class=b>Edit</button>", "<button class=b>Archive</button><a href=/x>Help</a>"]
)
async def test_an_element_that_is_gone_altogether_is_not_found(hands, left):
    await hands.show(BAR.format("<button class=b>Publish</button>"))
    known = await hands.record(".b")
    await hands.show(BAR.format(left))
    assert await refused(hands, ".b", known) == []


@pytest.mark.parametrize(
    "new", rotating("renamed", ["Edit", "Reject", "Archive", "Delete everything", "Weiter"], 2)
)
async def test_another_button_with_the_same_id_is_another_button(hands, new):
    await hands.show(BAR.format("<button id=action class=b>Approve</button>"))
    known = await hands.record("#action")
    await hands.show(BAR.format(f"<button id=action class=b>{new}</button>"))
    assert await refused(hands, "#action", known) == []


async def test_a_selector_that_leads_to_something_else_says_in_what_it_differs(hands):
    await hands.show(BAR.format("<button id=action>Approve</button>"))
    known = await hands.record("#action")
    await hands.show(BAR.format("<button id=action>Reject</button>"))
    with pytest.raises(ElementChanged) as caught:
        await hands.click("#action", known)
    assert "'Reject' does something else than 'Approve'" in str(caught.value)
    assert any(each.startswith("name: 'Approve' / 'Reject'") for each in caught.value.differing)


async def test_two_that_are_close_are_shown_and_none_is_clicked(hands):
    await hands.show("<main><p>Bin</p><button class=a>Send</button></main>")
    known = await hands.record(".a")
    await hands.show(
        "<main><p>Bin</p><button class=b>Send now</button><button class=b>Send later</button></main>"
    )
    with pytest.raises(PersonNeeded, match=r"'Send (now|later)'.* or .*'Send (now|later)'"):
        await hands.click(".a", known)
    assert await hands.clicks() == []


async def test_somebody_may_choose_between_two_that_are_close(hands):
    class Person:
        async def choose(self, known, candidates, *, strict):
            assert not strict
            at = next(n for n, each in enumerate(candidates) if each.name == "Send later")
            return CandidateChoice(at, "a person says so")

    await hands.show("<main><p>Bin</p><button class=a>Send</button></main>")
    known = await hands.record(".a")
    await hands.show(
        "<main><p>Bin</p><button class=b>Send now</button><button class=b>Send later</button></main>"
    )
    await hands.click(".a", known, decider=Person())
    assert await hands.clicks() == ["Send later"]


@pytest.mark.parametrize(
    "names", [("First name", "Last name"), ("Old password", "New password"), ("From", "To")]
)
async def test_of_two_fields_whose_order_changed_each_gets_its_own(hands, names):
    def form(first, second):
        return "<form><h2>Form</h2>" + "".join(
            f"<label>{name}<input class=f{n}></label>" for n, name in enumerate((first, second))
        ) + "</form>"  # fmt: skip

    await hands.show(form(*names))
    known = [await hands.record(".f0"), await hands.record(".f1")]
    await hands.show(form(*reversed(names)))
    await hands.healer().act(
        IntendedElement("s.f0", css(".f0"), known[0], (known[1],)), hands.act("fill", "mine")
    )
    label = await hands.page.evaluate(
        "[...document.querySelectorAll('input')].find(i=>i.value).parentElement.innerText"
    )
    assert label.strip() == names[0]


async def test_a_link_of_the_same_words_that_leads_where_the_step_must_not_end_is_left_alone(hands):
    await hands.show("<nav aria-label=Main><a class=go href=/agents>Agents</a></nav>")
    known = await hands.record(".go")
    await hands.show("<nav aria-label=Main><a class=went href=/archive>Agents</a></nav>")
    with pytest.raises(REFUSED):
        await hands.click(
            ".go", known, expecting=(UrlContains(type="url_contains", value="/agents"),),
            facts=ProbeFacts(), scope=NamedElements(),
        )  # fmt: skip
    assert await hands.clicks() == []
