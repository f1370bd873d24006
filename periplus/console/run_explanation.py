"""Explanations of failed runs: a sentence, the causes and what to do.

The causes come from `explain_failure` of the knowledge server and from a verdict's root cause.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from kb_schema.knowledge_base import KnowledgeBase
from kb_schema.page_snapshots import PageSnapshot
from kb_schema.run_records import StoredRun
from kb_schema.tool_answers import FailureCause, FailureExplanation
from kb_schema.verification import RootCause
from mcp_server.errors import KnowledgeServerError
from mcp_server.failures.error_names import UNKNOWN
from mcp_server.identification.client_pages import ClientPage
from mcp_server.server_context import ServerContext
from mcp_server.tools.failure_tools import explain_failure
from periplus.console.run_labels import format_error_line, format_id_words, shorten_value
from periplus.console.run_view_models import RunPageView

LONGEST = 400
"""Maximum number of characters of an error in the sentence."""
_QUOTED = re.compile(r"'([A-Za-z0-9_.-]+)'")
_LEAD: Mapping[str, str] = {
    "worked": "Succeeded",
    "unverified": "Done, not verified",
    "partly": "Partly succeeded",
    "failed": "Failed",
    "needs_person": "Stopped because a person is needed",
}
_STANDING: Mapping[str | None, str] = {
    "queued": "Queued",
    "running": "Running",
    "cancelling": "Stopping",
    None: "Interrupted: no process is executing it",
}
_TO_DO: Mapping[str, str] = {
    "already_done": "Do not repeat it: check the result and continue from there.",
    "covered_by_overlay": "Close the overlay first: the website's `overlays` describe how.",
    "element_covered": "Find out what covers the element, and add it to the website's `overlays`.",
    "element_disabled": "Find out what must be filled in or selected first, and add it as a step or a precondition.",
    "element_hidden": "Find out what shows the element (a menu, a tab, scrolling), and add that as a step.",
    "element_missing": "Check whether the page has changed: accept the proposal, or correct the element's selector.",
    "element_not_unique": "Make the element's selector more specific, so that it matches one element.",
    "element_unstable": "Add a trigger to the step to wait for: the page was still changing.",
    "network": "Check that the site is reachable from this machine, then run it again.",
    "page_not_found": "Check whether the address has changed, and correct it in the knowledge base.",
    "precondition": "Fulfil the precondition, or name a task that does, then run it again.",
    "server_error": "The site itself failed: report it to its operator, and run it again later.",
    "signed_out": "Sign in again (give the inputs of the sign-in task), then run it again.",
    "timeout": "Run it again; if it stays slow, increase the step's timeout.",
    "too_early": "Add a trigger to the step to wait for: the page had not loaded.",
    "too_slow": "Run it again; if it stays slow, increase the step's timeout.",
    "unknown_screen": "Map the page or add it as a screen: it is not in the knowledge base.",
    "unreliable_transition": "Use another transition: this one often fails.",
    "validation": "Correct the inputs: the page's message says what is invalid.",
    "wrong_screen": "Check why another screen was open: the transition may have changed.",
}
"""Cause -> what to do about it."""


@dataclass(frozen=True, slots=True)
class ExplainedCause:
    """One possible cause."""

    kind: str
    message: str
    confidence: float
    evidence: tuple[str, ...]
    to_do: str


@dataclass(frozen=True, slots=True)
class RunExplanation:
    """The explanation at the top of a run's page."""

    sentence: str
    """A summary in one sentence."""
    to_do: str
    causes: tuple[ExplainedCause, ...] = ()
    """The most likely first."""
    error: str = ""
    """The recorded error."""
    may_have_happened: bool = False
    """Whether the failed step may have taken effect."""
    note: str = ""
    """Why there is no further explanation."""


