"""How one instance of the site is configured. What the instance then holds is in ``site.py``."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

UiVersion = Literal[1, 2]

DEMO_EMAIL = "demo@spadeworks.example"
DEMO_PASSWORD = "spadeworks-demo"  # noqa: S105 - the public password of a demonstration account


@dataclass(frozen=True)
class Settings:
    """The choices made when the site starts."""

    test_controls: bool = False  # whether /__control/... exists at all
    ui_version: UiVersion = 1  # which markup the visitors get; 2 is "after the redesign"
    max_visitors: int = 200  # the visitor not seen for longest is forgotten first
    max_body_bytes: int = 512 * 1024  # larger requests are refused
    clock: Callable[[], float] = time.time  # seconds since the epoch; drives the one-time codes
