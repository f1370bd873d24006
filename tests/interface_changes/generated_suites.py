"""Runs the generated tests of the sites with plain pytest: on the unchanged site, and with each application bug.

Every test must be green on the unchanged site, and red with each bug of its requirement. The lines where tests end
with a bug show which assertions were seen to fail.
"""

from __future__ import annotations

import asyncio
import re
import shutil
import xml.etree.ElementTree as ET
from collections.abc import Iterable
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

from rich.console import Console
from rich.table import Table

from agent.browser.launch import find_chromium
from agent.verification.generation import generate
from kb_schema.verification import VerificationPlan
from tests.agent.verification.generation.plain_pytest import run
from tests.interface_changes.operators import apply_operators, list_operators
from tests.interface_changes.site_models import SITES
from tests.interface_changes.site_server import serve_site
from tests.support.foreign_sites import plain_python

SHORT = """

@pytest.fixture(scope="session", params={urls!r}, ids={names!r})
def base_url(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture(autouse=True)
def short_waits(page) -> None:
    page.set_default_timeout(2_500)


expect.set_options(timeout=2_500)
"""
"""Appended to the suite's fixtures: one run for each bug, each with a server of its own, without the long waits."""


@dataclass
class SuiteFigures:
    """What the tests of one site did."""

    site: str
    green: dict[str, bool] = field(default_factory=dict)
    """Requirement -> whether its test is green on the unchanged site."""
    red: dict[str, bool] = field(default_factory=dict)
    """Bug -> whether the test of its requirement is red."""
    assertions: set[str] = field(default_factory=set)
    """`FILE:LINE` of all assertions."""
    failed: set[str] = field(default_factory=set)
    """Those at which a test ended with a bug."""


def check_suite(site: str, plans: dict[str, VerificationPlan], folder: Path) -> SuiteFigures:
    """Write the suite of a site into a folder, run it, and return what it did. Needs the plain environment."""
    figures, suite = SuiteFigures(site), folder / "suite"
    chromium = find_chromium() or ""
    with serve_site() as shown:
        shown.show(SITES[site])
        made = generate(list(plans.values()), suite, base_url=shown.base)
        file = folder / "unchanged.xml"
        run(plain_python(), suite, shown.base, chromium, f"--junitxml={file}", secrets={})
        told = {name.partition("[")[0]: problem for name, problem in _read_results(file)}
        figures.green = {
            each: told.get(f"test_{each}", "not run") is None for each in plans
        }  # a requirement's id is the name of its test here
    names = {req_id: path.name for req_id, path in made.tests.items()}
    figures.assertions = set(_list_assertions(made.tests.values()))
    for req_id, name in names.items():
        bugs = [each.name for each in list_operators().values() if each.is_bug and each.requirement == req_id]
        for bug, problem in _run_with_bugs(site, suite, name, bugs, folder / req_id, chromium):
            figures.red[bug] = problem is not None
            lines = re.findall(rf"{re.escape(name)}:(\d+)", problem or "")
            figures.failed |= {f"{name}:{lines[-1]}"} & figures.assertions if lines else set()
    return figures


def _run_with_bugs(
    site: str, suite: Path, test: str, bugs: list[str], folder: Path, chromium: str
) -> Iterable[tuple[str, str | None]]:
    shutil.copytree(suite, folder)
    with ExitStack() as stack:
        servers = [stack.enter_context(serve_site()) for _ in bugs]
        for server, bug in zip(servers, bugs, strict=True):
            model = apply_operators(site, (bug,))
            assert model is not None, bug
            server.show(model)
        fixtures = folder / "conftest.py"
        urls = [each.base for each in servers]
        fixtures.write_text(fixtures.read_text() + SHORT.format(urls=urls, names=bugs))
        file = folder / "bugs.xml"
        run(plain_python(), folder, urls[0], chromium, f"--junitxml={file}", "--tb=short", test, secrets={})
    told = dict(_read_results(file))
    for bug in bugs:
        found = [problem for name, problem in told.items() if bug in re.split(r"[\[\]-]", name)]
        assert len(found) == 1, f"{site}: {test} with {bug} was not run: {list(told)}"
        yield bug, found[0]


def _read_results(file: Path) -> Iterable[tuple[str, str | None]]:
    """Yield the name of each test and why it is red; None if it is green."""
    for case in ET.parse(file).iter("testcase"):
        problem = next((each for each in case if each.tag in ("failure", "error")), None)
        yield case.get("name", ""), None if problem is None else f"{problem.text}"


def _list_assertions(tests: Iterable[Path]) -> Iterable[str]:
    for path in tests:
        for number, line in enumerate(path.read_text().splitlines(), 1):
            if re.match(r"\s*(expect\(|assert )", line):
                yield f"{path.name}:{number}"


async def check_suite_in_thread(site: str, plans: dict[str, VerificationPlan], folder: Path) -> SuiteFigures:
    """`check_suite`, beside a running browser."""
    return await asyncio.to_thread(check_suite, site, plans, folder)


def print_suites(figures: Iterable[SuiteFigures], console: Console) -> None:
    """Print a line for each site, and what is not as it should be."""
    table = Table("site", "green unchanged", "red with the bug", "assertions", "seen to fail", box=None)
    for each in figures:
        green, red = each.green.values(), each.red.values()
        table.add_row(
            each.site, f"{sum(green)} of {len(green)}", f"{sum(red)} of {len(red)}", str(len(each.assertions)),
            str(len(each.failed)),
        )  # fmt: skip
        for name, right in (*each.green.items(), *each.red.items()):
            if not right:
                console.print(f"{each.site}: {name} is not as it should be")
    console.print(table)
