from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kb_schema import parse_document
from kb_schema.errors import KnowledgeError
from kb_schema.page_snapshots import PageSnapshot
from kb_schema.probes import ProbeFacts, probe_key
from kb_schema.screens import Screen, Signature
from mcp_server.identification.screen_identification import identify, judge
from mcp_server.knowledge.compiled_view import compile_view
from mcp_server.screen_index.compiled_signatures import compile_signature
from mcp_server.transition_graph.condition_scopes import ScreenScope
from tests.mcp_server import pantry
from web_pages.stored_pages import answer_probes


@pytest.mark.parametrize(
    ("snapshot", "screen"),
    [
        (pantry.SIGN_IN_PAGE, "sign_in_page"),
        (pantry.SHELF, "shelf"),
        (pantry.NEW, "jar_new"),
        (pantry.EDIT, "jar_edit"),
        (pantry.HELP, "help"),
        (pantry.LOST, None),
    ],
)
def test_every_page_of_the_pantry_is_told(view, snapshot, screen):
    found = identify(view, snapshot, answer_probes)
    assert (found.screen_id, found.ambiguous) == (screen, False)


def test_a_negative_indicator_rejects_before_everything_else(view):
    with_delete = pantry.page("/jars/new", "Label of the jar <button id=delete>Delete</button>")
    found = identify(view, with_delete, answer_probes)
    assert found.screen_id is None
    (candidate,) = [c for c in found.candidates if c.screen_id == "jar_new"]
    assert candidate.rejected_by == "negative"


def test_an_exclusion_rejects_and_is_told_as_one(view):
    found = identify(view, pantry.HELP.model_copy(update={"title": "Blog"}), answer_probes)
    assert [(c.screen_id, c.rejected_by) for c in found.candidates] == [("help", "exclusion")]


def test_a_missing_required_indicator_rejects(view):
    found = identify(view, pantry.page("/jars", "nothing here"), answer_probes)
    assert {c.screen_id: c.rejected_by for c in found.candidates} == {"shelf": "required", "help": "required"}


def test_the_weights_are_those_of_the_design():
    signature = Signature.model_validate(
        {
            "required_indicators": [{"type": "dom_contains", "value": "a", "weight": 3}],
            "primary_indicators": [{"type": "dom_contains", "value": "b"}],
            "optional_indicators": [
                {"type": "dom_contains", "value": "c"},
                {"type": "dom_contains", "value": "d", "weight": 2},
            ],
        }
    )
    screen = Screen(screen_id="s", name="S", url_patterns=("^/s$",))
    compiled = compile_signature(screen, signature, ScreenScope({}))
    assert compiled is not None
    mean = (1 + 3 + 1) / 3
    assert [i.weight for i in compiled.positive] == [1, 3, 1, mean / 4, 2]
    assert [i.kind for i in compiled.positive] == [
        "url_patterns",
        "required",
        "primary",
        "optional",
        "optional",
    ]


def test_without_anything_stronger_optional_indicators_weigh_a_quarter():
    signature = Signature.model_validate({"optional_indicators": [{"type": "title_contains", "value": "x"}]})
    compiled = compile_signature(Screen(screen_id="s", name="S"), signature, ScreenScope({}))
    assert compiled is not None
    assert [i.weight for i in compiled.positive] == [0.25]


def test_confidence_is_the_share_of_the_weights_that_hold(view):
    without_table = pantry.page("/jars", "<h1>Your jars</h1>")
    found = identify(view, without_table, answer_probes)
    assert found.confidence == round(2 / 2.25, 4)
    assert [e.status for e in found.evidence] == ["held", "held", "not_held"]


def test_what_cannot_be_told_of_a_text_page_neither_rejects_nor_counts(view):
    text = PageSnapshot(url=f"{pantry.BASE}/jars", text="Your jars")
    found = identify(view, text, answer_probes)
    assert found.screen_id == "shelf"
    table = found.evidence[-1]
    assert table.status == "unknown"
    assert table.detail.startswith("could not be evaluated, counts as not held")
    new = identify(view, PageSnapshot(url=f"{pantry.BASE}/jars/new", text="Label of the jar"), answer_probes)
    assert (new.screen_id, new.confidence) == ("jar_new", 1.0)
    assert new.evidence[-1].detail.startswith("could not be evaluated, does not reject")


def test_on_screen_inside_a_signature_is_unknown_and_never_rejects():
    signature = Signature.model_validate(
        {
            "required_indicators": [{"type": "on_screen", "screen_id": "s"}],
            "primary_indicators": [{"type": "title_contains", "value": "x"}],
            "confidence_threshold": 0.5,
        }
    )
    compiled = compile_signature(Screen(screen_id="s", name="S"), signature, ScreenScope({}))
    assert compiled is not None
    judged = judge(compiled, ProbeFacts(title="x"))
    assert (judged.rejected_by, judged.confidence) == (None, 0.5)
    assert judge(replace(compiled, threshold=0.7), ProbeFacts(title="x")).rejected_by == "threshold"


TWINS = tuple(
    {
        "type": "screen",
        "screen_id": name,
        "name": name,
        "url_patterns": ["^/twins"],
        "state_signature": {
            "required_indicators": [{"type": "dom_contains", "value": "Twin"}],
            "optional_indicators": [{"type": "dom_contains", "value": mark, "weight": 0.01}],
        },
    }
    for name, mark in (("left_twin", "left mark"), ("right_twin", "right mark"))
)


