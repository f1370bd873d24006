"""What a run's page shows, made of its records. Pure: records in, frozen values out; nothing is looked up here.

A step's record says how it came out. What the run told on the way (events, kept a day) adds what was mended and
what was tried instead; the trace adds what was done on the page and how the page looked; a verdict adds pictures.
Each of them may be missing.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from typing import Any

from kb_schema.knowledge import KnowledgeBase
from kb_schema.proposals import Proposal, SelectorChange
from kb_schema.runs import Artifact, Metric, StoredRun, StoredStep
from kb_schema.storage import StoredEvent
from kb_schema.traces import ExecutionTrace, TraceStep
from kb_schema.verification import VerdictReport
from periplus.console.runs_words import (
    KINDS,
    OUTCOMES,
    Outcome,
    When,
    in_words,
    outcome_of,
    plain,
    short,
    size,
    when,
)
from periplus.console.telling import duration

MOST_STEPS = 500
"""Shown of one run; the page says how many are left out."""
_STATUS = {"success": "done", "skipped": "skipped", "failed": "failed"}


@dataclass(frozen=True, slots=True)
class Recorded:
    """All there is of one run; what is not known is empty."""

    run: StoredRun
    steps: Sequence[StoredStep] = ()
    events: Sequence[StoredEvent] = ()
    artifacts: Sequence[Artifact] = ()
    metrics: Sequence[Metric] = ()
    trace: ExecutionTrace | None = None
    verdict: VerdictReport | None = None
    proposals: Sequence[Proposal] = ()
    """Of its website: those that this run speaks for or against are picked."""
    knowledge: KnowledgeBase | None = None


@dataclass(frozen=True, slots=True)
class Done:
    """One thing that was done on the page, and the page before and after it."""

    said: str
    value: str
    error: str
    before: int | None
    """Which action of the trace has that page; None: it is not kept."""
    after: int | None


@dataclass(frozen=True, slots=True)
class Mended:
    """An element that was found in another way than the known one."""

    element: str
    before: str
    after: str
    how: str
    worked: bool
    proposal_id: str | None = None


@dataclass(frozen=True, slots=True)
class Step:
    """One step in the order of time."""

    number: int
    name: str
    attempt: int
    """Which time this step of this task was done in the run, from 1."""
    task: str
    status: str
    """`done`, `skipped`, `failed`."""
    said: str
    """What was done, and to what, in words."""
    screen_id: str | None
    screen: str
    took: str
    at: When
    error: str
    selector: str
    strategy: str
    confidence: float | None
    mended: tuple[Mended, ...] = ()
    instead: tuple[str, ...] = ()
    """Other approaches, in the order they were tried."""
    notes: tuple[str, ...] = ()
    done: tuple[Done, ...] = ()
    picture: bool = False
    checks: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Left:
    """A file or folder that the run left."""

    name: str
    kind: str
    size: str
    whole: bool
    """One file, that can be saved from here."""


@dataclass(frozen=True, slots=True)
class RunPage:
    """A run's page."""

    run_id: str
    site: str
    subject: str
    subject_name: str
    kind: str
    outcome: Outcome
    said: str
    evidence: str
    began: When
    took: str
    url: str
    req_id: str | None
    steps: tuple[Step, ...]
    left_out: int
    """Steps that are not shown."""
    mended: tuple[Mended, ...]
    instead: tuple[str, ...]
    """Other approaches of the whole run."""
    inputs: tuple[tuple[str, str], ...]
    outputs: tuple[tuple[str, str], ...]
    measured: tuple[tuple[str, str], ...]
    left: tuple[Left, ...]
    task_id: str | None
    """Of the knowledge, where it has it."""
    screens: tuple[tuple[str, str], ...]
    """Id and name of the screens it was on, in the order of time."""
    pages_kept: bool

    @property
    def failed_step(self) -> Step | None:
        """The last step that failed: what ended the run."""
        return next((each for each in reversed(self.steps) if each.status == "failed"), None)


