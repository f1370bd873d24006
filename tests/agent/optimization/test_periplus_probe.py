from __future__ import annotations

import asyncio
import os
import re
import sys
from pathlib import Path

import pytest

from agent.optimization.execution_records import read_remembered_elements
from agent.optimization.suite_runner import RaiseFailure, records_folder, run_suite
from kb_schema.suite_optimization import ExecutionRequest, SettledCall
from tests.agent.optimization import shop


@pytest.fixture
def suite(tmp_path, chromium_path):
    return shop.suite_in(tmp_path, chromium_path)


def source(span) -> str:
    lines = Path(span.file).read_text().splitlines()
    assert span.line == span.end_line
    return lines[span.line - 1][span.column : span.end_column]


async def test_a_passing_suite_passes_and_what_its_locators_led_to_is_remembered(suite):
    request = ExecutionRequest(execution_id="before", test_file_paths=("test_shop.py",))
    with shop.served(drifted=False) as base:
        result = await run_suite(request, shop.on(suite, base), remember=True)
    assert (result.status, result.summary.passed, result.failed_tests) == ("passed", 4, ())
    known = {each.selector: each for each in read_remembered_elements(records_folder(request, suite))}
    save = known['form#sign-up >> internal:testid=[data-testid="save"s]']
    assert (save.fingerprint.role, save.fingerprint.name) == ("button", "Save")
    assert [source(link.made_at) for link in save.links] == [
        'page.locator("form#sign-up")',
        'self.form.get_by_test_id("save")',
    ]
    assert known["#pw"].called_at
    assert source(known["#pw"].called_at) == 'self.page.fill("#pw", password)'
    in_frame = next(each for selector, each in known.items() if "Add to basket" in selector)
    assert in_frame.fingerprint.name == "Add to basket"
    assert shop.WORD not in "".join(
        each.read_text() for each in records_folder(request, suite).glob("*.jsonl")
    )


async def test_a_failure_is_told_as_playwright_has_it_with_calls_places_and_trace(suite):
    asked = []

    async def note(failure):
        asked.append(failure)
        return RaiseFailure()

    request = ExecutionRequest(execution_id="red", test_file_paths=("test_shop.py",))
    with shop.served(drifted=True) as base:
        some = shop.on(suite, base, pytest_args=("-k", "signs_up or minds"))
        result = await run_suite(request, some, on_failure=note)
    assert (result.status, result.summary.passed, result.summary.failed) == ("failed", 1, 1)
    failed = result.failed_tests[0]
    assert (failed.action, failed.kind, failed.error_type) == ("fill", "action", "TimeoutError")
    assert failed.locator
    link = failed.locator.links[0]
    assert (link.method, link.arguments, link.keywords) == ("get_by_label", ("Email",), {"exact": True})
    assert link.made_at
    assert source(link.made_at) == 'page.get_by_label("Email", exact=True)'
    assert [each.function for each in failed.stack] == ["test_signs_up", "sign_up"]
    assert failed.trace
    assert Path(failed.trace).is_file()
    # What the suite itself catches is no failure of its.
    assert "test_minds_nothing" not in "".join(each.failed.test_id for each in asked)
    assert all(each.debug_url and each.target_id and each.shortened for each in asked)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("def test_sum():\n    assert 1 + 1 == 2\n", "none of the 1 tests used Playwright"),
        ("import not_there\n", "No module named 'not_there'"),
        ("", "pytest found no tests"),
        (
            "import os\n\n\ndef test_ends(page):\n    os._exit(7)\n",
            "broke off with code 7 in test_it.py::test_ends",
        ),
    ],
)
async def test_a_suite_that_cannot_be_run_is_an_error_that_says_why(suite, text, reason):
    (suite.root / "test_it.py").write_text(text)
    request = ExecutionRequest(execution_id="odd", test_file_paths=("test_it.py",))
    result = await run_suite(request, suite)
    assert result.status == "error"
    assert reason in result.failed_tests[0].message


async def test_an_interpreter_without_pytest_is_named(suite, tmp_path):
    result = await run_suite(
        ExecutionRequest(execution_id="odd"), shop.on(suite, "", python=tmp_path / "python")
    )
    assert result.status == "error"
    assert "name the suite's interpreter" in result.failed_tests[0].message


@pytest.mark.skipif(sys.platform == "win32", reason="asks the system for the process by a signal")
async def test_cancelling_a_run_ends_the_processes_of_the_suite(suite):
    (suite.root / "test_it.py").write_text(
        "import os, pathlib\n\n\ndef test_waits(page):\n"
        "    pathlib.Path('pid').write_text(str(os.getpid()))\n    page.set_content('<p>x')\n"
        "    page.get_by_role('button').click()\n"
    )
    reached = asyncio.Event()

    async def ask(_failure):
        reached.set()
        await asyncio.Event().wait()

    request = ExecutionRequest(execution_id="long", test_file_paths=("test_it.py",))
    running = asyncio.ensure_future(run_suite(request, suite, on_failure=ask))
    await asyncio.wait_for(reached.wait(), 30)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    with pytest.raises(ProcessLookupError):
        os.kill(int((suite.root / "pid").read_text()), 0)


MISSING = """def test_plain(page):
    page.set_content('<p>x')
    page.get_by_role('button').click()


def test_own_time(page):
    page.set_default_timeout(900)
    page.set_content('<p>x')
    page.get_by_role('button').click()


def test_other(page):
    page.set_default_timeout(800)
    page.set_content('<p>x')
    page.get_by_text('Gone').click()
"""


async def test_a_settled_call_gets_less_time_unless_the_suite_gives_it_its_own(suite):
    (suite.root / "test_it.py").write_text(MISSING)
    names = [f"test_it.py::{each}[chromium]" for each in ("test_plain", "test_own_time", "test_other")]
    settled = tuple(SettledCall(test_id=each, selector="internal:role=button") for each in names)
    request = ExecutionRequest(execution_id="proof", test_file_paths=("test_it.py",), settled_calls=settled)
    result = await run_suite(request, shop.on(suite, "", action_timeout_ms=400))
    told = {
        each.test_id: re.findall(r"Timeout (\d+)ms exceeded", each.message) for each in result.failed_tests
    }
    assert told == {names[0]: ["400"], names[1]: ["900"], names[2]: ["800"]}


async def test_a_failure_says_whether_a_request_was_open(suite):
    (suite.root / "test_it.py").write_text(
        MISSING.split("\n\n", maxsplit=1)[0]
        + "\n\n\ndef test_waiting(page):\n    page.route('**/slow', lambda route: None)\n"
        "    page.route('**/it', lambda route: route.fulfill(body='<script>fetch(\"/slow\")</script>', content_type='text/html'))\n"
        "    page.goto('http://shop.test/it')\n    page.get_by_role('button').click()\n"
    )
    asked = {}

    async def note(failure):
        asked[failure.failed.test_id] = failure.idle
        return RaiseFailure()

    request = ExecutionRequest(execution_id="red", test_file_paths=("test_it.py",))
    await run_suite(request, shop.on(suite, "", action_timeout_ms=600), on_failure=note)
    assert asked == {"test_it.py::test_plain[chromium]": True, "test_it.py::test_waiting[chromium]": False}
