"""View models of a run's page, built from its records. Pure functions without I/O.

The step records have the results. The events (kept for a day) add healings and alternatives; the trace adds the
actions and the pages; a verdict adds screenshots. Each of them may be missing.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from typing import Any

from kb_schema.execution_traces import ExecutionTrace, TraceStep, element_id_of
from kb_schema.knowledge_base import KnowledgeBase
from kb_schema.model_use import ModelUse
from kb_schema.proposals import Proposal, SelectorChange, StepTargetChange
from kb_schema.run_records import Artifact, Metric, StoredRun, StoredStep
from kb_schema.run_storage import StoredEvent
from kb_schema.verification import VerdictReport
from periplus.console.display_names import DisplayNames
from periplus.console.run_labels import (
    KINDS,
    OUTCOMES,
    DisplayedMoment,
    RunOutcome,
    classify_outcome,
    format_error_line,
    format_id_words,
    format_size,
    format_when,
    shorten_value,
)
from periplus.console.template_filters import format_duration

MOST_STEPS = 500
"""Maximum number of steps shown; the page says how many are left out."""
_STATUS = {"success": "done", "skipped": "skipped", "failed": "failed"}


@dataclass(frozen=True, slots=True)
class RunRecords:
    """All records of one run; unknown ones are empty."""

    run: StoredRun
    steps: Sequence[StoredStep] = ()
    events: Sequence[StoredEvent] = ()
    artifacts: Sequence[Artifact] = ()
    metrics: Sequence[Metric] = ()
    trace: ExecutionTrace | None = None
    verdict: VerdictReport | None = None
    proposals: Sequence[Proposal] = ()
    """Proposals of its website; those that this run supports or contradicts are selected."""
    knowledge: KnowledgeBase | None = None


@dataclass(frozen=True, slots=True)
class DisplayedAction:
    """One action on the page, with the pages before and after it."""

    said: str
    value: str
    error: str
    before: int | None
    """The number of the trace action with that page; None if it is not stored."""
    after: int | None


@dataclass(frozen=True, slots=True)
class HealedElementView:
    """An element that was found with another selector."""

    element: str
    before: str
    after: str
    how: str
    worked: bool
    proposal_id: str | None = None


@dataclass(frozen=True, slots=True)
class DisplayedStep:
    """One step of the timeline."""

    number: int
    name: str
    attempt: int
    """The number of the attempt of this step, from 1."""
    task: str
    status: str
    """`done`, `skipped`, `failed`."""
    said: str
    """A description of the action and its element."""
    screen_id: str | None
    screen: str
    took: str
    at: DisplayedMoment
    error: str
    selector: str
    strategy: str
    confidence: float | None
    mended: tuple[HealedElementView, ...] = ()
    instead: tuple[str, ...] = ()
    """Alternatives, in the order in which they were tried."""
    notes: tuple[str, ...] = ()
    done: tuple[DisplayedAction, ...] = ()
    picture: bool = False
    checks: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class RunFileView:
    """An artifact of the run."""

    name: str
    kind: str
    size: str
    whole: bool
    """Whether it is a single file that can be downloaded."""


@dataclass(frozen=True, slots=True)
class RunPageView:
    """The page of a run."""

    run_id: str
    site: str
    subject: str
    subject_name: str
    kind: str
    outcome: RunOutcome
    said: str
    evidence: str
    began: DisplayedMoment
    took: str
    url: str
    req_id: str | None
    steps: tuple[DisplayedStep, ...]
    left_out: int
    """The number of steps not shown."""
    mended: tuple[HealedElementView, ...]
    instead: tuple[str, ...]
    """Alternatives for the whole run."""
    inputs: tuple[tuple[str, str], ...]
    outputs: tuple[tuple[str, str], ...]
    measured: tuple[tuple[str, str], ...]
    left: tuple[RunFileView, ...]
    task_id: str | None
    """The task's id, if the knowledge has it."""
    screens: tuple[tuple[str, str], ...]
    """Id and name of the visited screens, in order."""
    pages_kept: bool
    version: str
    """The version of a workflow; empty for other runs."""
    model: str
    """Calls of a language model, with their cost; empty if the run does not say it."""

    @property
    def failed_step(self) -> DisplayedStep | None:
        """Return the last failed step, which ended the run."""
        return next((each for each in reversed(self.steps) if each.status == "failed"), None)


