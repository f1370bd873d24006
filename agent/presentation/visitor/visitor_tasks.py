"""Tasks that visitors may run with their own words and values: those that the flow names, found without a language model.

A sentence is bound as by `periplus run`: every word must be explained, and all values must be there. Anything else is a
request like any other.
"""

from __future__ import annotations

from agent.errors import UnknownToKnowledge
from agent.sentences.sentence_binding import BoundTask, bind_sentence
from agent.session import Session
from kb_schema.presentation_flows import PresentationFlow
from kb_schema.secret_fields import is_secret_name
from kb_schema.tasks import Task
from kb_schema.workflows import Workflow


class VisitorTasks:
    """The tasks of one presentation."""

    def __init__(self, session: Session, flow: PresentationFlow) -> None:
        self._session, self._names = session, flow.visitor_tasks
        self._works: list[Task | Workflow] | None = None

    async def find(self, text: str) -> BoundTask | None:
        """Return the task that a visitor's words ask for, with its values; None if they ask for none."""
        if not self._names:
            return None
        if self._works is None:
            self._works = [await self._read(name) for name in self._names]
        found = bind_sentence(text.strip(), self._works).task
        if found is None or any(map(is_secret_name, found.values)):
            return None
        for value in found.values.values():
            for each in [value] if isinstance(value, str) else value:
                self._session.context.personal.keep(each)  # the visitor's own words
        return found

    async def _read(self, name: str) -> Task | Workflow:
        try:
            return await self._session.knowledge.task(name)
        except UnknownToKnowledge:
            return await self._session.knowledge.workflow(name)


def describe_values(task: BoundTask) -> str:
    """Return the values of a task in words; empty if it has none.

    >>> describe_values(BoundTask(task_id="t", name="T", values={"agent_name": "Ada", "tags": ["a", "b"]}))
    'agent name “Ada”, tags “a, b”'
    """
    said = {
        name: value if isinstance(value, str) else ", ".join(value) for name, value in task.values.items()
    }
    return ", ".join(f"{name.replace('_', ' ')} “{value}”" for name, value in said.items())
