"""The options of `periplus run`, as its command and what performs it exchange them."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from agent.inferencer import ModelInferencer
    from kb_schema.explorations import Danger
    from kb_schema.objectives import Objective
    from kb_schema.read_backs import ReadBackStatus
    from kb_store import Stores
    from kb_store.runs.run_store import RunStore
    from periplus.commands.run_sentence import SentenceChoice
    from periplus.runs.sentence_jobs import SentenceJob
    from periplus.session_setup.browser_options import BrowserOptions

StoreContexts = tuple[AbstractAsyncContextManager["Stores"], AbstractAsyncContextManager["RunStore"]]
"""The contexts that open the knowledge stores and the run store."""


@dataclass(frozen=True, slots=True)
class RunOptions:
    """The options of the command line."""

    task: str | None
    goal: str | None
    resume: str | None
    undo: str | None
    values: Mapping[str, str]
    website: str | None
    base_url: str | None
    browser: BrowserOptions
    decided: ReadBackStatus | None
    """Whether the uncertain step took effect, according to the person."""
    step_timeout_s: float | None
    objective: Objective | None
    model: str | None = None
    """The language model that `--model` names."""
    page_text: bool | None = None
    pictures: bool = True
    trace: bool = False
    allowed: frozenset[Danger] = frozenset()
    """Deeds that a task's controls may do although the page asks first."""
    opened: ModelInferencer | None = None
    """The model, if it was asked for a plan already: the run has one budget."""
    job: SentenceJob | None = None
    """A job in words that no task does."""

    def meaning(self, choice: SentenceChoice) -> RunOptions:
        """Return the options with what a sentence means; values of `--input` win."""
        task_id = None if choice.task is None else choice.task.task_id
        return replace(
            self,
            task=task_id,
            website=choice.website_id,
            job=choice.job,
            opened=choice.model,
            values={**choice.values, **self.values},
        )

    @property
    def name(self) -> str:
        """Return a name for the output folder."""
        if self.resume is not None or self.undo is not None:
            return f"resume-{self.resume}" if self.undo is None else f"undo-{self.undo}"
        return "sentence" if self.job is not None else self.task or f"to-{self.goal}"
