"""A run that ends in the middle, as a crash would end it, and the life it has afterwards."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Coroutine, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

from playwright.async_api import Browser

from agent.events import Event, StepEnded, StepStarted
from agent.execution.persistence.checkpoint_state import CheckpointState
from agent.execution.persistence.checkpoints import CheckpointWriterPort
from agent.execution.task_runner import TaskRunner
from agent.healing.element_memory import ElementMemory
from agent.page import in_page_library
from agent.presentation.page_overlay import PageOverlay
from agent.run_context import RunContext
from agent.session import Session
from kb_schema.run_records import RunResult


async def cut_off(
    session: Session, kept: CheckpointWriterPort, task_id: str, given: Mapping[str, Any], at: int
) -> bool:
    """Run a task until the beginning or end of a step of that number, and end it there; whether it
    came to that.
    """
    return await ended_at(session, TaskRunner(session, keeping=kept).run_task(task_id, given), at)


async def ended_at(session: Session, work: Coroutine[Any, Any, RunResult], at: int) -> bool:
    """The same for any work on a session."""
    seen, reached = 0, asyncio.Event()

    def count(event: Event) -> None:
        nonlocal seen
        if isinstance(event, StepStarted | StepEnded):
            seen += 1
            if seen == at:
                reached.set()

    session.bus.listen(count)
    running = asyncio.create_task(work)
    cut = asyncio.create_task(reached.wait())
    done, _ = await asyncio.wait({running, cut}, return_when=asyncio.FIRST_COMPLETED)
    cut.cancel()
    if running in done:
        return False
    running.cancel()
    await asyncio.wait({running})
    return True


async def kept_state(kept: CheckpointWriterPort, session: Session) -> CheckpointState:
    """What the last checkpoint says."""
    found = await kept.checkpoint(session.context.run_id)
    assert found is not None
    return CheckpointState.model_validate(found.state)


@asynccontextmanager
async def another_life(
    session: Session, browser: Browser, state: CheckpointState | None = None
) -> AsyncIterator[Session]:
    """The same run in a new browser that knows nothing but what was kept."""
    context = await browser.new_context(
        viewport={"width": 1280, "height": 720}, storage_state=state.storage if state else None
    )
    try:
        await in_page_library.install(context)
        await PageOverlay.install(context)
        yield replace(
            session,
            page=await context.new_page(),
            context=RunContext(
                run_id=session.context.run_id, global_values=dict(session.context.global_values)
            ),
            memory=ElementMemory(session.website.website_id),
            last_known=None,
            current=None,
            _stale=True,
        )
    finally:
        await context.close()
