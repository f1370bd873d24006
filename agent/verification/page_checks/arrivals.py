"""Tells why a press did not arrive at a page though the address says so: the site answered with an error, or nothing else changed."""

from __future__ import annotations

import re

from agent.negations import is_failure, is_negated
from agent.page.page_problems import read_page_problems
from agent.page.snapshot_capture import read_page_revision
from agent.page.sought_texts import SoughtText, find_texts
from agent.verification.page_checks.verification_page import VerificationPage
from kb_schema.text_similarity import words
from kb_schema.verification import PlanCheck

NO_ARRIVAL = ("the site answered", "only the address changed")
"""How the reasons begin."""
_MAIN_HEADINGS = 'h1, [role="heading"][aria-level="1"]'
_ERROR = 400
_SERVER_FAILED = 500


async def find_no_arrival(site_page: VerificationPage, check: PlanCheck) -> str | None:
    """Return why the page is not reached; None if it is, as far as this tells. Raises `PageGone`.

    An answer of 5xx is no page. One of 4xx is none if only its address says what it is (some applications are served so), or if its
    title or main heading says that there is nothing: `Products - not found`, `Access denied`, `404`, or its main heading has none of the
    expected words: `We lost this page`.
    """
    if site_page.replaced:
        status = (await read_page_problems(site_page.page, {})).status
        by_address = check.heading is None and check.title is None
        said = "" if status < _ERROR or by_address else await _find_denial(site_page, check, status)
        if status >= _SERVER_FAILED or (status >= _ERROR and (by_address or said)):
            return f"the site answered {status} for {site_page.path}" + (
                f" and says {said!r}" if said else ""
            )
        return None
    if check.url is None or not site_page.pressed:
        return None
    address, was = site_page.before
    now = await read_page_revision(site_page.page)
    if not address or was is None or now is None or site_page.page.url == address:
        return None
    if was.removesuffix(address) == now.removesuffix(site_page.page.url):
        return "only the address changed: the page shows what it showed before"
    return None


async def _find_denial(site_page: VerificationPage, check: PlanCheck, status: int) -> str:
    """Return the title or main heading that says of an answer of 4xx that it is not the page; "" if none does.

    Words that the expected page has itself say nothing.
    """
    expected = " ".join(filter(None, (check.heading, check.title, check.outcome.value))).casefold()
    [headings] = await find_texts(site_page.page, [SoughtText("", _MAIN_HEADINGS)])
    main = [each.text for each in headings if each.unseen is None]
    for text in [await site_page.page.title(), *main]:
        rest = " ".join(each for each in text.casefold().split() if each not in expected.split())
        if is_negated(rest) or is_failure(rest) or str(status) in re.findall(r"\d+", rest):
            return text[:120]
    if main and not any(set(words(text)) & set(words(expected)) for text in main):
        return main[0][:120]
    return ""
