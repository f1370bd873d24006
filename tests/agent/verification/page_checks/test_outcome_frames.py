"""The generated assertion of an outcome looks where the verdict looked: in frames and open shadow roots too."""

from __future__ import annotations

import re

import pytest

from agent.verification.generation import generate
from agent.verification.page_checks import build_plan
from tests.agent.verification.generation.plain_pytest import run
from tests.agent.verification.page_checks.conftest import requirement
from tests.support.foreign_sites import plain_python

TOP = """<h1>Top</h1><p id=plain>Of the page</p><div id=host></div><iframe name=inner src="/inner"></iframe>
<script>host.attachShadow({{mode: "open"}}).innerHTML = "<p>{shadow}</p>";</script>"""
INNER = """<h2>{heading}</h2><p>{text}</p><div role=status>{said}</div><label>City <input value="{city}"></label>
<div aria-modal=true>{asks}</div><iframe name=deep src="/deep"></iframe>"""
GOOD = {"shadow": "In the shadow", "heading": "Framed", "text": "Only inside", "said": "Saved", "city": "Porto",
        "asks": "Sure?", "deep": "Deep down"}  # fmt: skip
OUTCOMES = {
    "shadow": "shows:In the shadow",
    "heading": "heading:Framed",
    "text": "shows:Only inside",
    "said": "message:Saved",
    "city": "field_value:City=Porto",
    "asks": 'dialog_opens:"Sure?"',
    "deep": "shows:Deep down",
    "absent": "not_shows:Bankrupt",
    "absent_inner": "not_shows:Broken",
    "no_dialog": "dialog_closes:Delete it",
}


def show(site, **changed):
    words = {**GOOD, **changed}
    site.page("/", TOP.format(**words))
    site.page("/inner", INNER.format(**words))
    site.page("/deep", f"<p>{words['deep']}</p>")


@pytest.mark.timeout(300)
async def test_what_is_in_a_frame_is_asserted_there_and_can_fail(
    site, open_site_page, tmp_path, chromium_path
):
    show(site)
    plans = []
    for name, outcome in OUTCOMES.items():
        async with open_site_page() as site_page:
            plan = await build_plan(site_page, requirement(f" | | | {outcome}", req_id=name))
            assert not plan.missing, plan.missing
            plans.append(plan)
    generate(plans, tmp_path, base_url=site.base)
    hasty = (tmp_path / "conftest.py").read_text().replace("timeout=10_000", "timeout=1_000")
    (tmp_path / "conftest.py").write_text(hasty)
    assert 'iframe[name="deep"]' in (tmp_path / "test_deep.py").read_text()
    assert "frame_locator" not in (tmp_path / "test_shadow.py").read_text()
    plain = plain_python()
    done = run(plain, tmp_path, site.base, chromium_path, secrets={})
    assert f"{len(plans)} passed" in done.stdout, done.stdout[-4000:]
    show(site, shadow="x", heading="x", text="Broken", said="x", city="x", asks="Delete it", deep="Bankrupt")
    done = run(plain, tmp_path, site.base, chromium_path, secrets={})
    failed = set(re.findall(r"FAILED test_(\w+)\.py", done.stdout))
    assert failed == set(OUTCOMES), done.stdout[-4000:]
