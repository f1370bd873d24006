"""Elements all of whose words changed: found in their place, offered, or left alone."""

from __future__ import annotations

import pytest

from agent.healing.rewording_search import ActRisk, find_reworded
from agent.locators.page_fingerprints import PageFingerprints
from agent.locators.page_scan import scan_page

SAFE, SENDS = ActRisk(repeatable=True, checked=True), ActRisk(repeatable=False, checked=True)
FORM = """<main><h1>A booking</h1><form aria-label="Booking">
<label>Name <input {field}></label><label>Room <select><option>Hall</select></label>
<label><input type=checkbox> With a projector</label>{more}<button {save}</button></form></main>"""
BEFORE = {"field": 'name="who"', "save": 'id="save">Reserve', "more": ""}


@pytest.fixture
async def search(page):
    """Return what the search finds for a control of the form in the changed form."""

    async def look(words, risk=SAFE, *, before="", after="", **changed):
        await page.set_content(before or FORM.format(**BEFORE))
        prints = PageFingerprints(await scan_page(page))
        (known,) = [each for _, each in prints.all() if each.name == words]
        await page.set_content(after or FORM.format(**BEFORE | changed))
        return find_reworded(await scan_page(page), known, risk)

    return look


async def test_button_with_its_id_among_its_neighbours_is_found_under_another_verb(search):
    for risk in (SAFE, SENDS):
        best, *_ = await search("Reserve", risk, save='id="save">Book now')
        assert (best.seen.name, best.against) == ("Book now", ())


async def test_button_without_its_id_is_found_only_if_pressing_it_changes_no_data(search):
    (best,) = await search("Reserve", SAFE, save='id="other">Hold it')
    assert best.against == ()
    (best,) = await search("Reserve", SENDS, save='id="other">Hold it')
    assert best.against == ("no identifier stayed, and pressing it may change data",)


async def test_button_of_a_step_without_outcomes_is_offered_only(search):
    (best,) = await search("Reserve", ActRisk(repeatable=True, checked=False), save='id="save">Hold it')
    assert best.against == ("nothing is expected of the step, so that a wrong element would not be noticed",)


@pytest.mark.parametrize("harmful", ["Delete everything", "Unsubscribe", "Cancel"])
async def test_harmful_or_opposite_words_speak_against_it_even_with_the_same_id(search, harmful):
    for found in (await search("Reserve", SENDS, save=f'id="save">{harmful}'),):
        assert all(each.against for each in found)


async def test_element_whose_words_are_elsewhere_on_the_page_is_not_taken(search):
    found = await search("Reserve", save='id="save">Hold it', more="<button>Reserve</button>")
    assert all(each.against for each in found if each.seen.name != "Reserve")


async def test_field_with_another_label_and_name_is_found_among_unchanged_neighbours(search):
    changed = FORM.replace("Name", "Booked by")
    before = FORM.format(**BEFORE)
    (best,) = await search("Name", before=before, field='name="booker" id=x placeholder="Booked by"')
    assert best.against == ()
    assert "Booked by" in changed


async def test_of_two_new_fields_none_is_taken(search):
    two = '<label>Street <input name="street"></label><label>Town <input name="town"></label>'
    before = FORM.format(**BEFORE | {"more": '<label>Address <input name="address"></label>'})
    assert all(each.against for each in await search("Address", before=before, more=two))


async def test_button_of_a_dialog_that_asks_in_other_words_is_offered(page):
    dialog = (
        '<div role=dialog aria-label="{asks}"><p>{asks}</p><button>{yes}</button><button>Back</button></div>'
    )
    await page.set_content(dialog.format(asks="Really remove Curry?", yes="Remove recipe"))
    prints = PageFingerprints(await scan_page(page))
    (known,) = [each for _, each in prints.all() if each.name == "Remove recipe"]
    await page.set_content(dialog.format(asks="This cannot be undone. Go on?", yes="Erase it"))
    (best,) = find_reworded(await scan_page(page), known, SENDS)
    assert (best.seen.name, best.against) == (
        "Erase it",
        ("no identifier stayed, and pressing it may change data",),
    )


async def test_nothing_is_offered_for_what_was_taken_away(search):
    assert await search("Reserve", save="type=button hidden>") == ()
    before = FORM.format(**BEFORE).replace("</form>", "<button>Back</button></form>")
    assert await search("Reserve", before=before, save="type=button>Back") == (), (
        "Back stands in its place now"
    )


TWO = """<main><h1>A booking</h1><form aria-label="Booking"><label>Room <select><option>Hall</select></label>
<button id="{first}">{says}</button></form></main>"""
ALL = '<button id="all">Save all</button>'


@pytest.mark.parametrize(("identifier", "found"), [("save", ["Save all"]), ("all", []), ("new", [])])
async def test_element_with_the_words_of_another_one_is_found_only_if_it_keeps_its_id(
    page, identifier, found
):
    await page.set_content(ALL)  # on another page
    (other,) = [each for _, each in PageFingerprints(await scan_page(page)).all() if each.name == "Save all"]
    await page.set_content(TWO.format(first="save", says="Save"))
    (known,) = [each for _, each in PageFingerprints(await scan_page(page)).all() if each.name == "Save"]
    await page.set_content(TWO.format(first=identifier, says="Save all"))
    index = await scan_page(page)
    reworded = find_reworded(index, known, SAFE, others=[other])
    assert [each.seen.name for each in reworded] == found


async def test_field_that_moved_under_another_label_and_name_is_offered_as_the_only_one_left(search):
    fields = "{}<label>Mail <input name=mail></label><label>Town <input name=town></label>{}"
    page = '<main><h1>A booking</h1><form aria-label="Booking">{}<button>Reserve</button></form></main>'
    before = page.format(fields.format("<label>Name <input name=who></label>", ""))
    moved = page.format(fields.format("", "<label>Booked by <input name=booker></label>"))
    two = page.format(
        fields.format(
            "<label>Company <input name=firm></label>", "<label>Booked by <input name=booker></label>"
        )
    )
    found = await search("Name", before=before, after=moved)
    assert [each.seen.name for each in found][:1] == ["Booked by"]
    assert await search("Name", before=before, after=two) == () or all(
        each.against for each in await search("Name", before=before, after=two)
    )
