"""The pantry, compiled."""

from __future__ import annotations

import pytest

from mcp_server.knowledge.compiled_view import KnowledgeView, compile_view
from tests.mcp_server import pantry
from tests.support.arango_stores import graph  # noqa: F401 - fixture


@pytest.fixture(scope="session")
def view() -> KnowledgeView:
    return compile_view(pantry.knowledge(), "1")
