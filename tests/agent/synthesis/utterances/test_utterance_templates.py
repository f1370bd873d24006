"""Sentences that tasks are told in: their template, what it reads off new ones, and what is bound to it."""

from __future__ import annotations

import string

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from agent.synthesis.graph.action_graph import ActionNode, ConditionNode, LoopNode
from agent.synthesis.synthesis_pipeline import PipelineResult
from agent.synthesis.utterances.utterance_templates import (
    UtteranceMismatch,
    UtterancesTooDifferent,
    expand_value_forms,
    learn_template,
    split_listed_items,
)
from agent.synthesis.utterances.value_forms import list_forms
from kb_schema.execution_traces import ExecutionTrace, TraceStep
from kb_schema.page_snapshots import PageSnapshot
from kb_schema.selectors import css
from tests.agent.synthesis.synthesis_examples import examples, few_examples, induce
from web_pages.selectors.selector_generator import PageSelectors
from web_pages.stored_pages import StoredPage

frames = st.lists(st.sampled_from(["open", "find", "send", "to", "from", "under", "report"]), min_size=2,
                  max_size=4, unique=True)  # fmt: skip
values = st.text(string.ascii_letters + string.digits, min_size=1, max_size=8).map(lambda text: f"v{text}")


@examples
@given(
    frames,
    st.lists(st.tuples(values, values), min_size=2, max_size=5, unique=True),
    st.tuples(values, values),
)
def test_what_varies_between_shared_words_is_read_off_any_new_sentence(frame, shown, new):
    first, *rest = frame
    assume(all(len({pair[at] for pair in shown}) > 1 for at in (0, 1)))

    def sentence(pair: tuple[str, str]) -> str:
        return f'{first} {pair[0]} {" ".join(rest)} "{pair[1]}", please.'

    template = learn_template([sentence(pair) for pair in shown], [()] * len(shown))
    told = [list(template.parse(sentence(pair)).values()) for pair in (*shown, new)]

    assert told == [list(pair) for pair in (*shown, new)]
    assert [slot.quoted for slot in template.slots] == [False, True]
    assert learn_template([sentence(pair) for pair in reversed(shown)], [()] * len(shown)) == template


@few_examples
@given(st.lists(values, min_size=1, max_size=6, unique_by=str.casefold))
def test_items_that_are_counted_up_are_a_list_of_any_length(items):
    shown = ["Take apples, pears and go.", "Take nothing and go.", "Take figs and go."]
    template = learn_template(shown, [{"apples", "pears"}, set(), {"figs"}])

    assert template.parse(f"Take {', '.join(items)} and go.") == {"take": items}
    assert template.parse("Take nothing and go.") == {"take": []}
    assert split_listed_items(" and ".join(items)) == items


def test_a_sentence_that_says_something_else_is_refused_with_both():
    template = learn_template(['Open "A" now', 'Open "B" now'], [(), ()])

    with pytest.raises(UtteranceMismatch, match=r'Close.*does not fit.*Open "\{open\}" now') as refused:
        template.parse('Close "A" now')
    assert refused.value.utterance == 'Close "A" now'
    with pytest.raises(UtteranceMismatch):
        template.parse("Open A now")  # never without quotes where it was shown


def test_free_words_are_no_template():
    with pytest.raises(UtterancesTooDifferent, match="differ too much"):
        learn_template(["Please remove what Ann wrote.", "I want Bo's last mail starred"], [(), ()])


def test_of_one_sentence_what_was_typed_and_what_is_quoted_and_acted_on_can_vary():
    alone = 'Write Ahoy into "Note" and press Send'
    template = learn_template([alone], [{"Ahoy", "Note", "Send"}], [{"Ahoy"}])

    assert str(template) == 'Write {write} into "{write_2}" and press Send'


def test_values_are_known_in_the_forms_in_which_people_type_and_click_them():
    told = list_forms("12/05/2016")
    assert (told["iso"], told["day"], told["month_name"]) == ("2016-12-05", "5", "December")
    assert list_forms("3rd")["number"] == list_forms("third")["number"] == "3"
    assert "day" not in list_forms("99/99/2016")
    assert expand_value_forms({"when": "12/05/2016", "who": ["A"]})["when_iso"] == "2016-12-05"


def test_an_owner_is_known_by_the_name():
    assert list_forms("Brian Murphy's")["owner"] == "Brian Murphy"
    assert "owner" not in list_forms("the users'")


def test_amounts_are_known_in_the_notation_of_fields():
    told = {said: list_forms(said) for said in ("$1,000.00", "60.50 AUD", "5%", "2 of 3", "1,5")}
    assert told["$1,000.00"] == {"amount": "1000.00", "amount_without_zeros": "1000"}
    assert told["60.50 AUD"]["amount"] == "60.50"
    assert told["5%"]["amount"] == "5"
    assert all("amount" not in told[said] for said in ("2 of 3", "1,5"))


