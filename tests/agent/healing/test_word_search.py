"""What is known only by what people call it: found by the ladder, never for what destroys by its name alone."""

from __future__ import annotations

import pytest

from agent.errors import PersonNeeded
from agent.events import HealTried
from agent.healing.element_memory import ElementMemory, build_selector_key
from agent.healing.fingerprint_search import DEFAULT_THRESHOLDS
from agent.healing.healer import HealedElement, IntendedElement
from agent.healing.word_search import ElementWords, collect_element_words
from agent.page.errors import GateFailed
from kb_schema.fingerprints import Fingerprint
from kb_schema.selectors import Selector, css
from kb_schema.text_similarity import is_destructive

PAGE = "<main><h1>Boats</h1><label>Boat name <input id=n></label><button id=new>{}</button>{}</main>"


def never(*more):
    """A selector that leads nowhere on any of these pages, with words for people besides."""
    return Selector.model_validate({"strategies": [{"type": "id", "value": "gone"}, *more]})


SAVE = {"type": "role_name", "role": "button", "name": "Save boat", "exact": False}


def outcomes(hands):
    return [each.outcome for each in hands.events if isinstance(each, HealTried)]


async def press(hands, *more, name="boat.save_button", label=None, others=(), **how):
    selector = never(*more)
    meant = IntendedElement(
        name, selector, others=others, calls=collect_element_words(selector, label), action="click", **how
    )
    return await hands.healer().act(meant, hands.act())


async def test_the_element_its_label_names_is_found_and_told(hands):
    await hands.show(PAGE.format("Save boat", ""))
    done = await press(hands, label="Save boat")
    assert await hands.clicks() == ["new"]
    assert outcomes(hands) == ["healed"]
    assert isinstance(done.healed, HealedElement)
    assert done.healed.moved
    assert "asked for Save boat" in hands.events[-1].actions


@pytest.mark.parametrize("text", ["Save", "Save boat and close", "Cancel"])
async def test_what_only_begins_like_it_or_is_called_otherwise_is_not_taken(hands, text):
    await hands.show(PAGE.format(text, ""))
    with pytest.raises(GateFailed, match="not_found"):
        await press(hands, label="Save boat")
    assert await hands.clicks() == []


async def test_what_may_not_be_done_twice_is_not_taken_by_its_name_alone(hands):
    await hands.show(PAGE.format("Save boat", ""))
    with pytest.raises(GateFailed, match="not_found"):
        await press(hands, label="Save boat", careful=True)
    event = next(each for each in hands.events if isinstance(each, HealTried))
    assert event.reason == "a non-idempotent action needs more than the element's name"
    await press(hands, SAVE, label="Save boat", careful=False)
    assert await hands.clicks() == ["new"]


def test_more_is_asked_of_what_the_knowledge_says_may_not_be_done_twice():
    known = Fingerprint(role="button", name="Save boat")
    asked = [
        IntendedElement("m", css("#m"), known, careful=careful).demand_is_strict for careful in (False, True)
    ]
    assert asked == [False, True]
    assert DEFAULT_THRESHOLDS.stricter.least_lead > DEFAULT_THRESHOLDS.least_lead


async def test_two_that_are_called_so_are_ambiguous(hands):
    await hands.show(PAGE.format("Save boat", "<button id=other>Save boat</button>"))
    with pytest.raises(PersonNeeded, match="may be button 'Save boat'"):
        await press(hands, label="Save boat")
    assert await hands.clicks() == []


async def test_words_that_mean_different_elements_are_ambiguous(hands):
    await hands.show(PAGE.format("Save boat", "<button id=other>Keep boat</button>"))
    with pytest.raises(PersonNeeded):
        await press(hands, {"type": "label", "name": "Keep boat"}, label="Save boat")
    assert await hands.clicks() == []


async def test_a_role_that_was_written_down_must_be_its_role(hands):
    await hands.show(PAGE.format("Other", "<a href=# id=link>Save boat</a>"))
    with pytest.raises(GateFailed):
        await press(hands, SAVE | {"exact": True, "name": "Save  boat"})
    assert await hands.clicks() == []


