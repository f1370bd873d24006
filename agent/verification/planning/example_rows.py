"""Rows of examples below a requirement of a table: one requirement for each row, as of Gherkin's outlines."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from agent.verification.planning.requirement_drafts import (
    LocatedText,
    RequirementDraft,
    StepDraft,
    fill_example,
    list_example_names,
)
from agent.verification.planning.requirement_problems import RequirementProblem
from agent.verification.planning.table_columns import column_named
from kb_schema.verification import ExpectedOutcome, SourceLocation

EXAMPLES = "examples"
"""The word that begins the rows, alone in its row."""


@dataclass(slots=True)
class ExampleRows:
    """The examples of one requirement: a row with the names, then one row for each example."""

    draft: RequirementDraft
    place: SourceLocation
    names: tuple[str, ...] = ()
    rows: list[tuple[SourceLocation, dict[str, str]]] = field(default_factory=list)

    def read(self, place: SourceLocation, cells: tuple[LocatedText, ...]) -> None:
        """Read the next row."""
        texts = [each.text.strip() for each in cells]
        if not self.names:
            self.names = tuple(each.strip("<>") for each in texts)
            return
        row = dict(zip(self.names, texts, strict=False))
        self.rows.append((place, {name: value for name, value in row.items() if name}))

    def expand(self, problems: list[RequirementProblem]) -> Iterator[RequirementDraft]:
        """Yield the requirement of each row. A name without a column, and examples without a row, are problems."""
        if not self.rows:
            fix = "write a row with names below it, and a row of values for each example"
            problems.append(RequirementProblem(self.place, "examples without a row", fix))
        known = {name for name in self.names if name}
        for at, name in _list_names(self.draft):
            if name not in known:
                fix = f"known are {', '.join(sorted(known))}"
                problems.append(RequirementProblem(at, f"no column {name!r} in the examples", fix))
        for number, (place, row) in enumerate(self.rows, 1):
            yield _fill_draft(self.draft, place, row, number)


def _fill_draft(
    draft: RequirementDraft, place: SourceLocation, row: Mapping[str, str], number: int
) -> RequirementDraft:
    own = next((value for name, value in row.items() if column_named(name) == "req_id" and value), None)
    req_id = draft.req_id
    if own is not None:
        req_id = LocatedText(own, place)
    elif req_id is not None:
        req_id = replace(req_id, text=f"{req_id.text.strip()}_{number}")
    return replace(
        draft,
        place=place,
        fallback_id=f"{draft.fallback_id[:90]}_{number}",
        req_id=req_id,
        title=_fill_text(draft.title, row),
        url=_fill_text(draft.url, row),
        login=_fill_text(draft.login, row),
        steps=[_fill_step(each, row) for each in draft.steps],
    )


def _fill_step(step: StepDraft, row: Mapping[str, str]) -> StepDraft:
    return replace(
        step,
        element=_fill_text(step.element, row),
        region=_fill_text(step.region, row),
        action=_fill_text(step.action, row),
        value=_fill_text(step.value, row),
        expected=tuple(LocatedText(fill_example(each.text, row), each.place) for each in step.expected),
        outcomes=tuple(_fill_outcome(each, row) for each in step.outcomes),
    )


def _fill_text(said: LocatedText | None, row: Mapping[str, str]) -> LocatedText | None:
    return None if said is None else LocatedText(fill_example(said.text, row), said.place)


def _fill_outcome(outcome: ExpectedOutcome, row: Mapping[str, str]) -> ExpectedOutcome:
    texts = {name: value for name, value in outcome if isinstance(value, str) and name != "kind"}
    return outcome.model_copy(update={name: fill_example(value, row) for name, value in texts.items()})


def _list_names(draft: RequirementDraft) -> Iterator[tuple[SourceLocation, str]]:
    for said in (draft.title, draft.url, draft.login):
        if said is not None:
            yield from ((said.place, name) for name in list_example_names(said.text))
    for step in draft.steps:
        for said in (step.element, step.region, step.action, step.value, *step.expected):
            if said is not None:
                yield from ((said.place, name) for name in list_example_names(said.text))
        for outcome in step.outcomes:
            yield from ((step.place, name) for name in list_example_names(outcome.said))
