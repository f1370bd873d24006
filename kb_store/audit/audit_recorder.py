"""Records what happens in the audit log of this process, in the name of who does it.

`use_audit_log` names the log; without one nothing is recorded. `acting_as` names who acts, for the current task
or thread and those it starts; else it is the caller of an MCP tool, else the user of the operating system.
"""

from __future__ import annotations

import asyncio
import re
import sys
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ParamSpec
from urllib.parse import urlsplit, urlunsplit

from kb_schema.operating_system import find_user_name
from kb_store.audit.audit_entry import LONGEST, AuditAction, AuditEvent

if TYPE_CHECKING:
    from kb_store.audit.audit_log import AuditLog

P = ParamSpec("P")

_URL = re.compile(r"[a-z][a-z0-9+.-]*://[^\s\"'<>]+", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class AuditActor:
    """Who acts, and in which request."""

    name: str
    request_id: str = ""


@dataclass(frozen=True, slots=True)
class _Target:
    log: AuditLog
    redact: Callable[[str], str]
    report: Callable[[str], None]


_ACTOR: ContextVar[AuditActor | None] = ContextVar("audit_actor", default=None)
_targets: list[_Target] = []
"""The log of this process, if there is one."""


def use_audit_log(
    log: AuditLog | None,
    redact: Callable[[str], str] = str,
    report: Callable[[str], None] = lambda text: print(text, file=sys.stderr),  # noqa: T201 - a command's error
) -> None:
    """Record in this log from now on; None: nowhere. `redact` removes secrets; `report` says that it cannot be written."""
    _targets[:] = [] if log is None else [_Target(log, redact, report)]


def current_audit_log() -> AuditLog | None:
    """Return the log of this process."""
    return _targets[0].log if _targets else None


def set_actor(name: str, request_id: str = "") -> None:
    """Name who acts from now on, in this task or thread and those it starts."""
    _ACTOR.set(AuditActor(name, request_id))


@contextmanager
def acting_as(name: str, request_id: str = "") -> Iterator[None]:
    """Name who acts inside the context."""
    token = _ACTOR.set(AuditActor(name, request_id))
    try:
        yield
    finally:
        _ACTOR.reset(token)


def current_actor() -> AuditActor:
    """Return who acts: the client of an MCP call, else the one that was named, else the system's user."""
    client = _find_mcp_client()
    if client is not None:
        return AuditActor(f"key {client}")
    return _ACTOR.get() or AuditActor(f"local:{find_user_name()}")


def build_event(
    action: AuditAction,
    about: str = "",
    *,
    outcome: str = "done",
    website: str = "",
    actor: str | None = None,
) -> AuditEvent:
    """Return the event with its actor, without secrets and query strings."""
    redact = _targets[0].redact if _targets else str
    who = current_actor()

    def clean(text: str) -> str:
        text = redact(_URL.sub(_strip_url, text)).encode("utf-8", "replace").decode()
        return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"

    return AuditEvent(
        action=action,
        actor=clean(who.name if actor is None else actor),
        about=clean(about),
        outcome=clean(outcome),
        website=clean(website),
        request_id=clean(who.request_id),
    )


def record(
    action: AuditAction,
    about: str = "",
    *,
    outcome: str = "done",
    website: str = "",
    actor: str | None = None,
) -> None:
    """Record an action in the log, if there is one. `actor` None: who acts now.

    A log that cannot be written stops nothing: it is reported.
    """
    target = _targets[0] if _targets else None
    if target is None:
        return
    try:
        target.log.append(build_event(action, about, outcome=outcome, website=website, actor=actor))
    except OSError as exc:
        target.report(f"the audit log cannot be written ({exc.strerror}); not recorded: {action}")


def _in_thread(function: Callable[P, None]) -> Callable[P, Coroutine[Any, Any, None]]:
    async def call(*args: P.args, **more: P.kwargs) -> None:
        if current_audit_log() is not None:
            await asyncio.to_thread(function, *args, **more)

    return call


record_async = _in_thread(record)
"""`record` in a thread, so that the event loop does not wait for other writers."""


def _strip_url(found: re.Match[str]) -> str:
    """Return a URL without user, password, query and fragment."""
    try:
        parts = urlsplit(found[0])
    except ValueError:
        return "(an invalid address)"
    return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", ""))


def _find_mcp_client() -> str | None:
    """Return the client whose MCP call this is; None outside of calls and for clients without a token."""
    module = sys.modules.get(
        "mcp.server.auth.middleware.auth_context"
    )  # not loaded: no server in this process
    token = None if module is None else module.get_access_token()
    return None if token is None else str(token.client_id)
