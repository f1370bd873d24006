"""Which texts of a page are figures, in a real browser."""

from __future__ import annotations

from types import SimpleNamespace

from agent.presentation.visitor.page_figures import PageFigures

PAGE = """<html lang="de"><p>Balance 1,204.50 USD</p><p>Mar 6, 2026 · PayPal Balance</p><p>6. März 2026 Guthaben</p>
<p>Opens 09:30</p><dl><dt>Calls</dt><dd>12,864</dd></dl><p>Paid 3 of 5 on 2026-03-06</p></html>"""


async def test_a_date_or_a_time_is_no_figure(blank_page):
    await blank_page.set_content(PAGE)
    session = SimpleNamespace(
        page=blank_page, screen_id=None, website=SimpleNamespace(name="Wallet"), knowledge=None
    )
    figures = await PageFigures(session)()
    assert [each.text for each in figures] == [
        "Balance 1,204.50 USD",
        "Calls 12,864",
        "Paid 3 of 5 on 2026-03-06",
    ]
