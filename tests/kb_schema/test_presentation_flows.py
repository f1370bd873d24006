"""Presentation flows: what they say, in which depth and language, and what is refused of them."""

from __future__ import annotations

import pytest

from kb_schema.engagement_rules import EngagementRule, parse_engagement_rules
from kb_schema.errors import Severity
from kb_schema.flow_translations import find_translation, list_untranslated_texts, translate_flow
from kb_schema.knowledge_base import KnowledgeBase
from kb_schema.presentation_flows import PresentationFlow, Segment
from kb_schema.rules import flow_consistency
from kb_schema.websites import Website
from tests.kb_schema.test_rules import _problems, _with


def _flow(*segments, **more):
    return {"flow_id": "f", "name": "f", "segments": list(segments), **more}


TALK = {"segment_id": "talk", "type": "conversational", "narration_template": "Hello."}
ORDER = {"segment_id": "order", "type": "task_execution", "task_id": "order"}
LOOK = {"segment_id": "look", "type": "explanation", "screen_id": "screen_0", "narration_template": "See."}

WRONG = {
    "a mark nothing waits for, in a task": (
        {**ORDER, "narrative_hooks": [{"hook_type": "during", "narration": "Now [[at:nothing]] go."}]},
        "$.segments[0].narrative_hooks[0].narration"),
    "a mark where nothing is done": (
        {**TALK, "narration_template": "Hello [[at:click]] you."}, "$.segments[0].narration_template"),
    "a mark of an element that is elsewhere": (
        {**LOOK, "narration_template": "See [[at:elsewhere]] this."}, "$.segments[0].narration_template"),
    "a mark in a translation": (
        {**TALK, "translations": {"de": {"narration_template": "Hallo [[at:klick]] Sie."}}},
        "$.segments[0].translations.de.narration_template"),
    "what is no mark": (
        {**ORDER, "narration_template": "Now [[at save]] it is."}, "$.segments[0].narration_template"),
    "a mark that does not end": (
        {**ORDER, "narration_template": "Now [[at:save it is."}, "$.segments[0].narration_template"),
    "a step where there are none": (
        {**TALK, "narrative_hooks": [{"hook_type": "during", "step_id": "x", "narration": "Hm."}]},
        "$.segments[0].narrative_hooks[0].step_id"),
    "an element to scroll to": (
        {**LOOK, "scrolling": {"enabled": True, "strategy": "to_elements", "elements": ["goo"]}},
        "$.segments[0].scrolling.elements[0]"),
    "an element of a depth": (
        {**LOOK, "depths": {"deep_dive": {"highlights": ["goo"]}}},
        "$.segments[0].depths.deep_dive.highlights[0]"),
    "highlights where no screen is explained": (
        {**TALK, "highlights": ["go"]}, "$.segments[0].highlights"),
}  # fmt: skip


@pytest.mark.parametrize("what", WRONG)
def test_what_a_flow_may_not_say_names_the_place(what):
    segment, path = WRONG[what]
    (found,) = _problems(_with(_flow(segment)), flow_consistency.RULE)
    assert (found.path, found.document) == (path, "presentation_flow:f")
    assert found.severity is Severity.ERROR
    assert found.fix


@pytest.mark.parametrize("point", ["current_segment", "next_segment", "talk", None])
def test_a_story_resumes_at_a_segment_of_it(point):
    path = {"condition": "user_interrupts", "action": "pause_and_ask", "resume_point": point}
    assert _problems(_with(_flow(TALK, fallback_paths=[path]))) == []


def test_a_story_does_not_resume_where_there_is_nothing():
    path = {"condition": "user_interrupts", "action": "pause_and_ask", "resume_point": "tlak"}
    (found,) = _problems(_with(_flow(TALK, fallback_paths=[path])), flow_consistency.RULE)
    assert found.path == "$.fallback_paths[0].resume_point"
    assert "talk" in (found.fix or "")


def _warnings(flow):
    return [
        (p.path, p.severity)
        for p in flow_consistency.check(_knowledge(flow))
    ]  # fmt: skip


def _knowledge(flow):
    site = Website.model_validate({"website_id": "w", "name": "W", "base_url": "https://w.example"})
    return KnowledgeBase(
        website=site, by_kind={"presentation_flow": {"f": PresentationFlow.model_validate(flow)}}, sources={}
    )


def test_a_rule_nobody_understands_is_a_warning_and_one_that_is_understood_is_not():
    rules = ["Be charming at all times", "Narrate while typing - don't go silent during form filling"]
    told = _warnings(_flow({**TALK, "engagement_rules": rules}))
    assert told == [("$.segments[0].engagement_rules[0]", Severity.WARNING)]


def test_a_window_that_is_too_short_for_what_is_required_is_a_warning():
    long = {**TALK, "required": True, "can_skip": False, "duration": 100}
    assert _warnings(_flow(long, duration={"max": 20})) == [("$.duration.max", Severity.WARNING)]
    assert _warnings(_flow(long, duration={"max": 120})) == []


def test_a_path_that_skips_what_is_required_is_a_warning():
    path = {"condition": "time_running_out", "segments_to_skip": ["talk"]}
    assert _warnings(_flow({**TALK, "required": True}, fallback_paths=[path])) == [
        ("$.fallback_paths[0].segments_to_skip[0]", Severity.WARNING)
    ]