def build_run_page(recorded: RunRecords, today: date) -> RunPageView:
    """The page of a run."""
    run, names = recorded.run, DisplayNames(recorded.knowledge)
    told = _group_events_by_step(recorded)
    done = _group_actions_by_step(recorded)
    checked = {each.step_idx: each for each in recorded.verdict.steps} if recorded.verdict else {}
    proposed, times = _list_proposed_elements(recorded), Counter[tuple[str, str]]()
    steps = []
    for step in recorded.steps[:MOST_STEPS]:
        times[step.task_id, step.step_id] += 1
        heard, verified = told.get(step.step_idx, _StepEvents()), checked.get(step.step_idx)
        steps.append(
            DisplayedStep(
                number=step.step_idx + 1,
                name=format_id_words(step.step_id),
                attempt=times[step.task_id, step.step_id],
                task=names.task(step.task_id),
                status=_STATUS[step.status],
                said=names.doing(step),
                screen_id=step.screen_id if names.knows_screen(step.screen_id) else None,
                screen=names.screen(step.screen_id),
                took=format_duration(step.duration_ms),
                at=format_when(step.executed_at, today),
                error=format_error_line(step.error_message),
                selector=_found_by(step.selector or ""),
                strategy=step.strategy or "",
                confidence=step.confidence,
                mended=(
                    *(proposed.get(each.element, each) for each in heard.mended),
                    *_list_healed_elements(recorded.verdict, step.step_idx),
                ),
                instead=tuple(heard.instead),
                notes=tuple(heard.notes),
                done=tuple(done.get(step.step_idx, ())),
                picture=verified is not None and verified.screenshot is not None,
                checks=verified.checks if verified is not None else (),
            )
        )
    seen = list(dict.fromkeys(step.screen_id for step in recorded.steps if step.screen_id is not None))
    outcome = classify_outcome(run)
    return RunPageView(
        run_id=run.run_id,
        site=run.website_id,
        subject=run.subject,
        subject_name=names.subject(run),
        kind=KINDS.get(run.kind, run.kind),
        outcome=outcome,
        said=OUTCOMES[outcome],
        evidence=run.evidence.value if run.evidence is not None else "",
        began=format_when(run.started_at, today),
        took=format_duration(run.duration_ms),
        url=run.url,
        req_id=run.req_id,
        steps=tuple(steps),
        left_out=max(0, len(recorded.steps) - MOST_STEPS),
        mended=tuple(_list_all_healed(proposed, steps)),
        instead=tuple(each for step in steps for each in step.instead),
        inputs=tuple(_inputs(recorded)),
        outputs=tuple(_outputs(run)),
        measured=tuple(
            (format_id_words(each.metric_name), f"{each.metric_value:g}") for each in recorded.metrics
        ),
        left=tuple(_build_file_view(each) for each in recorded.artifacts),
        task_id=run.subject if names.knows_task(run.subject) else None,
        screens=tuple((each, names.screen(each)) for each in seen if names.knows_screen(each)),
        pages_kept=recorded.trace is not None,
        version=run.workflow_version or "",
        model=_describe_model_use(recorded),
    )


def _describe_model_use(recorded: RunRecords) -> str:
    """Return what language models were used for; empty if the run does not say it."""
    found = {each.metric_name: each.metric_value for each in recorded.metrics}
    if "model_calls" not in found:
        return ""
    use = ModelUse(
        calls=int(found["model_calls"]),
        input_tokens=int(found.get("model_tokens", 0)),  # the sum: only that is shown
        cost_usd=found.get("model_cost_usd"),
    )
    return use.describe()


# -- events ----------------------------------------------------------------------------------------


@dataclass
class _StepEvents:
    mended: list[HealedElementView] = field(default_factory=list)
    instead: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def _group_events_by_step(recorded: RunRecords) -> dict[int, _StepEvents]:
    """Return the events by step: an event belongs to the next finished step with its name."""
    found: dict[int, _StepEvents] = {}
    waiting, at = _StepEvents(), 0
    for event in recorded.events:
        if event.type != "step_ended":
            _format_event_note(waiting, event)
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
            waiting, at = _StepEvents(), index + 1
    return found


def _format_event_note(told: _StepEvents, event: StoredEvent) -> None:
    """Add the description of an event to its step."""
    data = event.data
    match event.type:
        case "element_used" if data.get("healed_selector"):
            told.mended.append(
                HealedElementView(
                    element=str(data.get("element_id", "")),
                    before="",
                    after=selector_text(data["healed_selector"]),
                    how=_format_confidence(data.get("score"), str(data.get("reason") or "")),
                    worked=bool(data.get("succeeded")),
                )
            )
        case "replanned":
            detail = str(data.get("detail") or "")
            told.instead.append(
                shorten_value(f"{format_id_words(str(data.get('approach', '')))}: {detail}".rstrip(": "))
            )
        case "recovered":
            said = "helped" if data.get("succeeded") else "did not help"
            told.notes.append(f"recovery to {format_id_words(str(data.get('to_screen', '')))} {said}")
        case "recovery_tried":
            outcome = format_id_words(str(data.get("outcome", "")))
            told.notes.append(f"recovery {format_id_words(str(data.get('recovery', '')))}: {outcome}")
        case "overlay_dismissed":
            told.notes.append(
                f"{format_id_words(str(data.get('overlay_id', '')))} covered the page and was closed"
            )
        case "dialog_answered":
            told.notes.append(f"dialog: {shorten_value(str(data.get('message', '')), 160)}")
        case "heal_tried" if data.get("outcome") != "healed":
            told.notes.append(
                f"searched {data.get('element', '')} with other selectors: {format_id_words(str(data.get('outcome', '')))}"
            )
        case _:
            pass


