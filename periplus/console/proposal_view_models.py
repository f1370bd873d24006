"""View models of the proposal pages, built from proposals. Pure functions without I/O."""

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
    StepTargetChange,
    TransitionChange,
    WorkflowChange,
)
from kb_store.proposals.accepted_changes import ChangeTargetMissing, apply_change
from kb_store.proposals.review_decisions import ChangedSinceProposal, check_base
from loaders.diffs.diff_summary import summarise_diff, to_plain_text
from loaders.diffs.knowledge_diff import ValueChange, changes_between, diff_knowledge
from periplus.console.run_labels import DisplayedMoment, format_when, shorten_value
from periplus.console.run_view_models import selector_text
from periplus.console.template_filters import format_count

LONGEST = 400
MOST_CHANGES = 200
"""Maximum number of values shown of one proposal; `periplus kb proposals show` shows all."""
MOST_SPOKEN = 50
"""Maximum number of runs shown of one proposal."""
FEW = 6
"""Maximum number of values on one line."""
MOST_TOLD = 50
"""Maximum number of documents described of one proposal."""
_WHAT = {
    "selector": "selector",
    "step_target": "selector of a step",
    "signature": "signature",
    "screen": "screen",
    "transition": "transition",
    "workflow": "workflow",
}


@dataclass(frozen=True, slots=True)
class ProposalRow:
    """One proposal in a list."""

    proposal_id: str
    title: str
    """With display names instead of ids."""
    about: str
    what: str
    status: str
    confirmed: bool
    said: str
    """The status as a text."""
    speak: str
    """The numbers of runs for and against."""
    score: float | None
    proposed: DisplayedMoment


@dataclass(frozen=True, slots=True)
class ChangedValue:
    """One changed value."""

    path: str
    before: str
    after: str


@dataclass(frozen=True, slots=True)
class RunStatement:
    """One run for or against a proposal."""

    run_id: str
    known: bool
    """Whether the console has a page of the run."""
    worked: bool
    score: float | None
    note: str
    at: DisplayedMoment


@dataclass(frozen=True, slots=True)
class ProposalPage:
    """The page of one proposal."""

    row: ProposalRow
    site: str
    sentence: str
    """A summary in one sentence."""
    before: str
    after: str
    """The old and new value in short form; empty if there is no short form."""
    values: tuple[ChangedValue, ...]
    left_out: int
    supports: tuple[RunStatement, ...]
    more_supports: int
    """The number of runs not shown."""
    decided: DisplayedMoment | None
    screen_id: str | None
    open: bool
    """Whether it waits for a decision."""


@dataclass(frozen=True, slots=True)
class AcceptancePreview:
    """What accepting a proposal would change in the current knowledge."""

    told: tuple[str, ...] = ()
    """A description of each document that would be added or changed."""
    warnings: tuple[str, ...] = ()
    refused: str = ""
    """Why it cannot be accepted; empty if it can."""
    since: str = ""
    """How the document has changed since the proposal; empty if it has not."""
    now: str = ""
    """The current value in that case; empty if there is none."""


def preview_acceptance(knowledge: KnowledgeBase, proposal: Proposal) -> AcceptancePreview:
    """Return what accepting the proposal would change; nothing is stored."""
    since = now = ""
    try:
        check_base(knowledge, proposal)
    except ChangedSinceProposal as exc:
        since, now = str(exc), _shorten_value(exc.now)
    try:
        new, warnings = apply_change(knowledge, proposal.change)
    except ChangeTargetMissing as exc:
        return AcceptancePreview(refused=str(exc))
    except KnowledgeError as exc:
        errors = [each.message for each in exc.problems if each.severity is Severity.ERROR]
        return AcceptancePreview(
            refused=shorten_value("; ".join(errors[:3]) or str(exc).splitlines()[0], LONGEST)
        )
    words = summarise_diff(diff_knowledge(knowledge, new), knowledge, new)
    told = tuple(
        f"{each.what}: {each.kind.replace('_', ' ')} {to_plain_text(each.words)}"
        for each in words.entries[:MOST_TOLD]
    )
    about = proposal.change.about.rpartition(" ")[2].partition(".")[0]
    known = tuple(
        shorten_value(each.message, LONGEST)
        for each in warnings
        if about in each.path or about in each.message
    )
    told = told or ("nothing: the knowledge base already contains the change",)
    return AcceptancePreview(told, known[:5], since=since, now=now)


def sort_proposals(proposals: Sequence[Proposal]) -> list[Proposal]:
    """Return open proposals first, confirmed ones before others, then by age, newest first."""
    ordered = sorted(proposals, key=lambda each: each.proposed_at, reverse=True)
    ordered.sort(key=lambda each: (each.status != "proposed", not each.confirmed))
    return ordered


def build_proposal_row(
    proposal: Proposal, today: date, knowledge: KnowledgeBase | None = None
) -> ProposalRow:
    """One proposal in a list."""
    return ProposalRow(
        proposal_id=proposal.proposal_id,
        title=proposal_title(proposal, knowledge),
        about=proposal.change.about,
        what=_WHAT.get(proposal.change.type, proposal.change.type),
        status="confirmed" if proposal.status == "proposed" and proposal.confirmed else proposal.status,
        confirmed=proposal.confirmed,
        said=_describe_decision(proposal),
        speak=f"{format_count(proposal.succeeded, 'run')} for, {proposal.failed} against",
        score=proposal.score,
        proposed=format_when(proposal.proposed_at, today),
    )


