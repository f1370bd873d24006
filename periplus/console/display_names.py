"""Names of tasks, screens and flows on pages; without knowledge of the website, their ids as words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from kb_schema.knowledge_base import KnowledgeBase
from kb_schema.run_records import StoredRun, StoredStep
from periplus.console.run_labels import format_id_words


class DisplayNames:
    """Display names from the knowledge."""

    def __init__(self, knowledge: KnowledgeBase | None) -> None:
        self._tasks = {} if knowledge is None else knowledge.tasks
        self._screens = {} if knowledge is None else knowledge.screens
        self._flows = {} if knowledge is None else knowledge.flows
        self._workflows = {} if knowledge is None else knowledge.workflows

    def knows_task(self, task_id: str) -> bool:
        """Return whether there is a task of this id."""
        return task_id in self._tasks

    def knows_screen(self, screen_id: str | None) -> bool:
        """Return whether there is a screen of this id."""
        return screen_id in self._screens

    def task(self, task_id: str) -> str:
        """Return the name of a task."""
        task = self._tasks.get(task_id)
        return task.name if task is not None and task.name else format_id_words(task_id)

    def screen(self, screen_id: str | None) -> str:
        """Return the name of a screen."""
        screen = self._screens.get(screen_id or "")
        return screen.name if screen is not None and screen.name else format_id_words(screen_id)

    def subject(self, run: StoredRun) -> str:
        """Return the name of what a run is about."""
        if run.kind == "goal":
            return self.screen(run.subject)
        title = run.outputs.get("title")
        if run.kind == "verification" and isinstance(title, str) and title:
            return f"{run.subject}: {title}"
        return self.named(run.subject)

    def named(self, subject: str) -> str:
        """Return the name of a task, workflow or flow."""
        known = self._tasks.get(subject) or self._workflows.get(subject) or self._flows.get(subject)
        return known.name if known is not None and known.name else subject

    def doing(self, step: StoredStep) -> str:
        """Return a description such as `click: save`."""
        action = format_id_words(step.action) or "step"
        return f"{action}: {format_id_words(step.element)}" if step.element else action


def subject_name(knowledge: KnowledgeBase | None, run: StoredRun) -> str:
    """Return the display name of the run's task, requirement or flow."""
    return DisplayNames(knowledge).subject(run)


def site_name(knowledge: KnowledgeBase | None, website_id: str) -> str:
    """Return the name of a website; its id without knowledge."""
    return website_id if knowledge is None else knowledge.website.name or website_id


def tell_apart(names: Mapping[str, str]) -> dict[str, str]:
    """Return names by id, with the id where several have the same name."""
    often = Counter(names.values())
    return {
        key: f"{name} ({key})" if often[name] > 1 and name != key else name for key, name in names.items()
    }
