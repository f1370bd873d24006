"""A page that stops answering, or opens dialogs without end, ends its phase; nothing waits for it afterwards."""

from __future__ import annotations

from dataclasses import replace

import pytest

from agent.verification.graph.phase_page import BrowserPhasePage
from tests.agent.verification.page_checks.conftest import HASTY, requirement

LOGIN = """<h1>Login</h1><form id=f method=get action=/in><label>User <input name=u></label>
<label>Password <input type=password name=p id=p></label><button>Sign in</button></form><script>{script}</script>"""
ALERTS = "p.addEventListener('input', () => { for (;;) alert('x'); });"
HANGS_AT_SUBMIT = "f.addEventListener('submit', () => { for (;;); });"
STEPS = (
    "User | fill | ann",
    "Password | fill | {secret:PASSWORD}",
    "Sign in | click | | shows:Home",
)
IMPATIENT = replace(HASTY, answer_s=1.5, step_s=20.0)


@pytest.mark.parametrize("script", [ALERTS, HANGS_AT_SUBMIT])
async def test_a_page_that_stops_answering_ends_the_finding_of_elements(
    script, site, open_site_page, tmp_path
):
    site.page("/", LOGIN.format(script=script))
    settings = {"secrets": {"PASSWORD": "Zq7xSecretW9kk"}, "folder": tmp_path, "policy": IMPATIENT}
    async with open_site_page(**settings) as site_page:
        built = await BrowserPhasePage(site_page, "shots").build(requirement(*STEPS))
    assert built.evidence is not None
    assert "was ended" in (built.evidence.page_ended or "")
