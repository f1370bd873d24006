"""Runs the generated tests of the sites with plain pytest: on the unchanged site, and with application bugs.

Every test must be green on the unchanged site, and red with each bug of its requirement. For every assertion there is a
bug after which the site does not meet it (`outcomes` of `operators.yaml`): the test has to end at this assertion, or at
the act before it, where Playwright itself expects the same (`check`).
"""

from __future__ import annotations

import asyncio
import json
import shutil
import xml.etree.ElementTree as ET
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field
from datetime import date
from pathlib import Path
from typing import Literal

from rich.console import Console
from rich.table import Table

from agent.browser.launch import find_chromium
from agent.verification.generation import generate
from kb_schema.verification import VerificationPlan
from tests.agent.verification.generation.plain_pytest import run
from tests.interface_changes.generated_assertions import GeneratedStatement, find_end, read_statements
from tests.interface_changes.operators import apply_operators, list_broken_outcomes, list_operators
from tests.interface_changes.site_models import SITES
from tests.interface_changes.site_server import serve_site
from tests.support.foreign_sites import plain_python

EACH_BUG = """

@pytest.fixture(scope="session", params={urls!r}, ids={names!r})
def base_url(request: pytest.FixtureRequest) -> str:
    return request.param
"""
"""Appended to the suite's fixtures: one run for each bug, each with a server of its own."""
SHORT_WAITS = """

@pytest.fixture(autouse=True)
def short_waits(page) -> None:
    page.set_default_timeout(2_500)


expect.set_options(timeout=2_500)
"""
"""Without the long waits of the suite."""
AT_ONCE = 8
"""Bugs of one pytest run."""
EXPECTED_BY_ACTS = ("checked", "unchecked")
"""Outcomes that Playwright's own act (`check`, `uncheck`) expects, too."""
End = Literal["assertion", "act", "elsewhere", "green"]


@dataclass(frozen=True)
class BrokenAssertion:
    """An assertion, and where its test ended on the site that does not meet it."""

    requirement: str
    step: int
    kind: str
    by: str
    ended: End

    @property
    def shown(self) -> bool:
        """Whether the test was red because of it."""
        return self.ended in ("assertion", "act")


@dataclass
class SuiteFigures:
    """What the tests of one site did."""

    site: str
    measured: str = ""
    """The day."""
    green: dict[str, bool] = field(default_factory=dict)
    """Requirement -> whether its test is green on the unchanged site."""
    red: dict[str, bool] = field(default_factory=dict)
    """Bug -> whether the test of its requirement is red."""
    assertions: list[BrokenAssertion] = field(default_factory=list)
    """All of them."""

    @property
    def right(self) -> bool:
        """Whether every test is green and goes red as it should."""
        told = (*self.green.values(), *self.red.values(), *(each.shown for each in self.assertions))
        return all(told)


def check_suite(site: str, plans: Mapping[str, VerificationPlan], folder: Path) -> SuiteFigures:
    """Write the suite of a site into a folder, run it, and return what it did. Needs the plain environment."""
    figures, suite = SuiteFigures(site, date.today().isoformat()), folder / "suite"  # noqa: DTZ011 - for people
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
    for req_id, path in made.tests.items():
        statements = read_statements(path, plans[req_id])
        bugs = [each.name for each in list_operators().values() if each.is_bug and each.requirement == req_id]
        broken = {
            (each.step, each.kind): each.by for each in list_broken_outcomes() if each.requirement == req_id
        }
        ends: dict[str, str | None] = {}
        names = list(dict.fromkeys([*bugs, *broken.values()]))
        for start in range(0, len(names), AT_ONCE):
            some = names[start : start + AT_ONCE]
            ends |= _run_with_bugs(site, suite, path.name, some, folder / f"{req_id}-{start}", chromium)
        judged = list(_judge_assertions(req_id, statements, broken, ends))
        hasty = list(dict.fromkeys(each.by for each in judged if each.ended == "elsewhere"))
        if hasty:  # a loaded machine does not do every step in the short waits
            again = folder / f"{req_id}-again"
            ends |= _run_with_bugs(site, suite, path.name, hasty, again, chromium, waits="")
        figures.red |= {bug: ends[bug] is not None for bug in bugs}
        figures.assertions += _judge_assertions(req_id, statements, broken, ends)
    return figures


def _judge_assertions(
    requirement: str,
    statements: Sequence[GeneratedStatement],
    broken: Mapping[tuple[int, str], str],
    ends: Mapping[str, str | None],
) -> Iterator[BrokenAssertion]:
    for each in statements:
        if each.kind:
            by = broken[each.step, each.kind]
            yield BrokenAssertion(
                requirement, each.step, each.kind, by, judge_end(statements, each, ends[by])
            )


