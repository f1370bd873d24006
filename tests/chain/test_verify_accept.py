"""`periplus verify --accept`: an element that was offered is used from then on."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys

import pytest

from tests.interface_changes.measurement import build_requirements
from tests.interface_changes.operators import apply_operators
from tests.interface_changes.site_models import SITES
from tests.interface_changes.site_server import serve_site
from tests.support import warm


@pytest.fixture(scope="module")
def shown():
    with serve_site() as site:
        yield site


def verify(cwd, base, *more):
    done = warm.run(
        "periplus", "verify", "add.txt", "--base-url", base, "--no-tests", "--out", "o", "--json", *more,
        cwd=cwd, env={"COLUMNS": "200"}, timeout=110,
    )  # fmt: skip
    report = json.loads(done.stdout)["requirements"][0] if done.stdout else None
    return done, report


def test_an_offered_element_is_declined_first_and_used_once_it_is_accepted(shown, tmp_path):
    (tmp_path / "add.txt").write_text(build_requirements(SITES["library"])["add"])
    shown.show(SITES["library"])
    done, _ = verify(tmp_path, shown.base)
    assert done.returncode == 0, done.stderr

    shown.show(apply_operators("library", ("rename_save",)))
    done, report = verify(tmp_path, shown.base)
    assert done.returncode == 1
    assert (report["verdict"], report["rca"]["class"]) == ("fail", "healing_declined")
    offered = report["offered"]
    assert (offered["req_id"], offered["step_idx"]) == ("add", 4)
    assert offered["description"] == "button 'Check out'"
    assert 0 < offered["likeness"] < 1
    assert offered["against"] == ["'Check out' pays"]
    assert "--accept add:5" in report["rca"]["recommendation"]
    assert shown.journal == [], "nothing was pressed"
    page = (tmp_path / "o" / "report.html").read_text()
    assert "healing_declined" in page
    assert "&#39;Check out&#39; pays" in page

    done, report = verify(tmp_path, shown.base, "--accept", "add:2")
    assert done.returncode == 2
    assert "nothing is offered for step 2 of add" in done.stderr
    assert "step 5 of add has an offer" in done.stderr

    done, report = verify(tmp_path, shown.base, "--accept", "add:5")
    assert done.returncode == 0, done.stderr
    assert "accepted: Lend is button 'Check out'" in done.stderr
    assert (report["verdict"], report["summary"]["heal_rounds"]) == ("pass", 0)

    done, report = verify(tmp_path, shown.base)
    assert (report["verdict"], report["summary"]["heal_rounds"]) == ("pass", 0), "it is remembered"


def verify_at_a_terminal(cwd, base, typed):
    """Run `verify --ask` with a terminal at which this was typed."""
    master, slave = pty.openpty()
    try:
        os.write(master, typed)
        command = [sys.executable, "-m", "periplus", "verify", "add.txt", "--base-url", base, "--no-tests", "--out", "o",
                   "--json", "--ask"]  # fmt: skip
        environment = {**os.environ, "COLUMNS": "200", "PYTHONPATH": str(warm.ROOT)}
        done = subprocess.run(
            command,
            cwd=cwd,
            env=environment,
            stdin=slave,
            capture_output=True,
            text=True,
            check=False,
            timeout=150,
        )
    finally:
        os.close(master)
        os.close(slave)
    return done, json.loads(done.stdout)["requirements"][0]


@pytest.mark.timeout(300)
def test_what_is_offered_is_asked_at_the_terminal(shown, tmp_path, monkeypatch):
    monkeypatch.setenv("PERIPLUS_DATA_DIR", str(tmp_path / ".periplus"))
    (tmp_path / "add.txt").write_text(build_requirements(SITES["library"])["add"])
    shown.show(SITES["library"])
    done, _ = verify(tmp_path, shown.base)
    assert done.returncode == 0, done.stderr
    shown.show(apply_operators("library", ("rename_save",)))
    done, report = verify_at_a_terminal(tmp_path, shown.base, b"\n")
    assert (done.returncode, report["rca"]["class"]) == (1, "healing_declined"), done.stderr
    assert "against it: 'Check out' pays" in done.stderr
    assert "Use it from now on? (y/N)" in done.stderr
    done, report = verify_at_a_terminal(tmp_path, shown.base, b"y\n")
    assert (done.returncode, report["verdict"]) == (0, "pass"), done.stderr
    done, report = verify(tmp_path, shown.base)
    assert (report["verdict"], report["summary"]["heal_rounds"]) == ("pass", 0), "it is remembered"


def test_without_a_terminal_nothing_can_be_asked(shown, tmp_path):
    (tmp_path / "add.txt").write_text(build_requirements(SITES["library"])["add"])
    done, _ = verify(tmp_path, shown.base, "--ask")
    assert done.returncode == 2
    assert "--ask needs a terminal" in done.stderr


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("add", "names no step of a requirement"),
        ("add:0", "names no step of a requirement"),
        ("other:3", "no requirement has the id other"),
        ("add:1", "nothing is offered for step 1 of add"),
    ],
)
def test_what_cannot_be_accepted_is_an_error_with_its_correction(shown, tmp_path, said, told):
    (tmp_path / "add.txt").write_text(build_requirements(SITES["library"])["add"])
    done, report = verify(tmp_path, shown.base, "--accept", said)
    assert (done.returncode, report) == (2, None)
    assert told in done.stderr