def test_an_amount_and_what_follows_it_are_two_values():
    shown = [
        f"Buy a {each} card for Ann." for each in ("$30.00 Harbour", "$50.00 Rope Market", "$10.00 Sail")
    ]
    template = learn_template(shown, [(), (), ()])

    assert list(template.parse("Buy a $25.50 Sail Market card for Ann.").values()) == [
        "$25.50",
        "Sail Market",
    ]
    with pytest.raises(UtteranceMismatch):
        template.parse("Buy a $25.50 card for Ann.")


def test_his_and_her_are_one_word_but_not_in_quotes():
    template = learn_template(['Find "Ann" in her list.', 'Find "Bob" in his list.'], [(), ()])

    assert template.parse('Find "her" in their list.') == {"find": "her"}


# -- what is bound to it


def _clicked(html: str, where: str) -> TraceStep:
    page = StoredPage(PageSnapshot(url="about:blank", html=html))
    element = page.resolve(css(where)).element
    assert element is not None
    selector = PageSelectors(page).of(element).selector
    assert selector is not None
    return TraceStep(action_type="click", target=selector, html_before=html)


def _trace(number: int, task: str, *steps: TraceStep) -> ExecutionTrace:
    return ExecutionTrace(trace_id=f"t{number}", task_description=task, steps=steps)


def _links(*words: str) -> str:
    return "<body><div>" + "".join(f"<span>{word}</span>" for word in words) + "</div><b>Go</b></body>"


def _nodes(result: PipelineResult) -> tuple[ActionNode | ConditionNode | LoopNode, ...]:
    assert result.graph is not None, result.error
    assert result.synthesis_report is not None
    assert result.synthesis_report.refusals == ()
    return result.graph.nodes


def test_a_thing_that_the_sentence_names_is_found_by_its_name_wherever_it_is():
    shown = [("one", 1), ("two", 2), ("three", 3)]
    traces = [
        _trace(at, f'Click "{word}"', _clicked(_links(*"ab"[: at - 1], word, "z"), f"span:nth-of-type({at})"))
        for word, at in shown
    ]
    result = induce(traces)
    (node,) = _nodes(result)

    assert isinstance(node, ActionNode)
    assert node.target.strategies[0].template == "//span[normalize-space()='{{click}}']"
    assert [(each.name, each.source) for each in result.graph.parameters] == [("click", "input")]


def test_a_word_that_names_nothing_gets_what_was_shown_for_it():
    html = '<body><button class="icon">?</button><button>Yes</button><button>No</button></body>'
    places = {"Yes": "button:nth-of-type(2)", "No": "button:nth-of-type(3)", "help": ".icon"}
    traces = [
        _trace(at, f'Press "{word}"', _clicked(html, where))
        for at, (word, where) in enumerate(places.items())
    ]
    (fork,) = _nodes(induce(traces))

    assert isinstance(fork, ConditionNode)
    exception, others = fork.branches
    assert (exception.condition.name, exception.condition.value) == ("press", "help")
    assert "{{press}}" in others.nodes[0].target.strategies[0].template


def test_each_item_that_the_sentence_counts_up_is_a_round_also_where_nobody_had_two():
    html = _links("red", "green", "blue")
    go = _clicked(html, "b")
    traces = [
        _trace(0, "Take red and go", _clicked(html, "span:nth-of-type(1)"), go),
        _trace(1, "Take nothing and go", go),
        _trace(2, "Take blue and go", _clicked(html, "span:nth-of-type(3)"), go),
    ]
    result = induce(traces)
    loop, last = _nodes(result)

    assert isinstance(loop, LoopNode)
    assert (loop.kind, loop.items) == ("list", "take")
    assert "{{item}}" in loop.nodes[0].target.strategies[0].template
    assert isinstance(last, ActionNode)


def test_what_is_searched_for_is_looked_for_until_it_is_there():
    closed = '<body><h3 id="one">One</h3><h3 id="two">Two</h3></body>'

    def opened(word: str) -> str:
        return closed.replace("</body>", f"<p><i>{word}</i></p></body>")

    def trace(number: int, word: str, *, second: bool) -> ExecutionTrace:
        steps = [_clicked(closed, "#one")]
        if second:
            steps.append(_clicked(opened("other"), "#two"))
        return _trace(number, f'Find "{word}"', *steps, _clicked(opened(word), "i"))

    found = induce(
        [trace(0, "ash", second=True), trace(1, "elm", second=False), trace(2, "fir", second=True)]
    )
    _, step, _ = _nodes(found)

    condition = step.only_if if isinstance(step, ActionNode) else step.branches[0].condition
    assert condition is not None
    assert condition.type == "none_of"
    assert "{{find}}" in condition.model_dump_json()
    assert found.lowered is not None
    assert [spec.name for spec in found.lowered.workflow.io_spec.inputs] == ["find"]


