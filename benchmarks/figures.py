"""Figures of a benchmark, kept in `out/bench/NAME.json` part by part, so that an interrupted measurement goes on."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

FOLDER = Path("out/bench")


class Figures:
    """The parts that were measured: name -> figures."""

    def __init__(self, name: str, folder: Path = FOLDER) -> None:
        self.path = folder / f"{name}.json"
        self._kept: dict[str, Any] = {}
        if self.path.exists():
            self._kept = json.loads(self.path.read_text(encoding="utf-8"))

    @property
    def parts(self) -> dict[str, dict[str, float]]:
        """Name -> figures, each a number."""
        return {name: part["figures"] for name, part in self._kept.items()}

    @property
    def measured(self) -> str:
        """The days of the oldest and the newest part."""
        days = sorted({part["measured"] for part in self._kept.values()})
        return " to ".join(dict.fromkeys(days[:1] + days[-1:]))

    def add(self, name: str, figures: dict[str, float]) -> None:
        """Keep the figures of a part, with the time."""
        self._kept[name] = {"measured": f"{datetime.now(UTC):%Y-%m-%d}", "figures": figures}
        self.path.parent.mkdir(parents=True, exist_ok=True)
        fresh = self.path.with_suffix(".new")
        fresh.write_text(json.dumps(self._kept, indent=2) + "\n", encoding="utf-8")
        fresh.replace(self.path)
