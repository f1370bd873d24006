"""Turns a row of a test-case table (ID, Title, Preconditions, Steps, Expected) into steps of a requirement.

The steps are numbered sentences in one cell, or one sentence per row. An expected result belongs to the step with its
number, else to the last step of its row.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from agent.verification.planning import step_phrases
from agent.verification.planning.plain_sentences import parse_sentence
from agent.verification.planning.requirement_drafts import (
    LocatedText,
    RequirementDraft,
    StepDraft,
    quote_name,
)
from agent.verification.planning.requirement_problems import RequirementProblem
from kb_schema.excerpts import excerpt
from kb_schema.expected_outcomes import canonical
from kb_schema.verification import ExpectedOutcome, SourceLocation

_NUMBERED = re.compile(
    r"\s*(?:(?:step )?(?P<number>\d{1,3})\s*[.):]|[-*\u2022])\s+(?P<text>.+)", re.IGNORECASE
)
_INLINE = re.compile(r"\s+(?=\d{1,3}[.)]\s)")
_NOTHING = frozenset({"", "-", "none", "n/a", "na", "no", "nothing"})


@dataclass(frozen=True, slots=True)
class _Sentence:
    """One sentence of a cell, with its number if it has one."""

    text: str
    number: int | None


def read_case_row(
    draft: RequirementDraft, cells: Mapping[str, LocatedText], problems: list[RequirementProblem]
) -> None:
    """Add the steps of a row to its requirement. Sentences that are not plain are noted as problems of their cell."""
    _Case(draft, problems).read(cells)


@dataclass(slots=True)
class _Case:
    draft: RequirementDraft
    problems: list[RequirementProblem]
    timeout: LocatedText | None = None
    """Of the steps of the row."""

    def read(self, cells: Mapping[str, LocatedText]) -> None:
        self.timeout = cells.get("timeout")
        if "preconditions" in cells:
            for sentence in _split(cells["preconditions"].text):
                self._begin(sentence.text, cells["preconditions"].place)
        steps: dict[int, int] = {}
        if "steps" in cells:
            for order, sentence in enumerate(_split(cells["steps"].text), 1):
                self._step(sentence.text, cells["steps"].place)
                steps[sentence.number or order] = len(self.draft.steps) - 1
        if "expected" in cells:
            for sentence in _split(cells["expected"].text):
                at = steps.get(sentence.number or 0, len(self.draft.steps) - 1)
                self._expect(sentence.text, cells["expected"].place, at)

    def _begin(self, text: str, place: SourceLocation) -> None:
        """Read a precondition: the page that it begins on, or the login."""
        match self._parse(text, place):
            case step_phrases.ParsedPage(where) | step_phrases.ParsedAction("navigate", value=str(where)):
                self.draft.url = LocatedText(where, place)
            case step_phrases.ParsedSignIn(task):
                self.draft.login = LocatedText(task, place)
            case None:
                pass
            case _:
                fix = 'name the page (`I am on /login`) or the login (`I am signed in with "login"`)'
                self._problem(place, text, "no page and no login", fix)

    def _step(self, text: str, place: SourceLocation) -> None:
        match self._parse(text, place):
            case step_phrases.ParsedAction("navigate", value=str(where)) if (
                not self.draft.steps and self.draft.url is None
            ):
                self.draft.url = LocatedText(where, place)
            case step_phrases.ParsedPage(where) if not self.draft.steps and where.startswith(("/", "http")):
                self.draft.url = LocatedText(where, place)
            case step_phrases.ParsedAction(action, element, region, value):
                self.draft.steps.append(
                    StepDraft(
                        place=place,
                        element=LocatedText(quote_name(element), place) if element else None,
                        region=LocatedText(region, place) if region else None,
                        action=LocatedText(action, place),
                        value=LocatedText(value, place) if value is not None else None,
                        timeout=self.timeout,
                        exact=value is not None,
                    )
                )
            case step_phrases.ParsedOutcome(outcomes):
                self._add(outcomes, place, len(self.draft.steps) - 1)
            case None:
                pass
            case _:
                self._problem(place, text, "no act and no outcome", "write what is done, such as: Click Save")

    def _expect(self, text: str, place: SourceLocation, at: int) -> None:
        match self._parse(text, place):
            case step_phrases.ParsedOutcome(outcomes):
                self._add(outcomes, place, at)
            case step_phrases.ParsedPage(where):
                self._add(
                    (ExpectedOutcome(kind="navigates_to", said=f"navigates_to:{where}", value=where),),
                    place,
                    at,
                )
            case None:
                pass
            case _:
                fix = "write what the page shows, such as: The message `Saved` appears"
                self._problem(place, text, "no expected outcome", fix)

    def _add(self, outcomes: tuple[ExpectedOutcome, ...], place: SourceLocation, at: int) -> None:
        if at < 0:
            self.draft.steps.append(StepDraft(place=place, timeout=self.timeout, outcomes=outcomes))
        else:
            self.draft.steps[at] = self.draft.steps[at].expecting(*outcomes)

    def _parse(self, text: str, place: SourceLocation) -> step_phrases.ParsedPhrase | None:
        if text.strip().rstrip(".").casefold() in _NOTHING:
            return None
        try:
            return parse_sentence(text)
        except step_phrases.PhraseNotUnderstood as exc:
            self._problem(place, text, exc.message, exc.fix)
            return None

    def _problem(self, place: SourceLocation, text: str, message: str, fix: str) -> None:
        self.problems.append(RequirementProblem(place, f"{excerpt(text.strip())!r}: {message}", fix))


def _split(cell: str) -> Iterator[_Sentence]:
    """Yield the sentences of a cell: its lines, or the numbered items of one line."""
    lines = [line for line in cell.splitlines() if line.strip()]
    if len(lines) == 1 and re.match(r"\s*1[.)]\s", lines[0]):
        lines = _INLINE.split(lines[0])
    for line in lines:
        found = _NUMBERED.fullmatch(line)
        text, number = (found["text"], found["number"]) if found else (line, None)
        parts = text.split(";") if canonical(text.partition(":")[0].strip()) else [text]
        for part in parts:
            yield _Sentence(part.strip(), int(number) if number else None)
