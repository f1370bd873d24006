"""The pantry, compiled."""

from __future__ import annotations

import pytest

from mcp_server.compiled import View, compile_view
from tests.mcp_server import pantry


@pytest.fixture(scope="session")
def view() -> View:
    return compile_view(pantry.knowledge(), "1")