def proposal_title(proposal: Proposal, knowledge: KnowledgeBase | None) -> str:
    """Return a title with the names of screens and elements."""
    screens = {} if knowledge is None else knowledge.screens

    def name(screen_id: str) -> str:
        screen = screens.get(screen_id)
        return f"“{screen.name if screen is not None and screen.name else screen_id}”"

    match proposal.change:
        case SelectorChange() as change:
            elements = {} if knowledge is None else knowledge.elements(change.screen_id)
            found = elements.get(change.element_id)
            label = change.element_id if found is None else found.label
            return f"Selector of “{label}” on {name(change.screen_id)}"
        case StepTargetChange() as change:
            return f"Selector of step “{change.step_id}” of “{_get_task_name(knowledge, change.task_id)}”"
        case SignatureChange() as change:
            return f"Signature of {name(change.screen_id)}"
        case ScreenChange() as change:
            new = "New screen" if change.screen.screen_id not in screens else "Screen"
            return f"{new} “{change.screen.name or change.screen.screen_id}”"
        case TransitionChange() as change:
            return f"Transition from {name(change.transition.from_screen)} to {name(change.transition.to_screen)}"
        case WorkflowChange() as change:
            return f"Workflow “{change.workflow.name or change.workflow.workflow_id}”"


def _get_task_name(knowledge: KnowledgeBase | None, task_id: str) -> str:
    task = None if knowledge is None else knowledge.tasks.get(task_id)
    return task_id if task is None else task.name or task_id


def build_proposal_page(
    proposal: Proposal,
    today: date,
    knowledge: KnowledgeBase | None = None,
    known_runs: Collection[str] = (),
) -> ProposalPage:
    """Return the page of one proposal. `known_runs`: the ids of runs with a page."""
    kind = proposal.change.type
    changes = list(
        _values(kind, changes_between({kind: proposal.before}, {kind: proposal.change.proposed_value}))
    )
    short_before, short_after = _shorten_selector(proposal)
    return ProposalPage(
        row=build_proposal_row(proposal, today, knowledge),
        site=proposal.website_id,
        sentence=_sentence(proposal),
        before=short_before,
        after=short_after,
        values=tuple(changes[:MOST_CHANGES]),
        left_out=max(0, len(changes) - MOST_CHANGES),
        supports=tuple(
            RunStatement(
                each.run_id,
                each.run_id in known_runs,
                each.succeeded,
                each.score,
                each.note,
                format_when(each.at, today),
            )
            for each in proposal.supports[:MOST_SPOKEN]
        ),
        more_supports=max(0, len(proposal.supports) - MOST_SPOKEN),
        decided=None if proposal.decided_at is None else format_when(proposal.decided_at, today),
        screen_id=proposal.change.screen_id
        if isinstance(proposal.change, SelectorChange | SignatureChange)
        else None,
        open=proposal.status == "proposed",
    )


def _describe_decision(proposal: Proposal) -> str:
    if proposal.status != "proposed":
        return proposal.status
    if proposal.confirmed:
        return "confirmed, waiting for a decision"
    missing = max(0, CONFIRMED_BY - proposal.succeeded + proposal.failed)
    return f"waiting for a decision; {format_count(missing, 'more run')} needed to confirm it"


def _sentence(proposal: Proposal) -> str:
    about, new = proposal.change.about, proposal.before is None
    verb = "would add" if new else "would change"
    against = f"{format_count(proposal.failed, 'run')} failed" if proposal.failed else "none failed"
    return f"The proposal {verb} the {about}: {format_count(proposal.succeeded, 'run')} succeeded with it, {against}."


def _shorten_selector(proposal: Proposal) -> tuple[str, str]:
    """Return the first strategy of the old and the new selector."""
    if not isinstance(proposal.change, SelectorChange | StepTargetChange):
        return "", ""
    return selector_text(proposal.before), selector_text(proposal.change.proposed_value)


def _shorten_value(value: Any) -> str:
    """Return a selector's first strategy, or the beginning of another value."""
    if isinstance(value, Mapping) and "strategies" in value:
        return selector_text(value)
    return "" if value is None else _format_value(value)


def _values(kind: str, changes: Iterable[ValueChange]) -> Iterator[ChangedValue]:
    """Yield every changed value; added and removed objects are split into single values."""
    for each in changes:
        path = each.path.removeprefix(f"$.{kind}").lstrip(".")
        if each.before is None or each.after is None:
            for place, said in _flatten_value(path, each.after if each.before is None else each.before):
                before, after = ("", said) if each.before is None else (said, "")
                if place != "type":  # the title already names the kind
                    yield ChangedValue(place or kind, before, after)
        else:
            yield ChangedValue(path or kind, _format_value(each.before), _format_value(each.after))


def _flatten_value(path: str, value: Any) -> Iterator[tuple[str, str]]:
    if _is_short(value):
        yield path, _format_value(value)
    elif isinstance(value, Mapping):
        for key, each in value.items():
            yield from _flatten_value(f"{path}.{key}" if path else str(key), each)
    else:
        for number, each in enumerate(value):
            yield from _flatten_value(f"{path}[{number}]", each)


def _is_short(value: Any) -> bool:
    inner = value.values() if isinstance(value, Mapping) else value if isinstance(value, list) else ()
    return len(inner) <= FEW and not any(isinstance(each, Mapping | list) for each in inner)


def _format_value(value: Any) -> str:
    """Return a value as text, such as `type: title contains, value: Orders`."""
    if isinstance(value, Mapping) and _is_short(value):
        return shorten_value(
            ", ".join(f"{key}: {_format_value(each)}" for key, each in value.items()), LONGEST
        )
    if isinstance(value, list) and value and _is_short(value):
        return shorten_value(", ".join(map(_format_value, value)), LONGEST)
    if isinstance(value, str) and value:
        return shorten_value(value, LONGEST)
    return shorten_value(json.dumps(value, ensure_ascii=False), LONGEST)
