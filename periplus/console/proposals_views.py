"""What the pages about proposals show, made of proposals. Pure: nothing is looked up or decided here."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any

from kb_schema import KnowledgeBase, KnowledgeError
from kb_schema.proposals import CONFIRMED_BY, Proposal, SelectorChange, SignatureChange
from kb_store.changing import NothingToChange, changed
from loaders.diff import changes_between, diff
from loaders.diff_words import in_words, plain
from periplus.console.runs_views import selector_text
from periplus.console.runs_words import When, short, when
from periplus.console.telling import plural

LONGEST = 400
MOST_CHANGES = 200
"""Values of one proposal that are shown; `periplus kb proposals show` has all."""
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


def foreseen(knowledge: KnowledgeBase, proposal: Proposal) -> Foreseen:
    """As the change itself would find out; nothing is changed."""
    try:
        new, warnings = changed(knowledge, proposal.change)
    except NothingToChange as exc:
        return Foreseen(refused=str(exc))
    except KnowledgeError as exc:
        return Foreseen(refused=short(str(exc).splitlines()[0], LONGEST))
    words = in_words(diff(knowledge, new), knowledge, new)
    told = tuple(
        f"{each.what}: {each.kind.replace('_', ' ')} {plain(each.words)}" for each in words.told[:MOST_TOLD]
    )
    about = proposal.change.about.rpartition(" ")[2].partition(".")[0]
    known = tuple(
        short(each.message, LONGEST) for each in warnings if about in each.path or about in each.message
    )
    return Foreseen(told or ("nothing: the knowledge says so already",), known[:5])


def rows(proposals: Sequence[Proposal], today: date) -> list[ProposalRow]:
    """Those that wait first, confirmed ones before others, then the newest."""
    ordered = sorted(proposals, key=lambda each: each.proposed_at, reverse=True)
    ordered.sort(key=lambda each: (each.status != "proposed", not each.confirmed))
    return [row(each, today) for each in ordered]


def row(proposal: Proposal, today: date) -> ProposalRow:
    """One proposal in a list."""
    return ProposalRow(
        proposal_id=proposal.proposal_id,
        about=proposal.change.about,
        what=_WHAT.get(proposal.change.type, proposal.change.type),
        status="confirmed" if proposal.status == "proposed" and proposal.confirmed else proposal.status,
        confirmed=proposal.confirmed,
        said=_said(proposal),
        speak=f"{plural(proposal.succeeded, 'run')} for, {proposal.failed} against",
        score=proposal.score,
        proposed=when(proposal.proposed_at, today),
    )


def page(proposal: Proposal, today: date) -> ProposalPage:
    """All of one proposal."""
    kind = proposal.change.type
    changes = list(changes_between({kind: proposal.before}, {kind: proposal.change.said}))
    short_before, short_after = _in_short(proposal)
    return ProposalPage(
        row=row(proposal, today),
        site=proposal.website_id,
        sentence=_sentence(proposal),
        before=short_before,
        after=short_after,
        values=tuple(
            Value(
                each.path.removeprefix(f"$.{kind}").lstrip(".") or kind, _json(each.before), _json(each.after)
            )
            for each in changes[:MOST_CHANGES]
        ),
        left_out=max(0, len(changes) - MOST_CHANGES),
        supports=tuple(
            Spoken(each.run_id, each.succeeded, each.score, each.note, when(each.at, today))
            for each in proposal.supports
        ),
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


def _json(value: Any) -> str:
    return "" if value is None else short(json.dumps(value, ensure_ascii=False), LONGEST)
