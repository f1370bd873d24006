"""The mongod of the tests: it dies with the run however that ends."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.support.mongod import need_mongod, with_database
from tests.support.processes import process_is_alive

pytestmark = pytest.mark.mongodb

RUN = """
import pathlib, sys
from tests.support.mongod import Mongod
mongod = Mongod(pathlib.Path(sys.argv[1]))
mongod.start()
print(mongod.process.pid, flush=True)
sys.stdin.read()
"""


def test_no_mongod_outlives_a_test_run_that_was_killed(tmp_path):
    need_mongod()
    run = subprocess.Popen(
        [sys.executable, "-c", RUN, str(tmp_path)],
        cwd=Path(__file__).parents[2], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    pid = int(run.stdout.readline())
    assert process_is_alive(pid)
    run.kill()
    run.communicate()
    until = time.monotonic() + 10
    while process_is_alive(pid):
        assert time.monotonic() < until


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("mongodb://h:1/?replicaSet=rs0", "mongodb://h:1/kb?replicaSet=rs0"),
        ("mongodb://u:p@h:1,g:2/other", "mongodb://u:p@h:1,g:2/kb"),
        ("mongodb://h", "mongodb://h/kb"),
    ],
)
def test_a_database_is_put_into_a_url(url, expected):
    assert with_database(url, "kb") == expected
