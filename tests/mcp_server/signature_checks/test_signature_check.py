"""The check of signatures: what it finds, what it proposes, and that it agrees with the desk."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kb_schema import KnowledgeBase, SourcedDocument, assemble, parse_document
from kb_schema.page_snapshots import PageSnapshot
from mcp_server.identification.screen_identification import identify
from mcp_server.knowledge.compiled_view import KnowledgeView, compile_view
from mcp_server.signature_checks.check_report import CheckReport, SignatureFinding
from mcp_server.signature_checks.signature_check import check_signatures
from web_pages.stored_pages import answer_probes

BASE = "https://shop.example"


def heading(text: str, selector: str = "h1") -> dict[str, Any]:
    return {"type": "dom_contains", "value": text, "selector": selector}


def screen(
    screen_id: str, *required: dict[str, Any], patterns: tuple[str, ...] = (), **others: Any
) -> dict[str, Any]:
    return {
        "type": "screen",
        "screen_id": screen_id,
        "name": screen_id.title(),
        "url_patterns": list(patterns),
        "state_signature": {"required_indicators": list(required), **others},
    }


def view_of(*screens: dict[str, Any]) -> KnowledgeView:
    return compile_view(knowledge_of(*screens), "1")


def knowledge_of(*screens: dict[str, Any]) -> KnowledgeBase:
    website = {"type": "website", "website_id": "shop", "name": "Shop", "base_url": BASE}
    return assemble(SourcedDocument(parse_document(each)) for each in (website, *screens))[0]


def page(html: str, path: str = "/", base: str = BASE) -> PageSnapshot:
    return PageSnapshot(url=base + path, title="Shop", html=html)


def check(
    view: KnowledgeView, pages: dict[str, str | PageSnapshot], labels: dict[str, str | None] | None
) -> CheckReport:
    snapshots = [
        (name, each if isinstance(each, PageSnapshot) else page(each)) for name, each in pages.items()
    ]
    return check_signatures(view, snapshots, labels=labels)


def only(report: CheckReport, kind: str) -> SignatureFinding:
    (found,) = (finding for finding in report.findings if finding.kind == kind)
    return found


EDIT = '<h1>Product</h1><button data-testid="delete">Delete</button>'
CREATE = '<h1>Product</h1><button data-testid="create">Create</button>'
TWINS = (
    screen("create", heading("Product"), optional_indicators=[heading("C", "button")]),
    screen("edit", heading("Product"), optional_indicators=[heading("e", "button")]),
)
"""Both hold on each other's pages."""


def test_right_answers_are_no_finding():
    report = check(
        view_of(screen("home", heading("Home")), screen("cart", heading("Cart"))),
        {"a": "<h1>Home</h1>", "b": "<h1>Cart</h1>", "c": "<h1>Else</h1>"},
        {"a": "home", "b": "cart", "c": None},
    )
    assert (report.labelled, report.right, report.findings, report.breaks) == (3, 3, (), False)
    assert [(cell.screen_id, cell.taken_for, cell.snapshots) for cell in report.matrix] == [
        (None, None, ("c",)), ("cart", "cart", ("b",)), ("home", "home", ("a",)),
    ]  # fmt: skip


def test_a_pair_that_nothing_separates_is_named_with_a_condition_that_does():
    labels = {"c1": "create", "c2": "create", "e1": "edit"}
    pages = {"c1": CREATE, "c2": CREATE, "e1": EDIT}
    report = check(view_of(*TWINS), pages, labels)
    assert report.breaks
    found = {(each.screen_id, each.other): each for each in report.findings}
    assert set(found) == {("create", "edit"), ("edit", "create")}
    proposal = found["create", "edit"].proposal
    assert proposal is not None
    assert proposal.model_dump() == {
        "screen_id": "edit",
        "slot": "negative_indicators",
        "condition": {"type": "dom_element", "selector": '[data-testid="create"]'},
        "holds": 2,
        "of": 2,
        "elsewhere": 0,
        "others": 1,
    }


def with_proposals(screens: tuple[dict[str, Any], ...], report: CheckReport) -> list[dict[str, Any]]:
    """The screens with everything proposed put where it belongs."""
    mended = [{**each, "state_signature": dict(each["state_signature"])} for each in screens]
    for finding in report.findings:
        if finding.proposal is not None:
            (target,) = (each for each in mended if each["screen_id"] == finding.proposal.screen_id)
            signature = target["state_signature"]
            slot = finding.proposal.slot
            signature[slot] = [*signature.get(slot, []), finding.proposal.condition]
    return mended


