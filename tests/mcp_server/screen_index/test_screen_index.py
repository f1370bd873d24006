"""For any knowledge and any page: looking screens up answers what judging every screen answers."""

from __future__ import annotations

import json

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from kb_schema import KnowledgeBase, parse_document
from kb_schema.page_snapshots import PageSnapshot
from kb_schema.screens import Screen
from kb_schema.tool_answers import Identification
from kb_schema.websites import Website
from mcp_server.identification.screen_identification import all_candidates, identify
from mcp_server.knowledge.compiled_view import KnowledgeView, compile_view
from mcp_server.screen_index import screen_index
from mcp_server.screen_index.literal_matcher import LiteralMatcher
from web_pages.stored_pages import StoredPage, answer_probes

BASE = "https://app.example"
PATHS = ["/", "/a", "/a/7", "/b?x=1"]
PATTERNS = ["^/a", "^/a$", r"^/a/\d+$", "^/", f"^{BASE}/a", f"^{BASE}$", "b.x", "^/(a|b)"]
WORDS = ["Agents", "Save", "Save all", "agents", "Sa", "New agent", "é Ω", "Edit"]
CSS = ["#one", ".big", "button", "main .big", "[data-testid=go]", "h1, .big", "p:has-text('save')", "a[href='/a']",
       "input[name=q]:not(.big)", "p[", "*", "h1:has-text('agents')", "button:nonsense"]  # fmt: skip
SELECTORS: list[object] = [
    *CSS,
    {"type": "role_name", "role": "button", "name": "save"},
    {"type": "role_name", "role": "heading", "name": "Agents", "exact": True},
    {"type": "label", "name": "edit"},
    {"type": "placeholder", "name": "New"},
    {"type": "id", "value": "one"},
    {"type": "data-testid", "value": "go"},
    {"type": "aria", "value": "Edit"},
    {"type": "xpath", "value": "//button"},
    {"type": "semantic", "text_contains": "save all"},
    {"type": "semantic", "label_contains": "Edit", "field_type": "checkbox"},
    {
        "strategies": [
            {"type": "id", "value": "none"},
            {"type": "role_name", "role": "link", "name": "Agents"},
        ]
    },
    {"strategies": [{"type": "css", "value": "p["}, {"type": "css", "value": ".big"}]},
    {"strategies": [{"type": "css", "value": "p"}], "frame": "iframe"},
]
FRAGMENTS = ["<h1>Agents</h1>", "<p>Sa<b>ve</b> all</p>", "<button id=one>Save</button>", "<p hidden>Edit</p>",
             "<main><i class='big x'>New<u hidden>x</u> agent</i></main>", "<a href='/a' data-testid=go>Agents</a>",
             "<label>Edit <input type=checkbox name=q></label>", "<input placeholder='New agent' value=Save>",
             "<button aria-label=Edit>é Ω</button>", "<template>Save</template>", "<ul><li>Edit<li>Save</ul>"]  # fmt: skip
OUTLINES = ['- heading "Agents" [level=1]', '- button "Save" [ref=e1]', "- paragraph: Save all", "- text: Save",
            '- checkbox "Edit" [checked]', '- textbox "New agent": Save', '- link "Agents":\n  - /url: /a',
            "- paragraph:\n  - text: Sa\n  - strong: ve"]  # fmt: skip


def texts() -> st.SearchStrategy[dict[str, object]]:
    return st.builds(
        lambda words, css: {"type": "dom_contains", "value": words, **({"selector": css} if css else {})},
        st.sampled_from(WORDS),
        st.sampled_from([None, None, *CSS]),
    )


def elements() -> st.SearchStrategy[dict[str, object]]:
    types = ["element_visible", "element_hidden", "element_enabled", "field_filled"]
    return st.builds(
        lambda type_, selector: {"type": type_, "element": selector},
        st.sampled_from(types),
        st.sampled_from(SELECTORS),
    )


