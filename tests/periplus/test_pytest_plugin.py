"""The pytest plugin in tests of somebody else: the example of docs/pytest.md, and what fails with which words."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support import warm
from tests.support.foreign_sites import spadeworks_site

pytestmark = [pytest.mark.sampled(0.5, together=True), pytest.mark.timeout(300)]

ROOT = Path(__file__).parents[2]
(EXAMPLE,) = re.findall(
    r"^```python\n(.*?)^```", (ROOT / "docs/pytest.md").read_text(), re.MULTILINE | re.DOTALL
)
MISTAKES = """
def test_an_unknown_task(site):
    site.run("create_agnt", agent_name="Ada")

def test_a_screen_that_needs_an_account(site):
    site.go_to("agent_list")

def test_a_failure_that_is_wanted(site):
    result = site.go_to("agent_list", check=False)
    assert not result.succeeded
"""


@pytest.fixture(scope="module")
def base_url():
    with spadeworks_site() as url:
        yield url


@pytest.fixture
def folder(tmp_path):
    done = warm.run("periplus", "kb", "load", str(ROOT / "seeds/spadeworks/kb"), cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    return tmp_path


def run_pytest(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    env = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST")}
    env |= {"PYTHONPATH": str(ROOT), "PYTHONSAFEPATH": "1", "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-p",
        "periplus.pytest_plugin",
        "--rootdir",
        str(folder),
        *arguments,
    ]
    return subprocess.run(
        command, cwd=folder, env=env, capture_output=True, text=True, timeout=200, check=False
    )


@pytest.mark.parametrize("plugins", [[], ["-p", "playwright"]])
def test_the_example_of_the_page_passes_with_and_without_pytest_playwright(folder, base_url, plugins):
    (folder / "test_agents.py").write_text(EXAMPLE)
    done = run_pytest(folder, *plugins, "--periplus-base-url", base_url)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "2 passed" in done.stdout


def test_a_mistake_fails_the_test_with_reason_and_fix(folder, base_url):
    (folder / "test_mistakes.py").write_text(MISTAKES)
    (folder / "pytest.ini").write_text(
        f"[pytest]\nperiplus_website = spadeworks\nperiplus_base_url = {base_url}\n"
    )
    done = run_pytest(folder)
    assert "2 failed, 1 passed" in done.stdout, done.stdout + done.stderr
    assert "no task 'create_agnt'" in done.stdout
    assert '-> did you mean "create_agent"?' in done.stdout
    assert "going to agent_list: needs_person" in done.stdout
    assert "--input password=VALUE" in done.stdout


def test_a_store_without_the_website_is_told(tmp_path):
    (tmp_path / "test_x.py").write_text("def test_x(site): pass\n")
    done = run_pytest(tmp_path)
    assert done.returncode == 1
    assert "the store is empty" in done.stdout
    assert "periplus kb load DIR" in done.stdout


def test_tests_that_do_not_ask_for_it_import_nothing(tmp_path):
    (tmp_path / "test_x.py").write_text(
        "import sys\ndef test_x(): assert not {'playwright', 'pydantic', 'kb_store'} & set(sys.modules)\n"
    )
    done = run_pytest(tmp_path)
    assert done.returncode == 0, done.stdout


def test_an_address_that_is_none_is_told(folder):
    (folder / "test_x.py").write_text("def test_x(site): pass\n")
    done = run_pytest(folder, "--periplus-base-url", "localhost:8080")
    assert done.returncode == 1
    assert "'localhost:8080' is not a web address" in done.stdout
    assert "write it like http://" in done.stdout


def test_a_package_agent_of_the_tests_own_is_told_and_can_be_left_out(folder, base_url):
    (folder / "agent").mkdir()
    (folder / "agent" / "__init__.py").write_text("")
    (folder / "test_x.py").write_text("def test_x(site): assert site.identify().screen_id is None\n")
    told = run_pytest(
        folder, "-p", "no:cacheprovider", "--import-mode=prepend", "--periplus-base-url", base_url
    )
    assert told.returncode == 1
    assert "Periplus needs its own package 'agent'" in told.stdout
    assert "--import-mode=importlib" in told.stdout
    works = run_pytest(folder, "--import-mode=importlib", "--periplus-base-url", base_url)
    assert works.returncode == 0, works.stdout
