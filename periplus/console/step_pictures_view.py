"""The pictures of a run's steps, what the page logged and requested in each, and the bar of durations above them."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from pydantic import ValidationError

from kb_schema.run_records import Artifact, RunResult, StepRecord, StoredStep
from kb_schema.step_pictures import PageLine, PictureFile, StepPictures
from periplus.console.run_artifacts import ArtifactPicture, find_artifact, picture
from periplus.console.template_filters import format_duration

STEP_PICTURES = "step_pictures"
"""The type of the artifact."""
BAR_WIDTH, SHORTEST_PART = 1_000.0, 4.0
MARKS = {"request": "", "console": "", "failed": "warn", "error": "bad"}


@dataclass(frozen=True, slots=True)
class PageLineView:
    """One line of the page."""

    kind: str
    text: str
    at: str
    mark: str


@dataclass(frozen=True, slots=True)
class StepView:
    """What was seen at one step; `before` and `after` are names of pictures, or empty."""

    before: str = ""
    after: str = ""
    lines: tuple[PageLineView, ...] = ()
    left_out: int = 0
    evidence: tuple[str, ...] = ()
    """What was expected after the step, and what was found."""


@dataclass(frozen=True, slots=True)
class BarPart:
    """One step in the bar of durations; `x` and `width` out of 1,000."""

    number: int
    x: float
    width: float
    status: str
    said: str


@dataclass(frozen=True, slots=True)
class StepPictureList:
    """The list of a run, and the folder with its pictures."""

    steps: tuple[StepPictures, ...]
    folder: Path

    def find(self, name: str) -> ArtifactPicture | None:
        """Return a picture that is as it was listed; None for any other."""
        wanted = next(
            (each for step in self.steps for each in (step.before, step.after) if each and each.name == name),
            None,
        )
        found = None if wanted is None else picture(self.folder, wanted.name)
        if found is None or wanted is None:
            return None
        return found if hashlib.sha256(found.content).hexdigest() == wanted.sha256 else None


def read_step_pictures(artifacts: Sequence[Artifact]) -> StepPictureList | None:
    """Return the list of a run; None if there is none, or it was changed."""
    for each in artifacts:
        file = find_artifact(each) if each.artifact_type == STEP_PICTURES else None
        if file is None or not file.is_file():
            continue
        try:
            lines = file.read_text(encoding="utf-8").splitlines()
            return StepPictureList(tuple(map(StepPictures.model_validate_json, lines)), file.parent)
        except (OSError, ValidationError):
            return None
    return None


def read_step_records(artifacts: Sequence[Artifact]) -> tuple[StepRecord, ...]:
    """Return the steps of a run's result with their evidence; empty if there is none, or it was changed."""
    for each in artifacts:
        file = find_artifact(each) if each.artifact_type == "result" else None
        if file is None or not file.is_file():
            continue
        try:
            return RunResult.model_validate_json(file.read_text(encoding="utf-8")).steps
        except (OSError, ValidationError):  # a demo's result is another one
            return ()
    return ()


def build_step_views(
    steps: Sequence[StoredStep], kept: StepPictureList | None, records: Sequence[StepRecord]
) -> Mapping[int, StepView]:
    """Return what was seen by `step_idx`. A run that was resumed has pictures of its last part only."""
    found: dict[int, StepView] = {}
    pictures, judged = list(kept.steps) if kept is not None else [], list(records)
    for step in reversed(steps):
        name, view = (step.task_id, step.step_id), StepView()
        if pictures and (pictures[-1].task_id, pictures[-1].step_id) == name:
            view = _build_view(pictures.pop())
        if judged and (judged[-1].task_id, judged[-1].step_id) == name:
            view = replace(view, evidence=judged.pop().evidence)
        if view != StepView():
            found[step.step_idx] = view
    return found


def build_bar(steps: Sequence[StoredStep]) -> list[BarPart]:
    """Return the parts of the bar: each step as wide as its share of the time, and never too narrow to see."""
    total = sum(each.duration_ms for each in steps)
    widths = [max(SHORTEST_PART, BAR_WIDTH * each.duration_ms / (total or 1.0)) for each in steps]
    scale, x, parts = BAR_WIDTH / (sum(widths) or 1.0), 0.0, []
    for step, width in zip(steps, widths, strict=True):
        said = f"{step.step_idx + 1}. {step.step_id.replace('_', ' ')}: {format_duration(step.duration_ms)}"
        parts.append(BarPart(step.step_idx + 1, round(x, 2), round(width * scale, 2), step.status, said))
        x += width * scale
    return parts


def _build_view(step: StepPictures) -> StepView:
    return StepView(_name(step.before), _name(step.after), tuple(map(_build_line, step.lines)), step.left_out)


def _name(file: PictureFile | None) -> str:
    return "" if file is None else file.name


def _build_line(line: PageLine) -> PageLineView:
    mark = MARKS[line.kind]
    if line.kind == "console" and line.text.startswith("error:"):
        mark = "bad"
    return PageLineView(line.kind, line.text, format_duration(line.at_ms), mark)