@pytest.mark.parametrize(
    ("sentence", "rules"),
    [
        ("Narrate while typing - don't go silent during form filling", ["never_silent"]),
        ("Explain the purpose of each field as you fill it", ["explain_fields"]),
        ("Confirm success before moving to next segment", ["confirm_success"]),
        ("Confirm success before moving to the next segment", ["confirm_success"]),
        ("Never be silent for more than 5 seconds", ["never_silent"]),
        ("Say why before saying what", ["say_why_first"]),
        ("Call the visitor by name", ["use_visitor_name"]),
        ("Talk while filling the form, and explain every field", ["explain_fields", "never_silent"]),
        ("Show the price list", []),
        ("The form has a name field", []),
    ],
)
def test_sentences_are_recognised_as_the_rules_they_state(sentence, rules):
    assert sorted(rule.rule for rule in parse_engagement_rules(sentence)) == rules


def test_a_sentence_says_for_how_long_one_may_be_silent():
    (rule,) = parse_engagement_rules("Don't be silent for longer than 4.5 seconds")
    assert (rule.rule, rule.seconds) == ("never_silent", 4.5)
    assert parse_engagement_rules(EngagementRule(rule="confirm_success")) == (
        EngagementRule(rule="confirm_success"),
    )


def test_a_rule_may_be_written_in_full():
    segment = Segment.model_validate(
        {**TALK, "order": 1, "engagement_rules": [{"rule": "never_silent", "seconds": 2}]}
    )
    assert [(r.rule, r.seconds) for r in segment.rules] == [("never_silent", 2.0)]


# -- depth


def _segment(**more):
    return Segment.model_validate({**LOOK, "order": 1, "duration": 40, **more})


def test_a_depth_changes_words_highlights_and_hooks():
    segment = _segment(
        highlights=["one", "two"],
        depths={
            "overview": {"highlights": ["one"], "duration": 10},
            "deep_dive": {"narration_template": "See it all."},
        },
        depth="demonstration",
        narrative_hooks=[
            {"hook_type": "after", "narration": "Always."},
            {"hook_type": "after", "narration": "In detail.", "depth": "deep_dive"},
        ],
    )
    short, usual, long = (segment.at(depth) for depth in ("overview", "demonstration", "deep_dive"))
    assert (short.highlights, short.narration_template, short.duration) == (("one",), "See.", 10)
    assert [h.narration for h in usual.narrative_hooks] == ["Always."]
    assert usual.highlights == ("one", "two")
    assert long.narration_template == "See it all."
    assert [h.narration for h in long.narrative_hooks] == ["Always.", "In detail."]
    assert short.authored_depth == "overview"


def test_fewer_words_take_less_time_and_more_words_more():
    hook = {"hook_type": "after", "narration": " ".join(["word"] * 26), "depth": "deep_dive"}
    segment = _segment(depth="demonstration", narrative_hooks=[{**hook, "depth": "demonstration"}, hook])
    assert segment.expected("demonstration") == 40
    assert segment.expected("overview") == pytest.approx(30)
    assert segment.expected("deep_dive") == pytest.approx(50)
    assert _segment(duration=None).expected() == pytest.approx(1 / 2.6)


def test_a_task_is_demonstrated_and_a_screen_is_an_overview_where_nobody_says():
    assert Segment.model_validate({**ORDER, "order": 1}).authored_depth == "demonstration"
    assert Segment.model_validate({**LOOK, "order": 1}).authored_depth == "overview"


# -- languages


GERMAN = _flow(
    {
        **TALK,
        "title": "Hello",
        "translations": {"de": {"title": "Hallo", "narration_template": "Guten Tag."}},
        "narrative_hooks": [
            {"hook_type": "after", "narration": "Bye.", "translations": {"de": {"narration": "Tschüss."}}},
            {"hook_type": "after", "narration": "Untold."},
        ],
        "depths": {"deep_dive": {"narration_template": "Long.", "translations": {"de": {"narration_template": "Lang."}}}},
    },
    {
        **ORDER,
        "input_mapping": {"item": {"source": "user_input", "prompt": "What?"}},
        "translations": {"de": {"prompts": {"item": "Was?"}}},
    },
    transitions=[
        {"from_segment": "talk", "to_segment": "order", "narration_template": "On.",
         "translations": {"de": {"narration": "Weiter."}}}
    ],
    translations={"de": {"name": "Vorführung", "bridging": {"slow": ["Gleich."]}}},
    bridging={"slow": ["A moment."]},
)  # fmt: skip


def test_a_flow_is_told_in_another_language_as_far_as_it_was_translated():
    flow = PresentationFlow.model_validate(GERMAN)
    told = translate_flow(flow, "de-AT")
    assert flow.languages == ("en", "de")
    assert (told.language, told.name) == ("de", "Vorführung")
    talk, order = told.segments
    assert (talk.title, talk.narration_template) == ("Hallo", "Guten Tag.")
    assert [hook.narration for hook in talk.narrative_hooks] == ["Tschüss.", "Untold."]
    assert talk.at("deep_dive").narration_template == "Lang."
    assert order.input_mapping["item"].prompt == "Was?"
    assert told.transitions[0].narration_template == "Weiter."
    assert told.bridging == {"slow": ("Gleich.",)}
    assert list(list_untranslated_texts(flow, "de")) == ["$.segments[0].narrative_hooks[1].narration"]


def test_a_language_a_flow_is_not_told_in_leaves_it_as_it_is():
    flow = PresentationFlow.model_validate(GERMAN)
    assert translate_flow(flow, "fr") is flow
    assert translate_flow(flow, None) is flow
    assert (find_translation(flow, "fr"), find_translation(flow, "en"), find_translation(flow, "de")) == (
        None,
        None,
        "de",
    )
    assert list(list_untranslated_texts(flow, "en")) == []


def test_a_flow_whose_window_ends_before_it_begins_is_refused():
    with pytest.raises(ValueError, match="min"):
        PresentationFlow.model_validate(_flow(TALK, duration={"min": 10, "max": 5}))
