"""The seed requirements, found on the live site and written as a suite that plain pytest runs, again and again."""

from __future__ import annotations

import re
import shutil
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import yaml

from agent.verification.generation import GeneratedSuite, generate
from agent.verification.page_checks import build_plan, open_verification_page
from agent.verification.planning import read_requirements
from tests.agent.verification.generation.plain_pytest import run
from tests.support.foreign_sites import plain_python, spadeworks_site
from tests.support.live_spadeworks import Controls

if TYPE_CHECKING:
    from playwright.async_api import Browser

REQUIREMENTS = Path(__file__).parents[4] / "seeds" / "spadeworks" / "requirements" / "spadeworks.csv"
BUGS = yaml.safe_load(
    (Path(__file__).parents[3] / "data" / "verification" / "expected_classes.yaml").read_text()
)
SECRETS = {"SPADEWORKS_PASSWORD": "spadeworks-demo"}


@pytest.fixture(scope="module")
def plain() -> Path:
    return plain_python()


@pytest.fixture(scope="module")
def site() -> Iterator[str]:
    with spadeworks_site() as base_url:
        yield base_url


@pytest.fixture(scope="module")
async def suite(browser: Browser, site: str, tmp_path_factory: pytest.TempPathFactory) -> GeneratedSuite:
    """All six, in the order of the sheet; the first of them signs in for the others."""
    plans, login, storage = [], None, None
    for requirement in await read_requirements([REQUIREMENTS]):
        signed_in = storage if requirement.login else None
        bench_of = open_verification_page(
            browser, base_url=site, secrets=SECRETS, unique="k7q2", storage=signed_in
        )
        async with bench_of as bench:
            plan = await build_plan(bench, requirement)
            if login is None:
                login, storage = plan, await bench.page.context.storage_state()
        assert not plan.missing, plan.missing
        plans.append(plan.model_copy(update={"signed_in_by": requirement.login}))
    folder = tmp_path_factory.mktemp("spadeworks")
    return generate(plans, folder, login=login, base_url=site, title="Spadeworks")


@pytest.mark.sampled(0.15, together=True)
@pytest.mark.timeout(400)
def test_all_six_requirements_pass_in_an_environment_without_periplus(suite, site, plain, chromium_path):
    done = run(plain, suite.files[0].parent, site, chromium_path, secrets=SECRETS)
    assert re.search(r"^6 passed", done.stdout, re.MULTILINE), done.stdout[-4000:]


@pytest.mark.nightly
@pytest.mark.timeout(900)
def test_they_pass_ten_times_in_a_row(suite, site, plain, chromium_path):
    for _ in range(10):
        done = run(plain, suite.files[0].parent, site, chromium_path, secrets=SECRETS)
        assert re.search(r"^6 passed", done.stdout, re.MULTILINE), done.stdout[-4000:]


@pytest.mark.sampled(0.15, together=True)
@pytest.mark.timeout(400)
def test_nothing_of_one_run_is_in_what_the_next_one_runs(suite, site):
    written = "".join(path.read_text() for path in suite.files if path.suffix == ".py")
    assert "k7q2" not in written
    assert "spadeworks-demo" not in written
    assert site not in written, "another site is another --base-url"


@pytest.mark.nightly
@pytest.mark.timeout(400)
@pytest.mark.parametrize(
    "case", [each for each in BUGS["app_bugs"] if "ui" not in each], ids=lambda case: case["id"]
)
def test_no_bug_of_the_application_passes_the_generated_tests(
    suite, site, plain, chromium_path, case, tmp_path
):
    hasty = shutil.copytree(suite.files[0].parent, tmp_path / "suite")
    patient = (hasty / "conftest.py").read_text()
    (hasty / "conftest.py").write_text(patient.replace("timeout=10_000", "timeout=4_000"))
    live = Controls(site)
    try:
        if "bug" in case:
            live.ask("bugs", bug=case["bug"])
        else:
            live.ask("faults", **case["fault"])
        test = f"test_{case['requirement']}.py"
        done = run(plain, hasty, site, chromium_path, test, secrets=SECRETS)
    finally:
        for board in ("bugs", "faults"):
            urllib.request.urlopen(
                urllib.request.Request(f"{site}/__control/{board}", method="DELETE")
            ).close()
    assert re.search(r"^1 failed", done.stdout, re.MULTILINE), done.stdout[-4000:]