def explain_run(
    page: RunPageView,
    run: StoredRun,
    explained: FailureExplanation | None = None,
    root: RootCause | None = None,
    note: str = "",
    knowledge: KnowledgeBase | None = None,
    standing: str | None = None,
) -> RunExplanation:
    """Return the explanation of a run.

    `knowledge` has the display names of ids. `standing` is the state of an unfinished run
    (`RunQueue.where_at_all`); None: no process is executing it.
    """
    if page.outcome == "open":
        return _explain_unfinished(page, run, standing)
    causes = tuple(_causes(explained, root, knowledge))
    likeliest = causes[0] if causes and causes[0].kind != UNKNOWN else None
    if page.outcome in ("worked", "unverified"):
        return RunExplanation(_explain_success(page), "")
    reason = (
        likeliest.message if likeliest is not None else _shorten_error(run.rca_message or run.error or "")
    )
    hint = run.hint or (root.recommendation if root is not None else "") or ""
    return RunExplanation(
        sentence=_sentence(page, reason),
        to_do=hint or (likeliest.to_do if likeliest is not None else ""),
        causes=causes,
        error=format_error_line(run.error),
        may_have_happened=explained is not None and explained.may_have_happened,
        note=note,
    )


def _explain_success(page: RunPageView) -> str:
    mended = "; some steps were healed or retried, see below" if page.mended or page.instead else ""
    outcome = {
        "verified": "Verified: the expected result was observed",
        "unverified": "Every step was done, but nothing seen in the application shows that it worked",
        "contradicted": "Succeeded, but the page contradicts the expected result",
    }.get(page.evidence, "Succeeded")
    return f"{outcome}{mended}."


def _explain_unfinished(page: RunPageView, run: StoredRun, standing: str | None) -> RunExplanation:
    last = page.steps[-1] if page.steps else None
    so_far = "" if last is None else f"; the last finished step is {last.number}, “{last.name}”"
    resumed = (
        f"Resume it with `periplus run --resume {run.run_id}`." if run.kind == "task" else "Run it again."
    )
    return RunExplanation(f"{_STANDING[standing]}{so_far}.", resumed if standing is None else "")


def _sentence(page: RunPageView, reason: str) -> str:
    lead, step = _LEAD[page.outcome], page.failed_step
    if step is not None:
        again = f", attempt {step.attempt}" if step.attempt > 1 else ""
        lead += f" at “{step.name}” (step {step.number}, {step.said}{again})"
    return f"{lead}: {reason.rstrip('.')}." if reason else f"{lead}."


def _causes(
    explained: FailureExplanation | None, root: RootCause | None, knowledge: KnowledgeBase | None
) -> list[ExplainedCause]:
    found = (
        []
        if root is None or root.class_ == "success"
        else [
            ExplainedCause(
                format_id_words(root.class_),
                root.message,
                root.confidence,
                root.evidence,
                root.recommendation,
            )
        ]
    )
    told = () if explained is None else explained.causes
    return found + [_build_cause(each, knowledge) for each in told]


def _build_cause(cause: FailureCause, knowledge: KnowledgeBase | None) -> ExplainedCause:
    return ExplainedCause(
        format_id_words(cause.cause),
        replace_ids_with_names(cause.message, knowledge),
        cause.confidence,
        tuple(replace_ids_with_names(each, knowledge) for each in cause.evidence),
        _TO_DO.get(cause.cause, ""),
    )


def replace_ids_with_names(text: str, knowledge: KnowledgeBase | None) -> str:
    """Return a message with the names of screens and tasks instead of quoted ids such as `'login'`."""
    if knowledge is None:
        return text

    def name(found: re.Match[str]) -> str:
        known = knowledge.screens.get(found[1]) or knowledge.tasks.get(found[1])
        return f"“{known.name}”" if known is not None and known.name else found[0]

    return _QUOTED.sub(name, text)


def _shorten_error(text: str) -> str:
    return shorten_value(format_error_line(text), LONGEST)


# -- the knowledge server --------------------------------------------------------------------------


async def request_explanation(
    knowledge_server: ServerContext, run: StoredRun, page: PageSnapshot | None
) -> tuple[FailureExplanation | None, str]:
    """Return the knowledge server's explanation of a failed run with its final page, or why there is none."""
    try:
        visit, note = await knowledge_server.open_request(run.website_id)
        shown = None if page is None else ClientPage.model_validate(page.model_dump(exclude_unset=True))
        with knowledge_server.guard.admitted("console"):
            reply = await explain_failure(knowledge_server, visit, run_id=run.run_id, snapshot=shown)
    except KnowledgeServerError as exc:
        return None, exc.message
    return reply.answer, note or ""
