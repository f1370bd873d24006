"""Why a run did not come off, in a sentence first: what the desk's `explain_failure` and a verdict's root cause say.

The causes are theirs; here they become words for a person, with what to do about each.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from kb_schema.answers import Cause, Explanation
from kb_schema.knowledge import KnowledgeBase
from kb_schema.runs import StoredRun
from kb_schema.snapshots import PageSnapshot
from kb_schema.verification import RootCause
from mcp_server.desk import Desk
from mcp_server.errors import DeskError
from mcp_server.failures.errors import UNKNOWN
from mcp_server.tools.failing import explain_failure
from periplus.console.runs_views import RunPage
from periplus.console.runs_words import in_words, plain, short

LONGEST = 400
"""Characters of an error within the sentence."""
_QUOTED = re.compile(r"'([A-Za-z0-9_.-]+)'")
_LEAD: Mapping[str, str] = {
    "worked": "It worked",
    "partly": "It came off only in part",
    "failed": "It failed",
    "needs_person": "It stopped because it needs a person",
}
_STANDING: Mapping[str | None, str] = {
    "queued": "It waits for its turn",
    "running": "It is going on",
    "cancelling": "It is being stopped",
    None: "It was cut off: nobody is at it any more",
}
_TO_DO: Mapping[str, str] = {
    "already_done": "Nothing to repeat: look at the result, and go on from there.",
    "covered_by_overlay": "Have the overlay closed first: the website's `overlays` say how.",
    "element_covered": "See what lies over the element, and add it to the website's `overlays`.",
    "element_disabled": "Find what has to be filled in or chosen first, and add it as a step or a precondition.",
    "element_hidden": "See what shows the element (a menu, a tab, scrolling), and add that as a step.",
    "element_missing": "See whether the page changed: accept the proposal for it, or correct the element's selector.",
    "element_not_unique": "Make the element's selector narrower, so that it fits one element.",
    "element_unstable": "Give the step a trigger to wait for: the page was still moving.",
    "network": "See that the site is reachable from here, then run it again.",
    "page_not_found": "See whether the address moved, and correct it in the knowledge.",
    "precondition": "Make the precondition hold, or name a task that does, then run it again.",
    "server_error": "The site itself failed: tell whoever runs it, and run it again later.",
    "signed_out": "Sign in again (give the inputs of the sign-in task), then run it again.",
    "timeout": "Run it again; where it stays slow, give the step more time.",
    "too_early": "Give the step a trigger to wait for: the page had not loaded.",
    "too_slow": "Run it again; where it stays slow, give the step more time.",
    "unknown_screen": "Map the page it came to, or add it as a screen: it is not known yet.",
    "unreliable_transition": "Use another way: this one often fails.",
    "validation": "Correct the inputs: the page says what it does not accept.",
    "wrong_screen": "See why it was not where it should be: the way there may have changed.",
}
"""Cause -> what a person does about it."""


@dataclass(frozen=True, slots=True)
class OneCause:
    """One thing that may have been it."""

    kind: str
    message: str
    confidence: float
    evidence: tuple[str, ...]
    to_do: str


@dataclass(frozen=True, slots=True)
class Why:
    """What a run's page says on top."""

    sentence: str
    """The whole answer in one."""
    to_do: str
    causes: tuple[OneCause, ...] = ()
    """The likeliest first."""
    error: str = ""
    """As it was noted."""
    may_have_happened: bool = False
    """What failed may have taken effect all the same."""
    note: str = ""
    """Why there is no more to say."""


def why(
    page: RunPage,
    run: StoredRun,
    explained: Explanation | None = None,
    root: RootCause | None = None,
    note: str = "",
    knowledge: KnowledgeBase | None = None,
    standing: str | None = None,
) -> Why:
    """The answer, from what is known.

    `knowledge` has the names of what is only named by id; `standing` is where a run without an end is
    (`RunQueue.where_at_all`), None: nobody is at it.
    """
    if page.outcome == "open":
        return _open(page, run, standing)
    causes = tuple(_causes(explained, root, knowledge))
    likeliest = causes[0] if causes and causes[0].kind != UNKNOWN else None
    if page.outcome == "worked":
        return Why(_worked(page), "")
    reason = likeliest.message if likeliest is not None else _plain(run.rca_message or run.error or "")
    hint = run.hint or (root.recommendation if root is not None else "") or ""
    return Why(
        sentence=_sentence(page, reason),
        to_do=hint or (likeliest.to_do if likeliest is not None else ""),
        causes=causes,
        error=plain(run.error),
        may_have_happened=explained is not None and explained.may_have_happened,
        note=note,
    )


def _worked(page: RunPage) -> str:
    mended = ", though not at the first try: see what was mended below" if page.mended or page.instead else ""
    rest = {
        "verified": ", and what it was for was seen to have happened",
        "unverified": "; nothing was stated that could be checked",
        "contradicted": ", but something on the page speaks against it",
    }.get(page.evidence, "")
    return f"It worked{rest}{mended}."


def _open(page: RunPage, run: StoredRun, standing: str | None) -> Why:
    last = page.steps[-1] if page.steps else None
    so_far = "" if last is None else f"; the last step that ended is {last.number}, “{last.name}”"
    resumed = (
        f"Carry it on with `periplus run --resume {run.run_id}`." if run.kind == "task" else "Run it again."
    )
    return Why(f"{_STANDING[standing]}{so_far}.", resumed if standing is None else "")


def _sentence(page: RunPage, reason: str) -> str:
    lead, step = _LEAD[page.outcome], page.failed_step
    if step is not None:
        again = f", at try {step.attempt}" if step.attempt > 1 else ""
        lead += f" at “{step.name}” (step {step.number}, {step.said}{again})"
    return f"{lead}: {reason.rstrip('.')}." if reason else f"{lead}."


def _causes(
    explained: Explanation | None, root: RootCause | None, knowledge: KnowledgeBase | None
) -> list[OneCause]:
    found = [] if root is None or root.class_ == "success" else [
        OneCause(in_words(root.class_), root.message, root.confidence, root.evidence, root.recommendation)
    ]  # fmt: skip
    told = () if explained is None else explained.causes
    return found + [_one(each, knowledge) for each in told]


def _one(cause: Cause, knowledge: KnowledgeBase | None) -> OneCause:
    return OneCause(
        in_words(cause.cause),
        named(cause.message, knowledge),
        cause.confidence,
        tuple(named(each, knowledge) for each in cause.evidence),
        _TO_DO.get(cause.cause, ""),
    )


def named(text: str, knowledge: KnowledgeBase | None) -> str:
    """A message of the desk's with the names of screens and tasks in place of their ids: `'login'`."""
    if knowledge is None:
        return text

    def name(found: re.Match[str]) -> str:
        known = knowledge.screens.get(found[1]) or knowledge.tasks.get(found[1])
        return f"“{known.name}”" if known is not None and known.name else found[0]

    return _QUOTED.sub(name, text)


def _plain(text: str) -> str:
    return short(plain(text), LONGEST)


# -- asking the desk -------------------------------------------------------------------------------


async def explained(desk: Desk, run: StoredRun, page: PageSnapshot | None) -> tuple[Explanation | None, str]:
    """What the desk makes of a run that did not come off, with the page as it was then; or why it says nothing."""
    try:
        visit, note = await desk.visit(run.website_id)
        with desk.guard.admitted("console"):
            reply = await explain_failure(desk, visit, run_id=run.run_id, snapshot=page)
    except DeskError as exc:
        return None, exc.message
    return reply.answer, note or ""