OTHERS: list[dict[str, object]] = [
    {"type": "title_contains", "value": "Desk"},
    {"type": "url_contains", "value": "/a"},
    {"type": "url_matches", "pattern": r"/\d+"},
    {"type": "shows_message", "text_contains": "Save"},
    {"type": "form_valid"},
    {"type": "on_screen", "screen_id": "s0"},
    {"type": "element_count", "element": "button", "min": 2},
    {"type": "element_count", "element": ".big", "max": 3},
    {"type": "dom_element", "selector": "main .big"},
    {"type": "dom_element", "selector": "button", "text_contains": "Save"},
]
CONDITIONS = st.recursive(
    st.one_of(texts(), texts(), elements(), st.sampled_from(OTHERS)),
    lambda inner: st.builds(
        lambda type_, parts: {"type": type_, "conditions": parts},
        st.sampled_from(["all_of", "any_of", "none_of"]),
        st.lists(inner, min_size=1, max_size=3),
    ),
    max_leaves=3,
)
KINDS = ("required", "primary", "optional", "exclusion", "negative")
SIGNATURES = st.builds(
    lambda lists, threshold: {
        **{f"{kind}_indicators": each for kind, each in lists.items()},
        "confidence_threshold": threshold,
    },
    st.fixed_dictionaries({kind: st.lists(CONDITIONS, max_size=2) for kind in KINDS}),
    st.sampled_from([0, 0.3, 0.7, 1]),
)
SCREENS = st.lists(
    st.tuples(st.lists(st.sampled_from(PATTERNS), max_size=2, unique=True), SIGNATURES),
    min_size=1,
    max_size=8,
)
PAGES = st.one_of(
    st.lists(st.sampled_from(FRAGMENTS), max_size=6).map(lambda parts: {"html": f"<body>{''.join(parts)}"}),
    st.lists(st.sampled_from(OUTLINES), min_size=1, max_size=5).map(lambda parts: {"text": "\n".join(parts)}),
    st.lists(st.sampled_from(OUTLINES), min_size=1, max_size=3).map(
        lambda parts: {"text": "\n".join([*parts, "- ref=e9 [unchanged]"])}
    ),
    st.lists(st.sampled_from(WORDS), max_size=4).map(lambda words: {"text": " ".join(words)}),
    st.just({}),
)
NOWHERE = {"type": "none_of", "conditions": [{"type": "dom_contains", "value": "nowhere"}]}
PRESENT = CONDITIONS.map(lambda each: {"type": "any_of", "conditions": [each, NOWHERE]})
"""Conditions that hold on any page of which all was sent."""
SNAPSHOTS = st.builds(
    lambda path, title, page: PageSnapshot(url=f"{BASE}{path}" if path else "", title=title, **page),
    st.sampled_from([*PATHS, ""]),
    st.sampled_from(["", "Desk"]),
    PAGES,
)


def view_of(screens: list[tuple[list[str], dict[str, object]]]) -> KnowledgeView:
    website = parse_document({"type": "website", "website_id": "app", "name": "App", "base_url": BASE})
    assert isinstance(website, Website)
    known = {
        f"s{n}": Screen(
            screen_id=f"s{n}", name=f"S{n}", url_patterns=tuple(patterns), state_signature=signature
        )
        for n, (patterns, signature) in enumerate(screens)
    }
    return compile_view(
        KnowledgeBase(website=website, by_kind={"website": {"app": website}, "screen": known}), "1"
    )


def without_rivals(answer: Identification) -> Identification:
    """Without the runners-up, and without the advice that speaks of them where none was taken."""
    return answer.model_copy(update={"candidates": (), "hint": answer.screen_id and answer.hint})


