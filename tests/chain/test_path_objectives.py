"""By what paths are chosen is said by a person, by the task, or by the settings, in this order (KS 9.6)."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from agent.events import TransitionTaken
from agent.execution.task_runner import TaskRunner
from kb_schema import parse_document
from kb_schema.documents import Document
from periplus.session_setup import open_fresh_context, open_session
from tests.support.small_sites import (
    WEBSITE,
    Answered,
    Asked,
    RunningSite,
    opened_stores,
    running_site,
)


def _answer(asked: Asked) -> Answered:
    name = {"/": "Home", "/middle": "Middle", "/end": "End"}.get(asked.path, "")
    links = "".join(f"<a id={each} href=/{each}>{each}</a> " for each in ("middle", "end"))
    return Answered(f"<title>{name}</title><h1>{name}</h1>{links}")


@pytest.fixture
def site() -> Iterator[RunningSite]:
    with running_site(_answer) as found:
        yield found


def _screen(name: str, path: str) -> dict[str, object]:
    return {
        "type": "screen", "screen_id": name, "name": name, "url_patterns": [f"^{path}$"],
        "state_signature": {"required_indicators": [{"type": "dom_element", "selector": "h1"}]},
    }  # fmt: skip


def _edge(start: str, goal: str, ms: int, reliability: float) -> dict[str, object]:
    return {
        "type": "transition", "transition_id": f"{start}_to_{goal}", "from_screen": start, "to_screen": goal,
        "triggered_by": {"action_type": "click", "target": f"#{goal}"},
        "cost": {"estimated_ms": ms}, "reliability_score": reliability,
    }  # fmt: skip


def _documents(objective: str | None) -> list[Document]:
    """The direct transition is slow, the two around it are fast and fail more often."""
    task = {
        "type": "task", "task_id": "visit", "name": "Visit",
        "steps": [{"step_id": "go", "action": {"action_type": "navigate", "target_screen": "end"}}],
        **({"objective": objective} if objective else {}),
    }  # fmt: skip
    raw = [
        _screen("home", "/"), _screen("middle", "/middle"), _screen("end", "/end"),
        _edge("home", "end", 9_000, 0.99), _edge("home", "middle", 100, 0.9), _edge("middle", "end", 100, 0.9), task,
    ]  # fmt: skip
    return [parse_document({"website_id": WEBSITE, **each}) for each in raw]


DIRECT, AROUND = ["home_to_end"], ["home_to_middle", "middle_to_end"]


@pytest.mark.parametrize(
    ("option", "task", "setting", "taken"),
    [
        (None, None, None, AROUND),
        (None, None, "reliable", DIRECT),
        (None, "reliable", "fastest", DIRECT),
        ("fewest", "fastest", "fastest", DIRECT),
        ("fastest", "reliable", None, AROUND),
    ],
    ids=["usual", "setting", "task before setting", "option before task", "option fastest"],
)
async def test_the_objective_of_the_person_goes_before_that_of_the_task_and_of_the_settings(
    browser, site, tmp_path, monkeypatch, option, task, setting, taken
):
    if setting is not None:
        monkeypatch.setenv("PERIPLUS_OBJECTIVE", setting)
    told: list[str] = []
    async with (
        opened_stores(site, tmp_path, *_documents(task)) as stores,
        open_fresh_context(browser) as context,
        open_session(stores, context, WEBSITE, base_url=site.base, objective=option) as session,
    ):
        session.bus.listen(
            lambda event: told.append(event.transition_id) if isinstance(event, TransitionTaken) else None
        )
        result = await TaskRunner(session).run_task("visit")
        assert session.task_objective is None, "it ends with its task"
    assert result.complete, result.error
    assert told == taken
