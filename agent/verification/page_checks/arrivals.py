"""Tells why a press did not arrive at a page though the address says so: the site answered with an error, or nothing else changed."""

from __future__ import annotations

from agent.page.page_problems import read_page_problems
from agent.page.snapshot_capture import read_page_revision
from agent.verification.page_checks.verification_page import VerificationPage
from kb_schema.verification import PlanCheck

NO_ARRIVAL = ("the site answered", "only the address changed")
"""How the reasons begin."""
_ERROR = 400
_SERVER_FAILED = 500


async def find_no_arrival(site_page: VerificationPage, check: PlanCheck) -> str | None:
    """Return why the page is not reached; None if it is, as far as this tells. Raises `PageGone`.

    An answer of 5xx is no page. One of 4xx is none if only its address says what it is: some applications are served so.
    """
    if site_page.replaced:
        status = (await read_page_problems(site_page.page, {})).status
        by_address = check.heading is None and check.title is None
        if status >= _SERVER_FAILED or (status >= _ERROR and by_address):
            return f"the site answered {status} for {site_page.path}"
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
