"""LiveKit's JavaScript client, as `make setup` bundles it where Node is; never part of this package."""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path

BUNDLE = Path(".tools/livekit-client/livekit-client.umd.js")
"""In a checkout; `PERIPLUS_LIVEKIT_CLIENT` names another file."""


@cache
def livekit_client() -> Path | None:
    """Where it is; None where it is not, and the page then shows its plain picture stream."""
    named = os.environ.get("PERIPLUS_LIVEKIT_CLIENT")
    path = Path(named) if named else Path(__file__).parents[3] / BUNDLE
    return path if path.is_file() else None
