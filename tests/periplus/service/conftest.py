"""Where defects' tracebacks go while these tests run: not into the working directory."""

from __future__ import annotations

import pytest


@pytest.fixture(autouse=True, scope="module")
def _logs_elsewhere(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PERIPLUS_DATA_DIR", str(tmp_path_factory.mktemp("data")))
        yield