def test_two_screens_within_a_hair_are_ambiguous_and_told_apart():
    twins = compile_view(pantry.knowledge(also=TWINS), "1")
    found = identify(twins, pantry.page("/twins", "Twin left mark"), answer_probes)
    assert (found.screen_id, found.ambiguous) == ("left_twin", True)
    assert found.distinguishing == (
        "right_twin: optional dom_contains 'right mark' (not_held)",
        "left_twin: optional dom_contains 'left mark' (held)",
    )
    assert [(c.screen_id, c.rejected_by) for c in found.candidates[:1]] == [("right_twin", "rival")]


def test_the_order_of_documents_makes_no_difference():
    forth = compile_view(pantry.knowledge(also=TWINS), "1")
    back = compile_view(pantry.knowledge(also=TWINS, backwards=True), "1")
    pages = [pantry.SHELF, pantry.NEW, pantry.EDIT, pantry.LOST, pantry.page("/twins", "Twin")]
    for snapshot in pages:
        answers = [identify(v, snapshot, answer_probes, last_known="jar_new") for v in (forth, back)]
        assert answers[0] == answers[1]


def test_a_screen_that_is_rejected_changes_no_answer(view):
    more = {
        "type": "screen",
        "screen_id": "zzz",
        "name": "Z",
        "state_signature": {"required_indicators": [{"type": "dom_contains", "value": "nowhere to be seen"}]},
    }
    bigger = compile_view(pantry.knowledge(also=(more,)), "1")
    for snapshot in (pantry.SHELF, pantry.NEW, pantry.LOST):
        before, after = (identify(v, snapshot, answer_probes) for v in (view, bigger))
        assert before.model_copy(update={"candidates": ()}) == after.model_copy(update={"candidates": ()})


def test_each_question_is_asked_once_and_only_for_screens_the_url_leaves(view):
    asked: Counter[str] = Counter()

    def counting(snapshot, probes):
        asked.update(probe_key(probe) for probe in probes)
        return answer_probes(snapshot, probes)

    identify(view, pantry.EDIT, counting)
    assert set(asked.values()) == {1}
    assert not any("table.jars" in key for key in asked)
    assert any("#delete" in key for key in asked)


def test_lost_with_the_last_screen_known_the_ways_out_come_along(view):
    found = identify(view, pantry.LOST, answer_probes, last_known="jar_new")
    assert found.screen_id is None
    # One is signed in on that page, so `sign_in_again` is left out.
    assert [o.recovery_id for o in found.recovery] == ["look_again", "home_again"]
    assert identify(view, pantry.LOST, answer_probes).recovery == ()


def test_a_foreign_page_is_never_matched_and_the_hint_says_why(view):
    foreign = pantry.page("/anything", "<h1>How jars work</h1>", base="https://elsewhere.example")
    found = identify(view, foreign, answer_probes)
    assert found.screen_id is None
    assert "base_url" in (found.hint or "")


@pytest.mark.parametrize("base", ["http://127.0.0.1:4567", "https://staging.example/app"])
def test_patterns_of_the_authored_base_hold_at_another(view, base):
    moved = pantry.page("/sign-in", "<h1>Sign in to your pantry</h1>", base=base)
    given_base = None if "127" in base else base
    assert identify(view, moved, answer_probes, base_url=given_base).screen_id == "sign_in_page"


@settings(deadline=None)
@given(
    others=st.lists(st.sampled_from(["alpha", "beta", "gamma"]), unique=True, max_size=3),
    kinds=st.lists(st.sampled_from(["required", "primary", "optional"]), min_size=3, max_size=3),
    weight=st.floats(min_value=0.001, max_value=1_000),
)
def test_a_negative_indicator_that_is_there_always_rejects(others, kinds, weight):
    fields: dict[str, list[dict[str, object]]] = {}
    for word, kind in zip(("alpha", "beta", "gamma"), kinds, strict=True):
        fields.setdefault(f"{kind}_indicators", []).append(
            {"type": "dom_contains", "value": word, "weight": weight}
        )
    negative = [{"type": "dom_contains", "value": "never"}]
    screen = parse_document(
        {
            "type": "screen",
            "screen_id": "s",
            "name": "S",
            "state_signature": {**fields, "negative_indicators": negative, "confidence_threshold": 0},
        }
    )
    assert isinstance(screen, Screen)
    compiled = compile_signature(screen, screen.state_signature, ScreenScope({}))
    assert compiled is not None
    snapshot = pantry.page("/", " ".join([*others, "never"]))
    facts = ProbeFacts(url=snapshot.url, answers=answer_probes(snapshot, compiled.probes.values()))
    assert judge(compiled, facts).rejected_by == "negative"


@pytest.mark.parametrize("pattern", ["(?=x)", r"(a)\1", "a(?!b)", "("])
@pytest.mark.parametrize(
    ("place", "document"),
    [
        ("url_patterns", lambda pattern: {"url_patterns": [pattern]}),
        (
            "required_indicators[0]",
            lambda pattern: {
                "state_signature": {"required_indicators": [{"type": "url_matches", "pattern": pattern}]}
            },
        ),
    ],
)
def test_a_pattern_that_re2_cannot_take_is_refused_by_name_when_it_is_read(place, document, pattern):
    with pytest.raises(KnowledgeError) as caught:
        parse_document({"type": "screen", "screen_id": "s", "name": "S", **document(pattern)})
    [problem] = caught.value.problems
    assert "RE2 cannot take" in problem.message
    assert repr(pattern) in problem.message
    assert place in problem.path or place == "url_patterns"