def run_page(recorded: Recorded, today: date) -> RunPage:
    """The page of a run."""
    run, names = recorded.run, _Names(recorded.knowledge)
    told = _told_at_steps(recorded)
    done = _done_at_steps(recorded)
    checked = {each.step_idx: each for each in recorded.verdict.steps} if recorded.verdict else {}
    proposed, times = _proposed(recorded), Counter[tuple[str, str]]()
    steps = []
    for step in recorded.steps[:MOST_STEPS]:
        times[step.task_id, step.step_id] += 1
        heard, verified = told.get(step.step_idx, _Told()), checked.get(step.step_idx)
        steps.append(
            Step(
                number=step.step_idx + 1,
                name=in_words(step.step_id),
                attempt=times[step.task_id, step.step_id],
                task=names.task(step.task_id),
                status=_STATUS[step.status],
                said=names.doing(step),
                screen_id=step.screen_id if names.knows_screen(step.screen_id) else None,
                screen=names.screen(step.screen_id),
                took=duration(step.duration_ms),
                at=when(step.executed_at, today),
                error=plain(step.error_message),
                selector=_found_by(step.selector or ""),
                strategy=step.strategy or "",
                confidence=step.confidence,
                mended=(
                    *(proposed.get(each.element, each) for each in heard.mended),
                    *_healed(recorded.verdict, step.step_idx),
                ),
                instead=tuple(heard.instead),
                notes=tuple(heard.notes),
                done=tuple(done.get(step.step_idx, ())),
                picture=verified is not None and verified.screenshot is not None,
                checks=verified.checks if verified is not None else (),
            )
        )
    seen = list(dict.fromkeys(step.screen_id for step in recorded.steps if step.screen_id is not None))
    outcome = outcome_of(run)
    return RunPage(
        run_id=run.run_id,
        site=run.website_id,
        subject=run.subject,
        subject_name=names.subject(run),
        kind=KINDS.get(run.kind, run.kind),
        outcome=outcome,
        said=OUTCOMES[outcome],
        evidence=run.evidence.value if run.evidence is not None else "",
        began=when(run.started_at, today),
        took=duration(run.duration_ms),
        url=run.url,
        req_id=run.req_id,
        steps=tuple(steps),
        left_out=max(0, len(recorded.steps) - MOST_STEPS),
        mended=tuple(_all_mended(proposed, steps)),
        instead=tuple(each for step in steps for each in step.instead),
        inputs=tuple(_inputs(recorded)),
        outputs=tuple(_outputs(run)),
        measured=tuple((in_words(each.metric_name), f"{each.metric_value:g}") for each in recorded.metrics),
        left=tuple(_left(each) for each in recorded.artifacts),
        task_id=run.subject if names.knows_task(run.subject) else None,
        screens=tuple((each, names.screen(each)) for each in seen if names.knows_screen(each)),
        pages_kept=recorded.trace is not None,
    )


def subject_name(knowledge: KnowledgeBase | None, run: StoredRun) -> str:
    """What people call what was run."""
    return _Names(knowledge).subject(run)


# -- names -----------------------------------------------------------------------------------------


class _Names:
    """What people call things; where the knowledge does not say, the ids as words."""

    def __init__(self, knowledge: KnowledgeBase | None) -> None:
        self._tasks = {} if knowledge is None else knowledge.tasks
        self._screens = {} if knowledge is None else knowledge.screens
        self._flows = {} if knowledge is None else knowledge.flows
        self._workflows = {} if knowledge is None else knowledge.workflows

    def knows_task(self, task_id: str) -> bool:
        return task_id in self._tasks

    def knows_screen(self, screen_id: str | None) -> bool:
        return screen_id in self._screens

    def task(self, task_id: str) -> str:
        task = self._tasks.get(task_id)
        return task.name if task is not None and task.name else in_words(task_id)

    def screen(self, screen_id: str | None) -> str:
        screen = self._screens.get(screen_id or "")
        return screen.name if screen is not None and screen.name else in_words(screen_id)

    def subject(self, run: StoredRun) -> str:
        if run.kind == "goal":
            return self.screen(run.subject)
        title = run.outputs.get("title")
        if run.kind == "verification" and isinstance(title, str) and title:
            return f"{run.subject}: {title}"
        known = (
            self._tasks.get(run.subject) or self._workflows.get(run.subject) or self._flows.get(run.subject)
        )
        return known.name if known is not None and known.name else run.subject

    def doing(self, step: StoredStep) -> str:
        """`click on save`."""
        action = in_words(step.action) or "step"
        return f"{action}: {in_words(step.element)}" if step.element else action


