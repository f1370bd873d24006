"""Reports what was done on the page as events, with everything that a trace needs and without secrets."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from agent.events import ActionDone, AddressOpened
from agent.session import Session
from kb_schema import action_types
from kb_schema.action_calls import ActionCall
from kb_schema.execution_traces import BY_KNOWLEDGE, ELEMENT_ID, LOCATED_BY
from kb_schema.selectors import Selector
from kb_schema.url_patterns import resolve


@dataclass(slots=True)
class ActionReport:
    """What becomes known of an action while it is performed."""

    metadata: dict[str, Any] = field(default_factory=dict)
    """The keys of `kb_schema.step_metadata`."""
    value: str | None = None
    """What it read from the page."""


@asynccontextmanager
async def report_action(
    session: Session,
    name: str,
    call: ActionCall,
    selector: Selector | None,
    *,
    secret: bool,
    boundary: bool = False,
) -> AsyncIterator[ActionReport]:
    """Report the action in the body as `ActionDone`, whether it succeeds or fails.

    `boundary`: a person acts there (MA 7). Yields what the body may add to.
    """
    if session.pictures is not None:
        await session.pictures.finish()
    url_before = session.page.url
    html_before = (await session.snapshot()).html if session.bus.pages else None
    session.forget_answers()
    started, error = time.monotonic(), None
    report = ActionReport({ELEMENT_ID: call.target} if isinstance(call.target, str) else {})
    if selector is not None:
        report.metadata[LOCATED_BY] = BY_KNOWLEDGE
    if secret:
        report.metadata["secret"] = True
    try:
        yield report
    except BaseException as exc:
        error = str(exc) or type(exc).__name__
        raise
    finally:
        session.touched(screen=action_types.ACTION_TYPES[name].may_lead_on)
        redact = session.context.redact
        session.bus.tell(
            ActionDone(
                action_type=name,
                target=True if boundary else (None if selector is None else redact(selector.to_json())),
                args={} if boundary else redact(_list_args(session, call)),
                url_before=redact(url_before),
                url_after=redact(session.page.url),
                html_before=html_before,
                html_after=None,
                duration_ms=(time.monotonic() - started) * 1000,
                error=redact(error),
                metadata=redact(report.metadata),
                value=redact(report.value),
                beside=session.beside,
                reasoning=redact(session.reasoning),
            )
        )


@asynccontextmanager
async def report_opening(session: Session, url: str) -> AsyncIterator[None]:
    """Report that the body opens an address, as `AddressOpened`."""
    if session.pictures is not None:
        await session.pictures.finish()
    url_before = session.page.url
    began_blank = url_before.startswith("about:")  # there is no page before the first one
    html_before = (await session.snapshot()).html if session.bus.pages and not began_blank else None
    started, error = time.monotonic(), None
    try:
        yield
    except BaseException as exc:
        error = str(exc) or type(exc).__name__
        raise
    finally:
        redact = session.context.redact
        session.bus.tell(
            AddressOpened(
                redact(url),
                redact(url_before),
                redact(session.page.url),
                html_before,
                (time.monotonic() - started) * 1000,
                redact(error),
                session.beside,
            )
        )


def _list_args(session: Session, call: ActionCall) -> dict[str, Any]:
    """Return the arguments of an action, by the names that recordings use."""
    address = None
    if call.url is not None:
        address = resolve(call.url, authored_base=session.website.base_url, base=session.base_url)
    told = {
        "value": call.value,
        "url": address,
        "modifiers": [*call.modifiers] or None,
        "place": None if call.place is None else [*call.place],
        "drop": None if call.drop is None else call.drop.to_json(),
        "on_dialog": None if call.on_dialog is None else call.on_dialog.model_dump(exclude_none=True),
        "new_tab": call.new_tab,
        "download": call.download,
    }
    return {key: value for key, value in told.items() if value is not None}