def test_a_value_in_other_letters_is_the_value():
    html = '<body><input id="q" type="text"></body>'

    def typed(number: int, told: str, text: str) -> ExecutionTrace:
        step = _clicked(html, "#q").model_copy(update={"action_type": "fill", "args": {"value": text}})
        return _trace(number, f"Look for {told} here", step)

    result = induce([typed(0, "Ann", "ann"), typed(1, "Bo", "Bo"), typed(2, "Cy", "CY")])
    (node,) = _nodes(result)

    assert isinstance(node, ActionNode)
    assert node.args == {"value": "{look}"}


@pytest.mark.parametrize(
    ("text", "form", "told"),
    [
        ("4:05 PM", "clock", "16:05"),
        ("12:10 am", "clock", "00:10"),
        ("12:30 PM", "clock", "12:30"),
        ("4 pm", "clock", "16:00"),
        ("18:49", "clock_12", "6:49 PM"),
        ("13:00 PM", "clock", None),
        ("7", "clock", None),
        ("(210) 555-0199", "digits", "2105550199"),
        ("2016-12-05", "digits", None),
        ("555-01", "digits", None),
        ("Ada Lovelace", "given_name", "Ada"),
        ("Ada Lovelace", "family_name", "Lovelace"),
        ("Ada King Lovelace", "family_name", None),
    ],
)
def test_times_telephone_numbers_and_names_are_known_in_the_notations_of_fields(text, form, told):
    assert list_forms(text).get(form) == told


def test_a_word_for_letters_writes_the_other_values_in_them():
    told = expand_value_forms({"type": "Ada", "all": "upper"})
    assert told["type_in_all"] == "ADA"
    assert "type_in_all" not in expand_value_forms({"type": "Ada", "all": "wavy"})


def test_items_with_a_word_such_as_and_are_told_apart_by_commas_if_they_were_acted_on_so():
    template = learn_template(
        ["Select Antigua and Barbuda now.", "Select Cuba, Peru now."],
        [{"Antigua and Barbuda"}, {"Cuba", "Peru"}],
    )
    assert template.parse("Select Trinidad and Tobago, Cuba now.") == {
        "select": ["Trinidad and Tobago", "Cuba"]
    }


def test_a_quoted_text_may_have_quotes_of_its_own_if_the_words_around_it_tell_where_it_ends():
    template = learn_template(
        ["Rename the 'Friends' label to 'Family'.", "Rename the 'Work' label to 'Office'."],
        [{"Friends", "Family"}, {"Work", "Office"}],
    )
    assert [*template.parse("Rename the 'Friends' label to 'Old friends' letters'.").values()] == [
        "Friends",
        "Old friends' letters",
    ]
    assert [*template.parse("Rename the 'Friends' label to 'We say \"yes\".'.").values()][
        1
    ] == 'We say "yes".'


@pytest.mark.parametrize(
    "sentence",
    [
        "Rename the 'A' label to 'B' label to 'C'.",  # two ways to read it
        "Rename the 'Friends' label to 'Old friends' letters.",
        "Rename the 'Friends' tag to 'Old friends' letters'.",
    ],
)
def test_a_quoted_text_that_ends_in_several_places_or_nowhere_does_not_fit(sentence):
    template = learn_template(
        ["Rename the 'Friends' label to 'Family'.", "Rename the 'Work' label to 'Office'."],
        [{"Friends", "Family"}, {"Work", "Office"}],
    )
    with pytest.raises(UtteranceMismatch):
        template.parse(sentence)


@pytest.mark.parametrize(
    ("shown", "new", "value"),
    [
        (("March 1, 2026", "April 15, 2026"), "May 2, 2027", "May 2, 2027"),
        (("March 1, 2026", "March 15, 2026"), "May 2, 2027", "May 2, 2027"),
        (("1 March 2026", "15 April 2026"), "2 May 2026", "2 May 2026"),
    ],
)
def test_a_date_is_one_slot_though_its_year_or_month_was_always_the_same(shown, new, value):
    template = learn_template([f"Snooze 'A' until {each} at 8:00 AM." for each in shown], [set(), set()])
    assert [*template.parse(f"Snooze 'A' until {new} at 8:00 AM.").values()] == [value]


def test_a_month_and_a_day_without_a_year_are_no_date():
    template = learn_template(
        [f"Note {each}, room 2026b." for each in ("March 1", "April 15")], [set(), set()]
    )
    assert str(template).endswith("room 2026b.")