# -- what was told on the way ----------------------------------------------------------------------


@dataclass
class _Told:
    mended: list[Mended] = field(default_factory=list)
    instead: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def _told_at_steps(recorded: Recorded) -> dict[int, _Told]:
    """Events by the step they belong to: the one that ended next, as its name in the event says."""
    found: dict[int, _Told] = {}
    waiting, at = _Told(), 0
    for event in recorded.events:
        if event.type != "step_ended":
            _note(waiting, event)
            continue
        name = (event.data.get("task_id"), event.data.get("step_id"))
        index = next(
            (
                i
                for i in range(at, len(recorded.steps))
                if (recorded.steps[i].task_id, recorded.steps[i].step_id) == name
            ),
            None,
        )
        if index is not None:
            found[recorded.steps[index].step_idx] = waiting
            waiting, at = _Told(), index + 1
    return found


def _note(told: _Told, event: StoredEvent) -> None:
    """What an event adds to a step, in words."""
    data = event.data
    match event.type:
        case "element_used" if data.get("healed_selector"):
            told.mended.append(
                Mended(
                    element=str(data.get("element_id", "")),
                    before="",
                    after=selector_text(data["healed_selector"]),
                    how=_how_sure(data.get("score"), str(data.get("reason") or "")),
                    worked=bool(data.get("succeeded")),
                )
            )
        case "replanned":
            detail = str(data.get("detail") or "")
            told.instead.append(short(f"{in_words(str(data.get('approach', '')))}: {detail}".rstrip(": ")))
        case "recovered":
            said = "helped" if data.get("succeeded") else "did not help"
            told.notes.append(f"recovery to {in_words(str(data.get('to_screen', '')))} {said}")
        case "recovery_tried":
            outcome = in_words(str(data.get("outcome", "")))
            told.notes.append(f"recovery {in_words(str(data.get('recovery', '')))}: {outcome}")
        case "overlay_dismissed":
            told.notes.append(f"{in_words(str(data.get('overlay_id', '')))} was in the way and was closed")
        case "dialog_answered":
            told.notes.append(f"the page asked: {short(str(data.get('message', '')), 160)}")
        case "heal_tried" if data.get("outcome") != "healed":
            told.notes.append(
                f"looked for {data.get('element', '')} in other ways: {in_words(str(data.get('outcome', '')))}"
            )
        case _:
            pass


def _how_sure(score: Any, reason: str) -> str:
    sure = f"{score:.0%} alike" if isinstance(score, int | float) else ""
    return ", ".join(each for each in (sure, reason) if each)


# -- what was done on the page ---------------------------------------------------------------------


def _done_at_steps(recorded: Recorded) -> dict[int, list[Done]]:
    """The trace's actions by step.

    A line of a trace is written when the action after it is over, so an action was over when the line before
    its own was written; it belongs to the first step that ended after that.
    """
    if recorded.trace is None or not recorded.steps:
        return {}
    found: dict[int, list[Done]] = {}
    steps = sorted(recorded.steps, key=lambda each: (each.executed_at, each.step_idx))
    at, over = 0, None
    for number, action in enumerate(recorded.trace.steps):
        while over is not None and at < len(steps) - 1 and steps[at].executed_at < _whole_ms(over):
            at += 1
        found.setdefault(steps[at].step_idx, []).append(_done(number, action))
        over = action.timestamp
    return found


