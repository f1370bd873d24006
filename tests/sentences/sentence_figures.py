"""Counts how sentences are bound: `python -m tests.sentences.sentence_figures` prints the figures and each difference."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import yaml
from rich.console import Console

from agent.sentences.sentence_binding import SentenceMeaning, bind_sentence
from agent.sentences.task_phrases import Work
from kb_schema.tasks import Task
from seeds import spadeworks

HERE = Path(__file__).parent
APPLICATIONS = ("spadeworks", "trac", "roundup")
NO_TASK = frozenset(["ask", "none"])
SEED = Path(spadeworks.__file__).parent / "kb" / "tasks"


@dataclass(slots=True)
class SentenceFigures:
    """How many sentences were bound how. The keys of `counts`: right, wrong, asked, refused."""

    bindable: Counter[str] = field(default_factory=Counter)
    """Sentences whose task is known, with all its values."""
    others: Counter[str] = field(default_factory=Counter)
    """Sentences that mean no task, or must be asked about; `right` if nothing was bound."""
    notes: list[str] = field(default_factory=list)

    def add(self, expected: str, values: dict[str, object], meaning: SentenceMeaning) -> None:
        """Count one sentence."""
        counts = self.others if expected in NO_TASK else self.bindable
        found = meaning.task
        if found is None:
            outcome = "asked" if meaning.similar else "refused"
        elif found.task_id == expected and _as_text(found.values) == _as_text(values):
            outcome = "right"
        else:
            outcome = "wrong"
        counts[outcome] += 1
        if outcome == "wrong" or (expected not in NO_TASK and outcome != "right"):
            shown = "" if found is None else f" {found.task_id} {found.values}"
            self.notes.append(f"{outcome}: {meaning.sentence!r} expected {expected} {values}, got{shown}")


def _as_text(values: dict[str, object] | dict[str, str | list[str]]) -> dict[str, object]:
    return {name: value if isinstance(value, list) else str(value) for name, value in values.items()}


def read_works(application: str) -> list[Work]:
    """Return the tasks of the seed, or those that a map drafted."""
    if application == "spadeworks":
        documents = [yaml.safe_load(each.read_text(encoding="utf-8")) for each in sorted(SEED.glob("*.yaml"))]
        return [Task.model_validate(each) for each in documents]
    listed = yaml.safe_load((HERE / f"{application}_tasks.yaml").read_text(encoding="utf-8"))
    step = {"action": {"action_type": "click", "element_selector": "send"}}
    return [
        Task.model_validate(
            {key: each[key] for key in ("task_id", "name", "description")}
            | {
                "type": "task",
                "website_id": application,
                "io_spec": {"inputs": each["inputs"]},
                "steps": [step],
            }
        )
        for each in listed
    ]


def measure_written_sentences() -> SentenceFigures:
    """Return the figures of the sentences that were written down."""
    figures = SentenceFigures()
    for application in APPLICATIONS:
        works = read_works(application)
        for sentence, expected, *values in yaml.safe_load(
            (HERE / f"{application}.yaml").read_text(encoding="utf-8")
        ):
            figures.add(expected, values[0] if values else {}, bind_sentence(sentence, works))
    return figures


def main() -> None:
    """Print the figures."""
    console = Console(highlight=False, markup=False, soft_wrap=True)
    figures = measure_written_sentences()
    console.print("task known:", dict(figures.bindable))
    console.print("none or ask:", dict(figures.others))
    console.print(*figures.notes, sep="\n")


if __name__ == "__main__":
    main()