MARKS = ["<h1>Product</h1>", "<h1>Product sheet</h1>", "<h2>Terms</h2>", '<i data-testid="x">x</i>',
         "<label>Name <input></label>", "<nav aria-label='Steps'>1</nav>", "<button>Save</button>"]  # fmt: skip


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.sets(st.sampled_from(MARKS), min_size=1), min_size=1, max_size=3),
    st.lists(st.sets(st.sampled_from(MARKS), min_size=1), min_size=1, max_size=3),
)
def test_what_is_proposed_mends_the_pair(creating, editing):
    pages = {
        f"{screen_id}{number}": f"<h3>Product</h3>{''.join(sorted(marks))}"
        for screen_id, each in (("create", creating), ("edit", editing))
        for number, marks in enumerate(each)
    }
    labels: dict[str, str | None] = {name: name[:-1] for name in pages}
    screens = tuple(screen(name, heading("Product", "h3"), heading(word, "h3")) for name, word in
                    (("create", "Prod"), ("edit", "duct")))  # fmt: skip
    report = check(view_of(*screens), pages, labels)
    pairs = [each for each in report.findings if each.kind == "taken_for_another"]
    assert len(pairs) == 2
    if any(each.proposal is None for each in pairs):
        assert all(each.proposal is None for each in pairs) or any(each.fix for each in pairs)
        return
    mended = check(view_of(*with_proposals(screens, report)), pages, labels)
    assert not mended.breaks
    assert mended.right == len(pages)


@settings(max_examples=40, deadline=None)
@given(st.lists(st.sets(st.sampled_from(MARKS)), min_size=1, max_size=5), st.booleans())
def test_the_check_answers_what_the_desk_answers(marks, labelled):
    view = view_of(
        screen("product", heading("Product")),
        screen("sheet", heading("Product sheet"), negative_indicators=[heading("Terms", "h2")]),
        screen("steps", {"type": "dom_element", "selector": "nav"}, primary_indicators=[heading("Save", "button")]),
    )  # fmt: skip
    pages = {f"p{number}": page("".join(sorted(each))) for number, each in enumerate(marks)}
    report = check(view, pages, dict.fromkeys(pages, "product") if labelled else None)
    for result in report.results:
        answer = identify(view, pages[result.name], answer_probes)
        assert (result.screen_id, result.confidence) == (answer.screen_id, answer.confidence)
        assert (result.outcome == "ambiguous") is answer.ambiguous
    cells = [name for cell in report.matrix for name in cell.snapshots]
    assert sorted(cells) == (sorted(pages) if labelled else [])


def test_two_that_match_with_the_right_answer_are_a_warning():
    loose = screen("loose", heading("Product"), optional_indicators=[heading("Nowhere")])
    exact = screen("exact", heading("Product"), heading("sheet"))
    report = check(view_of(loose, exact), {"a": "<h1>Product sheet</h1>"}, {"a": "exact"})
    found = only(report, "both_match")
    assert (found.screen_id, found.other, found.breaks, report.breaks) == ("exact", "loose", False, False)
    assert found.fix == "add a snapshot of loose: without one no condition can be shown not to harm it"


def test_a_negative_on_the_wrong_screen_is_named():
    wrong = screen("create", heading("Product"), negative_indicators=[heading("Create", "button")])
    report = check(view_of(wrong), {"c1": CREATE, "c2": CREATE}, {"c1": "create", "c2": "create"})
    found = only(report, "rejects_its_own")
    assert "'Create' 'button' holds on 2 of 2 snapshots of its own" in found.message
    assert found.fix is not None
    assert "remove it from negative_indicators" in found.fix
    assert "its negative indicator holds" in only(report, "not_known").message
    assert report.breaks


def test_a_required_indicator_that_is_missing_is_named_with_one_that_is_there():
    old = screen("create", heading("Product"), heading("Old words", "h2"))
    report = check(
        view_of(old, screen("home", heading("Home"))),
        {"c1": CREATE, "h": "<h1>Home</h1>"},
        {"c1": "create", "h": "home"},
    )
    found = only(report, "required_missing")
    assert "'Old words' 'h2' does not hold on 1 of 1 snapshot of its own" in found.message
    assert found.proposal is not None
    assert found.proposal.condition == {"type": "dom_element", "selector": '[data-testid="create"]'}
    assert (found.proposal.slot, found.proposal.others) == ("required_indicators", 1)


def test_too_little_confidence_is_told_with_what_is_missing():
    weak = screen("weak", heading("Product"), primary_indicators=[heading("One", "h2"), heading("Two", "h2")])
    report = check(view_of(weak), {"a": "<h1>Product</h1>"}, {"a": "weak"})
    assert (
        "0.33 is below its threshold 0.70; missing: dom_contains 'One' 'h2'"
        in only(report, "not_known").message
    )