def judge_end(
    statements: Sequence[GeneratedStatement], asserted: GeneratedStatement, problem: str | None
) -> End:
    """Return where a test ended: at this assertion, at the act of its step, elsewhere, or not at all."""
    if problem is None:
        return "green"
    end = find_end(statements, problem)
    if end == asserted:
        return "assertion"
    at_act = end is not None and end.step == asserted.step and not end.kind
    return "act" if at_act and asserted.kind in EXPECTED_BY_ACTS else "elsewhere"


def _run_with_bugs(
    site: str,
    suite: Path,
    test: str,
    bugs: Sequence[str],
    folder: Path,
    chromium: str,
    waits: str = SHORT_WAITS,
) -> dict[str, str | None]:
    shutil.copytree(suite, folder)
    with ExitStack() as stack:
        servers = [stack.enter_context(serve_site()) for _ in bugs]
        for server, bug in zip(servers, bugs, strict=True):
            model = apply_operators(site, (bug,))
            assert model is not None, bug
            server.show(model)
        fixtures = folder / "conftest.py"
        urls = [each.base for each in servers]
        fixtures.write_text(fixtures.read_text() + EACH_BUG.format(urls=urls, names=list(bugs)) + waits)
        file = folder / "bugs.xml"
        run(plain_python(), folder, urls[0], chromium, f"--junitxml={file}", "--tb=short", test, secrets={})
    told = {name.rpartition("[")[2].rstrip("]"): problem for name, problem in _read_results(file)}
    found = {bug: [told[each] for each in told if bug in each.split("-")] for bug in bugs}
    unclear = [bug for bug, problems in found.items() if len(problems) != 1]
    assert not unclear, f"{site}: {test} with {unclear} was not run: {list(told)}"
    return {bug: problem for bug, (problem,) in found.items()}


def _read_results(file: Path) -> Iterable[tuple[str, str | None]]:
    """Yield the name of each test and why it is red; None if it is green."""
    for case in ET.parse(file).iter("testcase"):
        problem = next((each for each in case if each.tag in ("failure", "error")), None)
        yield case.get("name", ""), None if problem is None else f"{problem.text}"


async def check_suite_in_thread(
    site: str, plans: Mapping[str, VerificationPlan], folder: Path
) -> SuiteFigures:
    """`check_suite`, beside a running browser."""
    return await asyncio.to_thread(check_suite, site, plans, folder)


def write_figures(figures: SuiteFigures, file: Path) -> None:
    """Keep what was measured."""
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(asdict(figures), indent=1), "utf-8")


def read_figures(file: Path) -> SuiteFigures:
    """Return what `write_figures` kept."""
    told = json.loads(file.read_text("utf-8"))
    return SuiteFigures(**{**told, "assertions": [BrokenAssertion(**each) for each in told["assertions"]]})


def print_suites(all_figures: Sequence[SuiteFigures], console: Console) -> None:
    """Print what is not as it should be, a line for each site, and a line for each kind of assertion."""
    for each in all_figures:
        for name, right in (*each.green.items(), *each.red.items()):
            if not right:
                console.print(f"{each.site}: {name} is not as it should be")
        for one in each.assertions:
            if not one.shown:
                console.print(
                    f"{each.site}: {one.requirement} step {one.step}, {one.kind}, ended {one.ended} with {one.by}"
                )
    table = Table("site", "day", "tests green", "red with the bug", *_HEADS, box=None)
    for each in all_figures:
        tests = [f"{sum(told.values())} of {len(told)}" for told in (each.green, each.red)]
        table.add_row(each.site, each.measured, *tests, *_count(each.assertions))
    everything = [one for each in all_figures for one in each.assertions]
    table.add_row("all", "", "", "", *_count(everything))
    console.print(table)
    table = Table("assertion", *_HEADS, box=None)
    for kind in sorted({each.kind for each in everything}):
        table.add_row(kind, *_count([each for each in everything if each.kind == kind]))
    console.print(table)


_HEADS = ("assertions", "red at it", "red at its act", "vacuous", "ended elsewhere")


def _count(assertions: Sequence[BrokenAssertion]) -> list[str]:
    counted = Counter(each.ended for each in assertions)
    return [
        str(len(assertions)),
        *(str(counted[each]) for each in ("assertion", "act", "green", "elsewhere")),
    ]
