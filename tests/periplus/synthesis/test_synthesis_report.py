"""The page that tells what became of recorded traces, as a person reads it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from urllib.parse import unquote

from agent.synthesis.synthesis_pipeline import add_workflow_documents
from kb_schema.execution_traces import ExecutionTrace
from kb_schema.session_writer import PART_FROM_CHARS, write_session
from periplus.synthesis.synthesis_report import write_synthesis_report
from periplus.synthesis.workflow_synthesis import induce_workflow, read_traces
from tests.agent.synthesis import sample_pages

PEOPLE = ([("Ann", True), ("Bob", False)], [("Cid", False), ("Dan", True), ("Eve", True)])
BEGAN = datetime(2026, 1, 2, tzinfo=UTC)


def recorded(trace: ExecutionTrace) -> ExecutionTrace:
    """As recordings are: every step at a time of its own, pages in files of their own."""
    long = "<p>" + "x" * PART_FROM_CHARS

    def page(html):
        return None if html is None else html + long

    steps = [
        step.model_copy(update={
            "html_before": page(step.html_before), "html_after": page(step.html_after),
            "timestamp": BEGAN + timedelta(seconds=number),
        })
        for number, step in enumerate(trace.steps)
    ]  # fmt: skip
    return trace.model_copy(update={"steps": tuple(steps)})


async def test_a_report_folds_repeats_filters_steps_and_leads_to_their_pages(page, tmp_path):
    for number, people in enumerate(PEOPLE):
        write_session(recorded(sample_pages.work_off(number, people)), tmp_path / f"it's pass {number}")
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken/manifest.json").write_text("{")
    result = add_workflow_documents(await induce_workflow(read_traces([tmp_path]), "work off", ""))
    (tmp_path / "out").mkdir()
    report = tmp_path / "out/report.html"
    write_synthesis_report(
        report, result, name="work off", screens={1: "Agents"}, problems={}, validated=["Not run."]
    )

    errors = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    await page.goto(report.as_uri())
    assert "broken: not used;" in await page.inner_text("ul")
    assert "repeated 2 to 3 times" in await page.inner_text("tr.loop")
    opened = page.locator("#steps tbody tr:not(.loop)").nth(1)
    assert await opened.locator("td.dim").inner_text() == "Agents"
    await opened.locator("details summary").nth(1).click()
    assert await opened.locator("details").nth(1).locator("li").all_inner_texts() == [
        f"xpath-text=//a[normalize-space()='{name}']" for name in ("Cid", "Dan", "Eve")
    ]
    for trace in (0, 1):  # the page before the first row was opened, of this very trace
        link = await opened.locator("td").nth(2 + trace).locator("a").first.get_attribute("href")
        shown = (report.parent / unquote(link)).read_text()
        assert PEOPLE[trace][0][0] in shown
        assert PEOPLE[1 - trace][0][0] not in shown
    await page.fill("#search", "archive")
    assert await page.locator("#steps tbody tr:not(.loop):visible").count() == 1
    await page.fill("#search", "")
    await page.uncheck("[data-kind=parameterizable]")
    assert await opened.is_hidden()
    assert await page.inner_text("#shown") == "5 of 6 steps"
    assert errors == []
