"""Reports of verifications: JSON as in PACTS 8.3, JUnit that CI reads, one page for people."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from datetime import UTC, datetime

from agent.verification.reports import read_verdict, write_html, write_junit, write_verdict
from kb_schema.verification import (
    ConsoleLine,
    ExecutedStep,
    HealEvent,
    MissingItem,
    NetworkRequest,
    RootCause,
    VerdictReport,
    VerificationSummary,
)

NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
PICTURE = bytes.fromhex("ffd8ffd9")


def report(req_id="REQ-1", verdict="fail", cause="app_defect", **more):
    step = ExecutedStep(
        step_idx=0, element="<Save>", action="click", selector="#save", strategy="label", confidence=0.88,
        status="success" if verdict == "pass" else "failed", error=None if verdict == "pass" else "no toast\x1b[0m",
        timestamp=NOW, duration_ms=120, screenshot="shots/1.jpg",
    )  # fmt: skip
    return VerdictReport(
        req_id=req_id, run_id="r", url="http://site/a", verdict=verdict, timestamp=NOW, duration_ms=1500,
        summary=VerificationSummary(total_steps=1, executed_steps=1), steps=(step,),
        rca=RootCause(class_=cause, confidence=0.9, message="it & said nothing", evidence=("POST /a: 500",),
                      recommendation="tell the makers"),
        artifacts={"test_file": "tests/test_a.py"}, **more,
    )  # fmt: skip


def test_json_is_as_in_pacts(tmp_path):
    path = write_verdict(report(verdict="pass", cause="success"), tmp_path)
    assert path.name == "verdict_REQ-1.json"
    told = json.loads(path.read_text())
    assert told["timestamp"] == "2026-01-02T03:04:05Z"
    assert told["rca"]["class"] == "success"
    assert told["summary"] == {"total_steps": 1, "executed_steps": 1, "failed_steps": 0, "heal_rounds": 0}
    assert {"step_idx": 0, "element": "<Save>", "action": "click", "selector": "#save", "strategy": "label",
            "confidence": 0.88, "status": "success", "heal_round": 0}.items() <= told["steps"][0].items()  # fmt: skip
    assert read_verdict(tmp_path, "REQ-1") == report(verdict="pass", cause="success")
    assert read_verdict(tmp_path, "REQ-2") is None


def test_junit_tells_failures_from_errors_with_class_and_evidence(tmp_path):
    reports = [
        report("a", "pass", "success"), report("b"), report("c", "fail", "env_fault"),
        report("d", "partial", "success", notes=("stopped: interrupted",)),
    ]  # fmt: skip
    suite = ET.parse(write_junit(reports, tmp_path / "junit.xml")).getroot()[0]
    assert [suite.get(each) for each in ("tests", "failures", "errors", "time")] == ["4", "1", "2", "6.000"]
    passed, failed, broken, stopped = suite.iter("testcase")
    assert [each.tag for each in passed] == ["properties", "system-out"]
    failure = failed.find("failure")
    assert (failure.get("type"), failure.get("message")) == ("app_defect", "it & said nothing")
    assert "evidence: POST /a: 500" in failure.text
    assert "recommendation: tell the makers" in failure.text
    assert broken.find("error").get("type") == "env_fault"
    assert stopped.find("error") is not None


def test_the_page_is_whole_in_itself_and_shows_everything(tmp_path):
    (tmp_path / "shots").mkdir()
    (tmp_path / "shots/1.jpg").write_bytes(PICTURE)
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests/test_a.py").write_text("def test_a(): assert 1 < 2\n")
    whole = report(
        heal_events=(HealEvent(step_idx=0, round=1, success=False, duration_ms=3, before="#a", after="#b"),),
        missing=(MissingItem(step_idx=0, intent="Save", what="element", reason="gone", nearest=("Store",)),),
        console=(ConsoleLine(kind="error", text="TypeError: <x>"),),
        answers=(NetworkRequest(method="POST", url="/a", status=500),),
        notes=("carried on",),
    )
    page = write_html(
        [whole, report("b", "pass", "success")], tmp_path / "r.html", folder=tmp_path
    ).read_text()
    for words in ("&lt;Save&gt;", "it &amp; said nothing", "POST /a: 500", "tell the makers", "Store", "#b",
                  "TypeError: &lt;x&gt;", "carried on", "assert 1 &lt; 2", "data:image/jpeg;base64,/9j/2Q=="):  # fmt: skip
        assert words in page
    assert "<Save>" not in page
    for outside in ("http-equiv", "<script", "<link", 'src="http', "url(http"):
        assert outside not in page


async def test_the_page_is_read_without_javascript_and_pictures_grow_at_a_click(tmp_path, browser):
    (tmp_path / "shots").mkdir()
    (tmp_path / "shots/1.jpg").write_bytes(PICTURE)
    path = write_html([report()], tmp_path / "r.html", folder=tmp_path)
    context = await browser.new_context(java_script_enabled=False, viewport={"width": 800, "height": 600})
    page = await context.new_page()
    await page.goto(path.as_uri())
    picture = page.locator(".picture img")
    small = await picture.bounding_box()
    await picture.click()
    large = await picture.bounding_box()
    assert large["width"] > 3 * small["width"]
    assert await page.get_by_text("tell the makers").is_visible()
    await context.close()


def test_no_reports_are_a_report_too(tmp_path):
    assert "0 of 0" in write_html([], tmp_path / "r.html", folder=tmp_path).read_text()
    assert ET.parse(write_junit([], tmp_path / "j.xml")).getroot().get("tests") == "0"
