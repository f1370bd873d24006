"""The interfaces that the service uses: verifying a requirement, and checking that a browser starts."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from typing import Protocol

from agent.events import Event
from agent.execution.stop_request import StopRequest
from kb_schema.verification import Requirement, VerdictReport

STOPPED = "stopped:"
"""Prefix of the note in a report of a run that was stopped before its end."""


@dataclass(frozen=True, slots=True)
class SiteGrant:
    """What a submitted requirement may use of its website."""

    website_id: str | None = None
    """The website in the knowledge base; None: the host."""
    origins: tuple[str, ...] = ()
    """Where its secrets may be typed, beside the origin of its address."""
    secrets: Mapping[str, str] = field(default_factory=dict, repr=False)
    """By the name in `{secret:NAME}`."""


NO_SITE = SiteGrant()

GrantReader = Callable[[Requirement], Awaitable[SiteGrant]]
"""Returns what a requirement may use. Raises `UserError`."""


async def grant_nothing(requirement: Requirement) -> SiteGrant:  # noqa: ARG001 - a `GrantReader`
    """Grant a requirement no secrets."""
    return NO_SITE


class VerifierPort(Protocol):
    """Verifies requirements, several at a time, each isolated from the others.

    The implementation with a browser is `periplus.verification.requirement_verifier`. With the `run_id` of an
    interrupted run it resumes that run, or starts it again.
    """

    async def verify(
        self, requirement: Requirement, *, run_id: str, tell: Callable[[Event], None], stop: StopRequest
    ) -> VerdictReport:
        """Return the verdict. `tell` receives events and returns at once.

        If `stop` ends it early, it raises `agent.execution.stop_request.RunStopped`, or a note of the report
        begins with `STOPPED`.
        """


class SubmissionVerifierPort(Protocol):
    """Verifies requirements that clients submitted, as `VerifierPort` does."""

    async def verify(
        self,
        requirement: Requirement,
        *,
        run_id: str,
        tell: Callable[[Event], None],
        stop: StopRequest,
        site: SiteGrant = NO_SITE,
    ) -> VerdictReport:
        """Return the verdict, as `VerifierPort.verify`. `site`: what the requirement may use of its website."""


VerifierOpener = Callable[[], AbstractAsyncContextManager[SubmissionVerifierPort]]
"""Opens a verifier when the first run starts; it is closed when the service stops."""


class BrowserCheck(Protocol):
    """Checks whether a browser starts."""

    async def __call__(self) -> str | None:
        """Return why no browser starts; None if one does."""