def test_a_page_that_is_no_screen_but_known_as_one_breaks():
    report = check(
        view_of(screen("home", heading("Home"))),
        {"a": "<h1>Home</h1>", "b": "<h1>Home page of another kind</h1><p>Advertisement</p>"},
        {"a": "home", "b": None},
    )
    found = only(report, "known_unexpectedly")
    assert report.breaks
    assert found.proposal is not None
    assert found.proposal.condition == heading("Home page of another kind")


def test_screens_that_nothing_speaks_for_and_screens_without_snapshots_are_told():
    silent = {"type": "screen", "screen_id": "silent", "name": "Silent"}
    view = view_of(silent, screen("home", heading("Home")), screen("cart", heading("Cart")))
    report = check(view, {"a": "<h1>Quiet</h1>", "b": "<h1>Home</h1>"}, {"a": "silent", "b": "home"})
    found = only(report, "no_signature")
    assert found.proposal is not None
    assert found.proposal.condition == heading("Quiet")
    assert report.screens_without_snapshot == ("cart",)


def test_indicators_that_never_help_are_named_with_the_reason():
    home = screen(
        "home",
        heading("Home"),
        heading("Shop", "header"),
        primary_indicators=[heading("Welcome", "h2"), {"type": "title_contains", "value": "Shop"}],
        optional_indicators=[heading("Gone", "h3"), {"type": "page_loaded"}],
        negative_indicators=[heading("Nowhere")],
        exclusion_indicators=[heading("Cart")],
        confidence_threshold=0.1,
    )
    report = check(
        view_of(home, screen("cart", heading("Cart"))),
        {
            "a": "<header>Shop</header><h1>Home</h1><h2>Welcome</h2>",
            "b": "<header>Shop</header><h1>Cart</h1>",
        },
        {"a": "home", "b": "cart"},
    )
    assert {(each.indicator, each.because) for each in report.idle_indicators} == {
        ("dom_contains 'Shop' 'header'", "holds_everywhere"),
        ("title_contains 'Shop'", "holds_everywhere"),
        ("dom_contains 'Welcome' 'h2'", "redundant"),
        ("dom_contains 'Gone' 'h3'", "never_holds"),
        ("page_loaded", "never_told"),
        ("dom_contains 'Nowhere' 'h1'", "rejects_nothing"),
    }
    assert not report.breaks


def test_without_labels_only_contradictions_break():
    pages = {"c": CREATE, "e": EDIT, "x": "<h1>Else</h1>"}
    report = check(view_of(*TWINS), pages, None)
    assert (report.matrix, report.labelled) == ((), 0)
    assert only(report, "unmatched").snapshots == ("x",)
    pair = only(report, "taken_for_another")
    assert {pair.screen_id, pair.other} == {"create", "edit"}
    assert pair.fix == "with --labels a condition that separates them is proposed"
    fine = check(view_of(screen("home", heading("Product"))), pages, None)
    assert not fine.breaks


def test_pages_of_another_site_say_how_to_name_the_base():
    view = view_of(screen("home", heading("Home")))
    foreign = page("<h1>Home</h1>", base="https://staging.example")
    found = only(check(view, {"a": foreign}, {"a": "home"}), "foreign")
    assert found.breaks
    assert found.fix is not None
    assert "--base-url" in found.fix
    moved = check_signatures(view, [("a", foreign)], labels={"a": "home"}, base_url="https://staging.example")
    assert moved.right == 1
    assert check(view, {"a": foreign}, {"a": None}).findings == ()


def test_a_page_that_is_too_much_is_a_finding_and_the_others_are_still_checked():
    view = view_of(screen("home", heading("Home")))
    report = check(view, {"a": "<div>" * 9_000, "b": "<h1>Home</h1>"}, {"a": "home", "b": "home"})
    assert "nested" in only(report, "refused").message
    assert (report.right, report.breaks) == (1, True)


def test_each_page_is_told_as_it_is_done():
    done: list[str] = []
    snapshots = [(name, page("<h1>Home</h1>")) for name in "abc"]
    check_signatures(view_of(screen("home", heading("Home"))), iter(snapshots), on_page=done.append)
    assert done == ["a", "b", "c"]


@pytest.mark.parametrize("labelled", [True, False])
def test_a_report_survives_json(labelled):
    pages = {"c": CREATE, "e": EDIT}
    report = check(view_of(*TWINS), pages, {"c": "create", "e": "edit"} if labelled else None)
    assert CheckReport.model_validate_json(report.model_dump_json()) == report