@pytest.fixture(autouse=True, scope="module")
def _few() -> object:
    """Two screens are many here."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(screen_index, "FEW", 1)
        yield


def assert_the_index_answers_like_a_scan(screens, snapshot) -> None:
    view, page = view_of(screens), StoredPage(snapshot)
    assert identify(view, page, answer_probes) == identify(
        view, page, answer_probes, narrowing=all_candidates
    )


@settings(max_examples=80, deadline=None)
@given(screens=SCREENS, snapshot=SNAPSHOTS)
def test_the_index_answers_what_a_linear_scan_answers(screens, snapshot):
    assert_the_index_answers_like_a_scan(screens, snapshot)


@pytest.mark.nightly
@settings(max_examples=5_000, deadline=None)
@given(screens=SCREENS, snapshot=SNAPSHOTS)
def test_the_index_answers_what_a_linear_scan_answers_thousands_of_times(screens, snapshot):
    assert_the_index_answers_like_a_scan(screens, snapshot)


@settings(max_examples=30, deadline=None)
@given(screens=SCREENS, snapshot=SNAPSHOTS)
def test_the_order_of_screens_makes_no_difference(screens, snapshot):
    view = view_of(screens)
    back = view_of(screens)
    reordered = KnowledgeBase(
        website=back.website,
        by_kind={**back.knowledge.by_kind, "screen": dict(reversed(back.knowledge.screens.items()))},
    )
    assert identify(view, snapshot, answer_probes) == identify(
        compile_view(reordered, "1"), snapshot, answer_probes
    )


@settings(max_examples=30, deadline=None)
@given(screens=SCREENS, snapshot=SNAPSHOTS, more=SCREENS)
def test_screens_that_are_rejected_change_no_answer(screens, snapshot, more):
    before = identify(view_of(screens), snapshot, answer_probes)
    alone = [each for each in more if identify(view_of([each]), snapshot, answer_probes).screen_id is None]
    after = identify(view_of([*screens, *alone]), snapshot, answer_probes)
    assert without_rivals(before) == without_rivals(after)


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.filter_too_much])
@given(screens=SCREENS, snapshot=SNAPSHOTS, negative=st.one_of(CONDITIONS, PRESENT, PRESENT))
def test_a_negative_indicator_that_is_there_always_rejects_its_screen(screens, snapshot, negative):
    sign = view_of([([], {"required_indicators": [negative], "confidence_threshold": 1})])
    assume(identify(sign, snapshot, answer_probes).screen_id is not None)
    patterns, signature = screens[0]
    with_negative = {**signature, "negative_indicators": [negative]}
    found = identify(view_of([(patterns, with_negative), *screens[1:]]), snapshot, answer_probes)
    assert found.screen_id != "s0"
    assert {c.rejected_by for c in found.candidates if c.screen_id == "s0"} <= {"negative"}


@settings(deadline=None)
@given(
    st.sets(st.text(alphabet="abé ", min_size=1, max_size=5), max_size=40),
    st.text(alphabet="abé ", max_size=80),
)
def test_all_literals_are_found_that_are_in_a_text(literals, text):
    assert LiteralMatcher(literals).within(text) == {literal for literal in literals if literal in text}


def test_literals_are_found_across_the_pieces_a_long_text_is_read_in():
    literals = {f"word number {n}." for n in range(50)}
    text = "x" * 65_530 + "word number 7." + "y" * 65_520 + "word number 9."
    assert LiteralMatcher(literals).within(text) == {"word number 7.", "word number 9."}


def test_thousands_of_screens_of_one_address_are_told_by_what_they_show():
    screens = [
        (
            ["^/"] if n % 2 else [],
            {
                "required_indicators": [{"type": "dom_contains", "value": f"Heading {n}.", "selector": "h1"}],
                "negative_indicators": [{"type": "element_visible", "element": f"#never-{n % 7}"}],
            },
        )
        for n in range(1_000)
    ]
    view = view_of(screens)
    judged: list[int] = []

    def prober(page, probes):
        judged.append(len(probes))
        return answer_probes(page, probes)

    for n in (4, 5):
        html = f"<h1>Heading {n}.</h1><p>Heading {n + 1}.</p>"
        found = identify(view, PageSnapshot(url=f"{BASE}/x", html=html), prober)
        assert (found.screen_id, found.ambiguous) == (f"s{n}", False)
    text = f'- heading "Heading 9." [level=1]\n- text: {json.dumps("Heading 10.")}'
    assert identify(view, PageSnapshot(url=f"{BASE}/x", text=text), prober).screen_id == "s9"
    assert max(judged) <= 4
