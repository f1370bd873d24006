"""What the pages about proposals show, made of proposals. Pure: nothing is looked up or decided here."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any

from kb_schema import KnowledgeBase, KnowledgeError, Severity
from kb_schema.proposals import (
    CONFIRMED_BY,
    Proposal,
    ScreenChange,
    SelectorChange,
    SignatureChange,
    TransitionChange,
    WorkflowChange,
)
from kb_store.changing import NothingToChange, changed
from kb_store.deciding import ChangedSince, check_base
from loaders.diff import Change, changes_between, diff
from loaders.diff_words import in_words, plain
from periplus.console.runs_views import selector_text
from periplus.console.runs_words import When, short, when
from periplus.console.telling import plural

LONGEST = 400
MOST_CHANGES = 200
"""Values of one proposal that are shown; `periplus kb proposals show` has all."""
MOST_SPOKEN = 50
"""Runs of one proposal that are shown."""
FEW = 6
"""Values that are told in one line."""
MOST_TOLD = 50
"""Documents of one proposal that are told in words."""
_WHAT = {
    "selector": "how an element is found",
    "signature": "how a screen is recognised",
    "screen": "a screen",
    "transition": "a way between screens",
    "workflow": "a workflow",
}


@dataclass(frozen=True, slots=True)
class ProposalRow:
    """One proposal in a list."""

    proposal_id: str
    title: str
    """In the names that people have."""
    about: str
    what: str
    status: str
    confirmed: bool
    said: str
    """How far it is, in words."""
    speak: str
    """Runs for and against."""
    score: float | None
    proposed: When


@dataclass(frozen=True, slots=True)
class Value:
    """One value that would be another."""

    path: str
    before: str
    after: str


@dataclass(frozen=True, slots=True)
class Spoken:
    """What one run says."""

    run_id: str
    known: bool
    """Whether the run has a page."""
    worked: bool
    score: float | None
    note: str
    at: When


@dataclass(frozen=True, slots=True)
class ProposalPage:
    """One proposal."""

    row: ProposalRow
    site: str
    sentence: str
    """What it would change, in one."""
    before: str
    after: str
    """In short; empty where there is nothing that short."""
    values: tuple[Value, ...]
    left_out: int
    supports: tuple[Spoken, ...]
    more_supports: int
    """Runs that are not shown."""
    decided: When | None
    screen_id: str | None
    open: bool
    """Whether it can be decided."""


@dataclass(frozen=True, slots=True)
class Foreseen:
    """What accepting a proposal would do to the knowledge as it is now."""

    told: tuple[str, ...] = ()
    """Each document that would be added or changed, in words."""
    warnings: tuple[str, ...] = ()
    refused: str = ""
    """Why it cannot be accepted; empty where it can."""
    since: str = ""
    """What became of the same place in the knowledge since it was proposed; empty where nothing did."""
    now: str = ""
    """What the knowledge says there now, then; empty where it says nothing."""


def foreseen(knowledge: KnowledgeBase, proposal: Proposal) -> Foreseen:
    """As the change itself would find out; nothing is changed."""
    since = now = ""
    try:
        check_base(knowledge, proposal)
    except ChangedSince as exc:
        since, now = str(exc), _briefly(exc.now)
    try:
        new, warnings = changed(knowledge, proposal.change)
    except NothingToChange as exc:
        return Foreseen(refused=str(exc))
    except KnowledgeError as exc:
        errors = [each.message for each in exc.problems if each.severity is Severity.ERROR]
        return Foreseen(refused=short("; ".join(errors[:3]) or str(exc).splitlines()[0], LONGEST))
    words = in_words(diff(knowledge, new), knowledge, new)
    told = tuple(
        f"{each.what}: {each.kind.replace('_', ' ')} {plain(each.words)}" for each in words.told[:MOST_TOLD]
    )
    about = proposal.change.about.rpartition(" ")[2].partition(".")[0]
    known = tuple(
        short(each.message, LONGEST) for each in warnings if about in each.path or about in each.message
    )
    told = told or ("nothing: the knowledge says so already",)
    return Foreseen(told, known[:5], since=since, now=now)


def in_order(proposals: Sequence[Proposal]) -> list[Proposal]:
    """Those that wait first, confirmed ones before others, then the newest."""
    ordered = sorted(proposals, key=lambda each: each.proposed_at, reverse=True)
    ordered.sort(key=lambda each: (each.status != "proposed", not each.confirmed))
    return ordered


def row(proposal: Proposal, today: date, knowledge: KnowledgeBase | None = None) -> ProposalRow:
    """One proposal in a list."""
    return ProposalRow(
        proposal_id=proposal.proposal_id,
        title=title_of(proposal, knowledge),
        about=proposal.change.about,
        what=_WHAT.get(proposal.change.type, proposal.change.type),
        status="confirmed" if proposal.status == "proposed" and proposal.confirmed else proposal.status,
        confirmed=proposal.confirmed,
        said=_said(proposal),
        speak=f"{plural(proposal.succeeded, 'run')} for, {proposal.failed} against",
        score=proposal.score,
        proposed=when(proposal.proposed_at, today),
    )


def title_of(proposal: Proposal, knowledge: KnowledgeBase | None) -> str:
    """What it is about, by the names that people have for screens and elements."""
    screens = {} if knowledge is None else knowledge.screens

    def name(screen_id: str) -> str:
        screen = screens.get(screen_id)
        return f"“{screen.name if screen is not None and screen.name else screen_id}”"

    match proposal.change:
        case SelectorChange() as change:
            elements = {} if knowledge is None else knowledge.elements(change.screen_id)
            found = elements.get(change.element_id)
            label = change.element_id if found is None else found.label
            return f"How “{label}” on {name(change.screen_id)} is found"
        case SignatureChange() as change:
            return f"How {name(change.screen_id)} is recognised"
        case ScreenChange() as change:
            new = "New screen" if change.screen.screen_id not in screens else "Screen"
            return f"{new} “{change.screen.name or change.screen.screen_id}”"
        case TransitionChange() as change:
            return f"Way from {name(change.transition.from_screen)} to {name(change.transition.to_screen)}"
        case WorkflowChange() as change:
            return f"Workflow “{change.workflow.name or change.workflow.workflow_id}”"


def page(
    proposal: Proposal,
    today: date,
    knowledge: KnowledgeBase | None = None,
    known_runs: Collection[str] = (),
) -> ProposalPage:
    """All of one proposal. `known_runs`: those that have a page."""
    kind = proposal.change.type
    changes = list(_values(kind, changes_between({kind: proposal.before}, {kind: proposal.change.said})))
    short_before, short_after = _in_short(proposal)
    return ProposalPage(
        row=row(proposal, today, knowledge),
        site=proposal.website_id,
        sentence=_sentence(proposal),
        before=short_before,
        after=short_after,
        values=tuple(changes[:MOST_CHANGES]),
        left_out=max(0, len(changes) - MOST_CHANGES),
        supports=tuple(
            Spoken(
                each.run_id,
                each.run_id in known_runs,
                each.succeeded,
                each.score,
                each.note,
                when(each.at, today),
            )
            for each in proposal.supports[:MOST_SPOKEN]
        ),
        more_supports=max(0, len(proposal.supports) - MOST_SPOKEN),
        decided=None if proposal.decided_at is None else when(proposal.decided_at, today),
        screen_id=proposal.change.screen_id
        if isinstance(proposal.change, SelectorChange | SignatureChange)
        else None,
        open=proposal.status == "proposed",
    )


def _said(proposal: Proposal) -> str:
    if proposal.status != "proposed":
        return proposal.status
    if proposal.confirmed:
        return "confirmed, waits for a decision"
    missing = max(0, CONFIRMED_BY - proposal.succeeded + proposal.failed)
    return f"waits for a decision; {plural(missing, 'more run')} would confirm it"


def _sentence(proposal: Proposal) -> str:
    about, new = proposal.change.about, proposal.before is None
    verb = "would add" if new else "would change"
    against = f"{plural(proposal.failed, 'run')} did not" if proposal.failed else "none failed"
    return f"It {verb} the {about}: {plural(proposal.succeeded, 'run')} worked with it, {against}."


def _in_short(proposal: Proposal) -> tuple[str, str]:
    """Of a selector, how it is looked for first."""
    if not isinstance(proposal.change, SelectorChange):
        return "", ""
    return selector_text(proposal.before), selector_text(proposal.change.said)


def _briefly(value: Any) -> str:
    """A selector by how it is looked for first; anything else by its beginning."""
    if isinstance(value, Mapping) and "strategies" in value:
        return selector_text(value)
    return "" if value is None else _said_as(value)


def _values(kind: str, changes: Iterable[Change]) -> Iterator[Value]:
    """Every value by itself: what is new or gone as a whole is taken apart, so that nobody has to read JSON."""
    for each in changes:
        path = each.path.removeprefix(f"$.{kind}").lstrip(".")
        if each.before is None or each.after is None:
            for place, said in _apart(path, each.after if each.before is None else each.before):
                before, after = ("", said) if each.before is None else (said, "")
                if place != "type":  # that it is a screen was said before
                    yield Value(place or kind, before, after)
        else:
            yield Value(path or kind, _said_as(each.before), _said_as(each.after))


def _apart(path: str, value: Any) -> Iterator[tuple[str, str]]:
    if _is_short(value):
        yield path, _said_as(value)
    elif isinstance(value, Mapping):
        for key, each in value.items():
            yield from _apart(f"{path}.{key}" if path else str(key), each)
    else:
        for number, each in enumerate(value):
            yield from _apart(f"{path}[{number}]", each)


def _is_short(value: Any) -> bool:
    inner = value.values() if isinstance(value, Mapping) else value if isinstance(value, list) else ()
    return len(inner) <= FEW and not any(isinstance(each, Mapping | list) for each in inner)


def _said_as(value: Any) -> str:
    """A value in words: `type: title contains, value: Orders`."""
    if isinstance(value, Mapping) and _is_short(value):
        return short(", ".join(f"{key}: {_said_as(each)}" for key, each in value.items()), LONGEST)
    if isinstance(value, list) and value and _is_short(value):
        return short(", ".join(map(_said_as, value)), LONGEST)
    if isinstance(value, str) and value:
        return short(value, LONGEST)
    return short(json.dumps(value, ensure_ascii=False), LONGEST)
