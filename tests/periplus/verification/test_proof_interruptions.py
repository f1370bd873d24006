"""A proof that is ended from outside says nothing about the generated test."""

from __future__ import annotations

import pytest

from periplus.verification.generated_test_proof import GeneratedTestProver
from periplus.verification.pytest_proof import run_pytest

ENDED = "import os, signal\n\n\ndef test_it():\n    os.kill(os.getpid(), signal.SIGTERM)\n"
OWN_SESSION = "import os\n\n\ndef test_it():\n    assert os.getsid(0) == os.getpid()\n"


@pytest.fixture
def suite(tmp_path):
    (tmp_path / "pytest.ini").write_text("[pytest]\n")

    def write(source):
        (tmp_path / "test_it.py").write_text(source)
        return tmp_path

    return write


async def test_the_signal_that_ended_pytest_is_told_and_a_red_test_has_none(suite):
    ended = await run_pytest(suite(ENDED), ["test_it.py"], {}, None)
    assert (ended.passed, ended.ended_by) == (False, 15)
    red = await run_pytest(suite("def test_it():\n    assert False\n"), ["test_it.py"], {}, None)
    assert (red.passed, red.ended_by) == (False, None)


class CopiedSuite:
    """Stands in for a suite's folder that is written to."""

    async def copy_tests(self, to):
        to.mkdir()
        (to / "pytest.ini").write_text("[pytest]\n")
        (to / "test_it.py").write_text(ENDED)


async def test_a_proof_that_was_ended_from_outside_is_no_red_test():
    prover = GeneratedTestProver("always", None)
    proof = await prover.prove(CopiedSuite(), None, "tests/test_it.py", None, {}, lambda: None)
    assert (proof.status, proof.reason) == ("not_proved", "pytest was ended by signal 15")


async def test_signals_to_the_verification_do_not_reach_the_test(suite):
    assert (await run_pytest(suite(OWN_SESSION), ["test_it.py"], {}, None)).passed
