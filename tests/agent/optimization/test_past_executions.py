from __future__ import annotations

import pytest
from playwright.async_api import Error, expect

from agent.optimization.live_healing import open_healer
from agent.optimization.past_executions import find_page_at_failure, read_results, read_trace_failure
from agent.optimization.suite_runner import LiveFailure, RaiseFailure, SubstituteLocator
from agent.optimization.trace_selectors import links_of
from kb_schema.locator_expressions import to_source
from tests.agent.optimization import shop


async def traced(context, file, act):
    await context.tracing.start(snapshots=True, sources=False)
    page = await context.new_page()
    with pytest.raises((Error, AssertionError)):
        await act(page)
    await context.tracing.stop(path=file)


async def test_a_trace_tells_the_failing_call_and_where_it_led_is_found_on_the_page_of_then(
    context, tmp_path
):
    with shop.served(drifted=True) as base:

        async def act(page):
            await page.goto(base + "/")
            await page.evaluate("console.error('oh no'); fetch('/nowhere')")
            await page.get_by_label("Email", exact=True).fill("ann@example.org", timeout=300)

        await traced(context, tmp_path / "some-test" / "trace.zip", act)
        (failed,) = read_results(tmp_path)
        assert (failed.action, failed.kind, failed.error_type) == ("fill", "action", "TimeoutError")
        assert failed.locator
        assert to_source(failed.locator.links) == 'page.get_by_label("Email", exact=True)'
        assert failed.called_at
        assert failed.called_at.file == __file__
        assert failed.url == base + "/"
        assert [each.text for each in failed.evidence.console if "oh no" in each.text] == ["oh no"]
        assert [each.status for each in failed.evidence.answers if each.url.endswith("/nowhere")] == [404]
    # The site is gone; what the trace holds is enough.
    async with open_healer() as ask:
        verdict = await ask(LiveFailure("1", failed, debug_url=None, target_id=None, waited_ms=300))
    assert isinstance(verdict, SubstituteLocator)
    assert verdict.candidate.expression == 'get_by_label("Email address")'
    assert verdict.candidate.gate == "not_asked"


async def test_an_expectation_in_a_trace_says_what_was_expected_and_is_never_met_by_another_element(
    context, tmp_path
):
    async def act(page):
        await page.set_content("<h1>Shop</h1><p role=status>Failed</p>")
        await expect(page.get_by_text("Saved")).to_have_text("Saved", timeout=200)

    await traced(context, tmp_path / "trace.zip", act)
    failed = read_trace_failure(tmp_path / "trace.zip")
    assert failed
    assert (failed.action, failed.kind, failed.evidence.expected) == (
        "expect.to_have_text",
        "assertion",
        "Saved",
    )
    async with open_healer() as ask:
        verdict = await ask(LiveFailure("1", failed, debug_url=None, target_id=None, waited_ms=200))
    assert isinstance(verdict, RaiseFailure)


async def test_the_page_of_a_failure_has_its_frames_and_shadow_roots_and_no_scripts(context, tmp_path):
    async def act(page):
        await page.set_content(
            "<div id=host></div><iframe srcdoc='<p>Framed</p>'></iframe><input type=password value=hush-hush>"
            "<script>host.attachShadow({mode: 'open'}).innerHTML = '<b>Shaded</b>'</script>"
        )
        await page.locator("iframe").content_frame.get_by_text("Framed").wait_for()
        await page.locator("#gone").click(timeout=200)

    await traced(context, tmp_path / "trace.zip", act)
    moment = find_page_at_failure(tmp_path / "trace.zip")
    assert moment
    assert "<script" not in moment.html
    again = await context.new_page()
    await again.set_content(moment.html)
    assert await again.get_by_text("Shaded").count() == 1
    assert await again.locator("iframe").content_frame.get_by_text("Framed").count() == 1


def test_what_is_no_trace_is_passed_over(tmp_path):
    (tmp_path / "a.zip").write_bytes(b"no zip at all")
    assert read_results(tmp_path) == []


@pytest.mark.parametrize(
    ("selector", "source"),
    [
        ('internal:role=button[name="Save"i]', 'page.get_by_role("button", name="Save")'),
        (
            'internal:role=button[name="Save"s] >> nth=0',
            'page.get_by_role("button", name="Save", exact=True).first',
        ),
        (
            "internal:role=link[name=/^Next/i]",
            'page.get_by_role("link", name=re.compile("^Next", re.IGNORECASE))',
        ),
        ('internal:testid=[data-qa="a >> b"s]', 'page.get_by_test_id("a >> b")'),
        ('tr >> internal:has-text="Bob"i >> nth=2', 'page.locator("tr").filter(has_text="Bob").nth(2)'),
        (
            'iframe >> internal:control=enter-frame >> internal:attr=[placeholder="Name"i]',
            'page.locator("iframe").content_frame.get_by_placeholder("Name")',
        ),
        ("xpath=//a", 'page.locator("xpath=//a")'),
    ],
)
def test_selectors_of_playwright_become_the_calls_that_make_them(selector, source):
    assert to_source(links_of(selector)) == source
