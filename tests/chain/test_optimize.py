"""`periplus optimize` from the outside: real suites, a pytest of their own, real pages, sources really patched."""

from __future__ import annotations

import ast
import json
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from agent.browser.launch import find_chromium
from agent.optimization.sources import find_violations
from tests.support.foreign_sites import TOOLS, django_site, plain_python

pytestmark = [pytest.mark.timeout(400), pytest.mark.sampled(0.2)]

PLAIN = TOOLS / "plain/bin/python"
ADMIN_SUITE = Path(__file__).parents[1] / "foreign_suites/django_admin"

OLD = """<h1>Agents</h1><form onsubmit="said.hidden=false; return false">
<label>Name <input name="name"></label><button>Save</button></form>
<p id="said" role="status" hidden>Saved</p>"""
NEW = OLD.replace("<button>Save</button>", '<button name="save">Save agent</button>')
BROKEN = NEW.replace("said.hidden=false;", "")

PAGES = """class Agents:
    def __init__(self, page):
        self.page = page
        self.save = page.get_by_role("button", name="Save", exact=True)
"""
TESTS = """from pathlib import Path

from pages import Agents
from playwright.sync_api import expect

SITE = Path(__file__).parent / "site.html"


def test_an_agent_is_saved(page):
    page.goto(SITE.as_uri())
    page.get_by_label("Name").fill("Ada")
    Agents(page).save.click()
    expect(page.get_by_role("status")).to_have_text("Saved")
    expect(page.get_by_role("status")).to_be_visible()
"""


@pytest.fixture
def strangers(tmp_path) -> Path:
    """A suite with a page object, for a page in a file beside it."""
    plain_python()
    folder = tmp_path / "suite"
    folder.mkdir()
    (folder / "pytest.ini").write_text("[pytest]\n")
    (folder / "pages.py").write_text(PAGES)
    (folder / "test_agents.py").write_text(TESTS)
    (folder / "site.html").write_text(OLD)
    return folder


def optimize(suite: Path, *args: str, out: str = "out") -> tuple[int, str, dict]:
    folder = suite.parent / out
    ended = subprocess.run(
        [
            sys.executable, "-m", "periplus", "optimize", str(suite), "--python", str(PLAIN), "--out", str(folder),
            "--json", *args,
        ],
        env=os.environ | {"PERIPLUS_DATA_DIR": str(suite.parent / "data")},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    return ended.returncode, ended.stderr, json.loads(ended.stdout) if ended.stdout else {}


def assert_promise_kept(before: Path, after: Path) -> None:
    """Every file of a suite differs in locators and waits only."""
    for path in before.rglob("*.py"):
        ours = path.read_text(encoding="utf-8")
        theirs = (after / path.relative_to(before)).read_text(encoding="utf-8")
        strings = {
            (each.lineno, each.col_offset)
            for each in ast.walk(ast.parse(ours))
            if isinstance(each, ast.Assign) and isinstance(each.value, ast.Constant)
            for each in [each.value]
        }
        assert find_violations(ours, theirs, strings) == (), path


def test_a_suite_is_remembered_while_green_then_mended_where_it_drifted(strangers):
    code, _, _ = optimize(strangers, out="green")
    assert code == 0
    before = strangers.parent / "before"
    shutil.copytree(strangers, before)
    (strangers / "site.html").write_text(NEW)
    code, said, report = optimize(strangers)
    assert code == 0, said
    (test,) = report["tests"]
    assert (test["before"], test["after"], test["rca"]["class"]) == ("failed", "passed", "selector_drift")
    assert "# periplus: was page.get_by_role(" in (strangers / "pages.py").read_text()
    assert (strangers / "test_agents.py").read_text() == TESTS
    assert_promise_kept(before, strangers)
    assert '+        self.save = page.get_by_role("button", name="Save agent"' in report["diff"]


def test_an_application_that_broke_while_it_drifted_stays_red_and_unpatched(strangers):
    optimize(strangers, out="green")
    (strangers / "site.html").write_text(BROKEN)
    code, said, report = optimize(strangers)
    assert code == 1, said
    (test,) = report["tests"]
    assert (test["after"], test["next"]) == ("failed", "person")
    assert test["rca"]["class"] not in ("selector_drift", "timing_instability", "success")
    assert report["patches"] == []
    assert report["diff"] == ""
    assert (strangers / "pages.py").read_text() == PAGES


def test_what_cannot_be_run_is_told_in_one_message(strangers):
    (strangers / "test_agents.py").write_text("import nonsense_that_is_nowhere\n")
    code, said, _ = optimize(strangers)
    assert code == 2
    assert "nonsense_that_is_nowhere" in said
    assert "Traceback" not in said.splitlines()[0]


WORDS = {"First name": "Name", "Home town": "Town", "Save agent": "Save"}
PAGE = """<title>Agents</title><h1>Agents</h1>
<form onsubmit="said.hidden=false; said.textContent='Saved '+who.value; return false">
<label>First name <input id="who"></label><label>Home town <input id="town"></label><button>Save agent</button></form>
<p id="said" role="status" hidden></p>"""
REQUIREMENT = """# save: Save an agent
URL: /index.html

First name | fill | Ada | field_value:Ada
Home town | fill | Ulm | field_value:Ulm
Save agent | click | | message:"Saved Ada"
"""


def redesigned(text: str) -> str:
    for old, new in WORDS.items():
        text = text.replace(old, new)
    return text


@contextmanager
def served(folder: Path) -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(folder)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_args):
        pass