async def test_another_known_element_of_the_screen_is_not_taken(hands):
    await hands.show(PAGE.format("Save boat", ""))
    with pytest.raises(GateFailed):
        await press(hands, label="Save boat", others=(Fingerprint(role="button", name="Save boat"),))
    assert await hands.clicks() == []


@pytest.mark.parametrize(
    ("id_", "taken"), [("b7", False), ("delete-boat", True), ("deleteBoat", True), ("save-boat", False)]
)
async def test_what_destroys_needs_a_second_witness(hands, id_, taken):
    await hands.show(PAGE.format("Other", f"<button id={id_}>Delete boat</button>"))
    if taken:
        await press(hands, name="boat.delete_boat", label="Delete boat")
    else:
        with pytest.raises(GateFailed):
            await press(hands, name="boat.delete_boat", label="Delete boat")
    assert await hands.clicks() == ([id_] if taken else [])


async def test_without_words_for_people_nothing_is_looked_for(hands):
    await hands.show(PAGE.format("gone", ""))
    with pytest.raises(GateFailed):
        await press(hands, name="boat.gone")
    assert outcomes(hands) == ["not_found"]


def test_words_for_people_are_names_and_labels_never_ids():
    said = collect_element_words(
        never(SAVE, {"type": "label", "name": "Boat"}, {"type": "aria", "value": "Boat"}), "Boat"
    )
    assert said == (ElementWords("Save boat", "button"), ElementWords("Boat"))
    assert collect_element_words(never(), "") == ()
    assert is_destructive("Delete boat")


# -- what a task names by a selector of its own --------------------------------------------------------


class _Counts:
    """Heal counters that remember."""

    def __init__(self):
        self.counted = {}

    async def count_heal(self, run_id, selector):
        self.counted[run_id, selector] = 1 + self.counted.get((run_id, selector), 0)
        return self.counted[run_id, selector]

    async def heals(self, run_id, selector):
        return self.counted.get((run_id, selector), 0)


async def once(hands, memory, selector, held):
    url = hands.page.url
    key = build_selector_key(selector, url)
    meant = IntendedElement(
        "raw", selector, memory.known_unlisted(key), calls=collect_element_words(selector), compared=False
    )
    memory.begin()
    done = await hands.healer().act(meant, hands.act())
    memory.used(key, done, url, parameterized=False, values={})
    await memory.settle(held, hands.events.append)
    return done


@pytest.mark.parametrize(("held", "healed"), [(True, True), (False, False), (None, False)])
async def test_what_a_selector_of_a_task_led_to_is_known_once_its_step_held(hands, held, healed):
    memory = ElementMemory("boats", heals=(counts := _Counts()), run_id="run")
    await hands.show(PAGE.format("Cast off", ""))
    await once(hands, memory, css("#new"), held)
    await hands.show(PAGE.format("Cast off", "").replace("id=new", "id=newer class=go"))
    if healed:
        await once(hands, memory, css("#new"), held=True)
        assert await hands.clicks() == ["newer"]
        assert list(counts.counted.values()) == [1]
    else:
        with pytest.raises(GateFailed):
            await once(hands, memory, css("#new"), held=True)
    assert not [
        each for each in hands.events if type(each).__name__ == "ElementUsed"
    ]  # no element of a screen


async def test_a_selector_of_a_task_is_taken_at_its_word_where_it_leads_somewhere(hands):
    memory = ElementMemory("boats")
    await hands.show(PAGE.format("Cast off", ""))
    await once(hands, memory, css("#new"), held=True)
    await hands.show(PAGE.format("Moor", ""))
    await once(hands, memory, css("#new"), held=True)
    assert await hands.clicks() == ["new"]


@pytest.mark.parametrize("selector", [css("li:first-child a"), Selector.model_validate(
    {"strategies": [{"type": "dom_index", "index": 2}]})])  # fmt: skip
def test_what_is_whichever_is_there_has_no_identity(selector):
    assert build_selector_key(selector, "http://a.test/x") is None
    assert build_selector_key(css("#a"), "http://a.test/x/7") == build_selector_key(
        css("#a"), "http://a.test/x/8"
    )