def _format_confidence(score: Any, reason: str) -> str:
    sure = f"{score:.0%} similar" if isinstance(score, int | float) else ""
    return ", ".join(each for each in (sure, reason) if each)


# -- actions on the page ---------------------------------------------------------------------------


def _group_actions_by_step(recorded: RunRecords) -> dict[int, list[DisplayedAction]]:
    """Return the trace's actions by step.

    A line of a trace is written when the next action has finished, so an action had finished when the previous
    line was written. It belongs to the first step that ended after that.
    """
    if recorded.trace is None or not recorded.steps:
        return {}
    found: dict[int, list[DisplayedAction]] = {}
    steps = sorted(recorded.steps, key=lambda each: (each.executed_at, each.step_idx))
    at, over = 0, None
    for number, action in enumerate(recorded.trace.steps):
        while over is not None and at < len(steps) - 1 and steps[at].executed_at < _truncate_to_ms(over):
            at += 1
        found.setdefault(steps[at].step_idx, []).append(_build_action(number, action))
        over = action.timestamp
    return found


def _truncate_to_ms(moment: datetime) -> datetime:
    return moment.replace(microsecond=moment.microsecond // 1_000 * 1_000)


def _build_action(number: int, action: TraceStep) -> DisplayedAction:
    element = element_id_of(action.metadata)
    to = format_id_words(element) if element is not None else selector_text(action.target)
    value = (action.args or {}).get("value")
    return DisplayedAction(
        said=f"{format_id_words(action.action_type)} {to}".strip(),
        value="" if value is None else shorten_value(value, 120),
        error=(action.result.error or "") if action.result is not None else "",
        before=None if action.html_before is None else number,
        after=None if action.html_after is None else number,
    )


def selector_text(selector: Any) -> str:
    """Return the first strategy of a selector as short text; other values unchanged."""
    if isinstance(selector, str):
        return shorten_value(selector, 160)
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
    return shorten_value(f"{kind} {told}".strip(), 160)


def _found_by(selector: str) -> str:
    """Return a step's selector as short text; several strategies are stored as JSON."""
    try:
        strategies = json.loads(selector) if selector.startswith("[") else None
    except ValueError:  # it was truncated
        strategies = None
    if not isinstance(strategies, list):
        return shorten_value(selector)
    return shorten_value(", else ".join(filter(None, map(selector_text, strategies))))


# -- healed elements -------------------------------------------------------------------------------


def _list_healed_elements(verdict: VerdictReport | None, step_idx: int) -> Iterator[HealedElementView]:
    for each in verdict.heal_events if verdict is not None else ():
        if each.step_idx == step_idx:
            how = ", ".join((*each.actions, *([each.reason] if each.reason else [])))
            yield HealedElementView(
                f"step {step_idx + 1}", each.before, each.after, shorten_value(how), each.success
            )


def _list_proposed_elements(recorded: RunRecords) -> dict[str, HealedElementView]:
    """Return healed elements with a proposal, by element or step; the proposal has the old selector."""
    found: dict[str, HealedElementView] = {}
    for proposal in recorded.proposals:
        support = next((each for each in proposal.supports if each.run_id == recorded.run.run_id), None)
        match proposal.change:
            case SelectorChange() as change:
                element = change.element_id
            case StepTargetChange() as change:
                element = f"{change.task_id}.{change.step_id}"
            case _:
                continue
        if support is None:
            continue
        found[element] = HealedElementView(
            element=element,
            before=selector_text(proposal.before),
            after=selector_text(change.proposed_value),
            how=_format_confidence(support.score, support.note),
            worked=support.succeeded,
            proposal_id=proposal.proposal_id,
        )
    return found


def _list_all_healed(
    proposed: Mapping[str, HealedElementView], steps: Sequence[DisplayedStep]
) -> Iterator[HealedElementView]:
    """Return the healed elements without duplicates."""
    yield from proposed.values()
    seen = set(proposed)
    for step in steps:
        for mended in step.mended:
            if mended.element not in seen:
                seen.add(mended.element)
                yield mended


# -- inputs, outputs and artifacts -----------------------------------------------------------------


def _inputs(recorded: RunRecords) -> Iterator[tuple[str, str]]:
    """Yield the names of the inputs and their sources.

    Records contain no input values; non-secret ones that were typed are shown at their steps.
    """
    seen: dict[str, str] = {}
    for event in recorded.events:
        if event.type == "input_resolved":
            seen[str(event.data.get("name", ""))] = format_id_words(str(event.data.get("source", "")))
    yield from seen.items()


def _outputs(run: StoredRun) -> Iterator[tuple[str, str]]:
    """Yield the outputs; not for a verification, whose verdict is shown elsewhere."""
    if run.kind != "verification":
        yield from ((name, shorten_value(value)) for name, value in run.outputs.items())


def _build_file_view(artifact: Artifact) -> RunFileView:
    return RunFileView(
        artifact.name,
        format_id_words(artifact.artifact_type),
        format_size(artifact.size_bytes),
        whole=not artifact.name.endswith("/") and artifact.file_path is not None,
    )