def _whole_ms(moment: datetime) -> datetime:
    return moment.replace(microsecond=moment.microsecond // 1_000 * 1_000)


def _done(number: int, action: TraceStep) -> Done:
    element = action.metadata.get("element")
    to = in_words(element) if isinstance(element, str) else selector_text(action.target)
    value = (action.args or {}).get("value")
    return Done(
        said=f"{in_words(action.action_type)} {to}".strip(),
        value="" if value is None else short(value, 120),
        error=(action.result.error or "") if action.result is not None else "",
        before=None if action.html_before is None else number,
        after=None if action.html_after is None else number,
    )


def selector_text(selector: Any) -> str:
    """A selector in short: the first of its strategies; what is none, as it is."""
    if isinstance(selector, str):
        return short(selector, 160)
    if not isinstance(selector, Mapping):
        return ""
    strategies = selector.get("strategies")
    first = strategies[0] if isinstance(strategies, list) and strategies else selector
    if not isinstance(first, Mapping):
        return ""
    kind = str(first.get("type", ""))
    told = next((first[name] for name in ("value", "template") if isinstance(first.get(name), str)), None)
    if told is None:
        kept = {
            name: each
            for name, each in first.items()
            if name not in ("type", "confidence", "metadata", "meta")
        }
        told = ", ".join(f"{name} {each}" for name, each in kept.items() if isinstance(each, str | int))
    return short(f"{kind} {told}".strip(), 160)


def _found_by(selector: str) -> str:
    """A step's selector: of several strategies, kept as JSON, each in short."""
    try:
        strategies = json.loads(selector) if selector.startswith("[") else None
    except ValueError:  # it was too long to be kept whole
        strategies = None
    if not isinstance(strategies, list):
        return short(selector)
    return short(", else ".join(filter(None, map(selector_text, strategies))))


# -- what was mended -------------------------------------------------------------------------------


def _healed(verdict: VerdictReport | None, step_idx: int) -> Iterator[Mended]:
    for each in verdict.heal_events if verdict is not None else ():
        if each.step_idx == step_idx:
            how = ", ".join((*each.actions, *([each.reason] if each.reason else [])))
            yield Mended(f"step {step_idx + 1}", each.before, each.after, short(how), each.success)


def _proposed(recorded: Recorded) -> dict[str, Mended]:
    """What was mended and is proposed since, by element: a proposal says what was known before."""
    found: dict[str, Mended] = {}
    for proposal in recorded.proposals:
        support = next((each for each in proposal.supports if each.run_id == recorded.run.run_id), None)
        if support is None or not isinstance(proposal.change, SelectorChange):
            continue
        found[proposal.change.element_id] = Mended(
            element=proposal.change.element_id,
            before=selector_text(proposal.before),
            after=selector_text(proposal.change.said),
            how=_how_sure(support.score, support.note),
            worked=support.succeeded,
            proposal_id=proposal.proposal_id,
        )
    return found


def _all_mended(proposed: Mapping[str, Mended], steps: Sequence[Step]) -> Iterator[Mended]:
    """What was mended, once each."""
    yield from proposed.values()
    seen = set(proposed)
    for step in steps:
        for mended in step.mended:
            if mended.element not in seen:
                seen.add(mended.element)
                yield mended


# -- inputs, and what is left ----------------------------------------------------------------------


def _inputs(recorded: Recorded) -> Iterator[tuple[str, str]]:
    """Names of the inputs and where each came from. Values are in no record; those that were typed and are no
    secret stand at their steps.
    """
    seen: dict[str, str] = {}
    for event in recorded.events:
        if event.type == "input_resolved":
            seen[str(event.data.get("name", ""))] = in_words(str(event.data.get("source", "")))
    yield from seen.items()


def _outputs(run: StoredRun) -> Iterator[tuple[str, str]]:
    """What it gave; of a verification that is its verdict, which stands elsewhere."""
    if run.kind != "verification":
        yield from ((name, short(value)) for name, value in run.outputs.items())


def _left(artifact: Artifact) -> Left:
    return Left(
        artifact.name,
        in_words(artifact.artifact_type),
        size(artifact.size_bytes),
        whole=not artifact.name.endswith("/") and artifact.file_path is not None,
    )