@pytest.mark.sampled(0.1)  # a suite that is red waits for Playwright's own thirty seconds
def test_a_test_no_patch_mends_is_written_anew_from_its_requirement_and_green_in_its_suite(tmp_path):
    plain_python()
    site, wanted, data = tmp_path / "site", tmp_path / "save.txt", tmp_path / "data"
    site.mkdir()
    (site / "index.html").write_text(PAGE)
    wanted.write_text(REQUIREMENT)
    with served(site) as url:
        made = subprocess.run(
            [
                sys.executable, "-m", "periplus", "verify", str(wanted), "--base-url", url, "--out",
                str(tmp_path / "verified"),
            ],
            env=os.environ | {"PERIPLUS_DATA_DIR": str(data)}, capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert made.returncode == 0, made.stdout + made.stderr
        suite = tmp_path / "suite"
        shutil.copytree(tmp_path / "verified" / "generated_tests", suite)
        old = (suite / "test_save.py").read_text()
        (site / "index.html").write_text(redesigned(PAGE))
        wanted.write_text(redesigned(REQUIREMENT))
        few = ("--max-patches", "1", "--max-attempts", "1", "--requirements", str(wanted))
        code, said, report = optimize(suite, *few)
    assert code == 0, said
    (test,) = report["tests"]
    assert (test["before"], test["after"], test["next"]) == ("failed", "passed", "nothing")
    assert test["regenerated"] == str(suite / "test_save.py")
    assert report["patches"] == []
    now = (suite / "test_save.py").read_text()
    assert 'get_by_role("button", name="Save").click()' in now
    assert "First name" not in now
    out = tmp_path / "out" / "regenerated"
    assert (out / "before" / "test_save.py").read_text() == old
    assert (out / "generated_tests" / "test_save.py").read_text() == now


@pytest.mark.nightly
@pytest.mark.timeout(1800)
def test_a_foreign_suite_for_another_django_is_green_or_honestly_red(tmp_path):
    suite = tmp_path / "suite"
    shutil.copytree(ADMIN_SUITE, suite)
    with django_site("4.2") as url:
        code, said, _ = optimize(suite, "--base-url", url, out="green")
        assert code == 0, said
    with django_site("5.2") as url:
        code, said, report = optimize(suite, "--base-url", url)
    assert_promise_kept(ADMIN_SUITE, suite)
    red = [each for each in report["tests"] if each["after"] != "passed"]
    assert code == (1 if red else 0), said
    assert all(each["rca"]["message"] and each["next"] == "person" for each in red)
    assert len(red) <= 2
    assert any(each["after"] == "passed" and each["patches"] for each in report["tests"])
    with django_site("5.2") as url:
        environment = os.environ | {"PLAYWRIGHT_CHROMIUM_EXECUTABLE_PATH": find_chromium() or ""}
        command = [str(PLAIN), "-m", "pytest", "-q", f"--base-url={url}"]
        ended = subprocess.run(
            command, cwd=suite, env=environment, capture_output=True, text=True, check=False
        )
    assert f"{17 - len(red)} passed" in ended.stdout, ended.stdout
