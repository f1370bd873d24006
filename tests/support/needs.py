"""What a test needs and does not find."""

from __future__ import annotations

import os
from typing import NoReturn

import pytest


def lacking(message: str) -> NoReturn:
    """Skip and say why. CI installs everything: there it is a failure of setup, not a reason to skip."""
    if os.environ.get("CI"):
        pytest.fail(message)
    pytest.skip(message)
