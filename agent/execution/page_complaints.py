"""Tells first what the page complains of, if a run fails while it does: what is missing then is only a consequence.

The signs are those of a refused press (`agent.page.page_refusals`), compared with the page before the last press. A
refusal that ends its step at once is `agent.execution.effects.refusal_watch`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from agent.errors import StepFailed, StepRefused, touched_the_page
from agent.page.errors import PageError
from agent.page.page_refusals import PageComplaint, RefusalSigns, find_complaint, read_refusal_signs
from kb_schema.templates import as_text

if TYPE_CHECKING:
    from playwright.async_api import Page

    from agent.session import Session

SAYS = "the page says: "
"""Begins an error that quotes the page."""


async def read_signs(page: Page) -> RefusalSigns | None:
    """Return the signs that a page shows now; None if it cannot be read."""
    try:
        return await read_refusal_signs(page)
    except PageError:
        return None


async def read_complaint(session: Session) -> PageComplaint | None:
    """Return what the page complains of since the last press; None if of nothing, or if nothing was pressed."""
    if session.before_press is None:
        return None
    now = await read_signs(session.page)
    return None if now is None else find_complaint(session.before_press, now)


def quote_complaint(
    error: Exception,
    complaint: PageComplaint | None,
    values: Mapping[str, Any],
    inputs: Iterable[str],
    *,
    kind: str,
) -> Exception:
    """Return the error with the page's words first, and with a hint. A refused step quotes the page already.

    `inputs`: names of inputs, which have `values`. `kind`: the error code.
    """
    if complaint is None or isinstance(error, StepRefused):
        return error
    told = str(error) if complaint.quote in str(error) else f"{SAYS}{complaint.quote}; {error}"
    named = [
        name for name in inputs if values.get(name) is not None and as_text(values[name]) in complaint.values
    ]
    what = f"give another value for input {named[0]}" if len(named) == 1 else "give values that it accepts"
    hint = getattr(error, "hint", None) or f"The page says: {complaint.quote}; {what}"
    return StepFailed(told, error=kind, acted=touched_the_page(error), hint=hint)
