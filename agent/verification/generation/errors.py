"""Why tests are not written, each with the place and what to do."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from kb_schema.verification import PlanStep


class NotGenerated(Exception):
    """No file was written. The text says what to change first."""


class CannotBeWritten(NotGenerated):
    """One step of a plan cannot be written as a test."""

    def __init__(self, step: PlanStep, reason: str) -> None:
        self.step, self.reason = step, reason
        where = str(step.intent.place) or f"step {step.step_idx + 1}"
        super().__init__(f"{where}: {step.intent.intent or step.intent.action!r}: {reason}")


class PlansIncomplete(NotGenerated):
    """Something is missing in the plans: a test contains only elements that were found on the page."""

    def __init__(self, problems: Sequence[str]) -> None:
        self.problems = tuple(problems)
        super().__init__("; ".join(self.problems))


class ChangedByHand(NotGenerated):
    """Files were changed by hand since they were generated, or were never generated."""

    def __init__(self, folder: Path, files: Sequence[str]) -> None:
        self.folder, self.files = folder, tuple(files)
        names = ", ".join(self.files)
        super().__init__(
            f"{folder}: {names} changed since {'it was' if len(files) == 1 else 'they were'} generated "
            f"-> keep the changes in a file of another name and delete the changed one, or generate into another folder"
        )


class FileMissing(NotGenerated):
    """A file that a step uploads is not there."""

    def __init__(self, step: PlanStep, tried: Sequence[Path]) -> None:
        self.step, self.tried = step, tuple(tried)
        where = str(step.intent.place) or f"step {step.step_idx + 1}"
        told = ", ".join(str(each) for each in self.tried)
        super().__init__(
            f"{where}: there is no file {step.intent.value!r} (looked at {told}) -> put it there"
        )
