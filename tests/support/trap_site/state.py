"""What the trap site remembers: everything that was changed on it, and who came where they should not."""

from collections import Counter
from dataclasses import dataclass, field


@dataclass
class State:
    """`changes` stays empty when the site is only looked at; `seen` counts visits that tell something."""

    changes: Counter[str] = field(default_factory=Counter)
    seen: Counter[str] = field(default_factory=Counter)
    items: list[int] = field(default_factory=lambda: list(range(1, 9)))
    signed_in: set[str] = field(default_factory=lambda: {"tester"})
    requests: int = 0

    def as_json(self) -> dict[str, object]:
        """For the control endpoint."""
        return {
            "changes": dict(self.changes),
            "seen": dict(self.seen),
            "items": self.items,
            "signed_in": sorted(self.signed_in),
            "requests": self.requests,
        }
