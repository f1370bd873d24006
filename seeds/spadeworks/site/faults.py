"""The things that go wrong on purpose: which faults are armed, and which one meets a request.

Arming happens through ``control.py``; ``middleware.py`` and ``web.py`` carry the faults out.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum


class FaultKind(StrEnum):
    """Everything the site can be told to get wrong."""

    DELAY = "delay"  # answer only after ``ms``
    ERROR_500 = "error_500"  # answer with the error page; nothing is committed
    DROP_AFTER_COMMIT = "drop_after_commit"  # do the work, then close the connection unanswered
    EXPIRE_SESSION = "expire_session"  # the session is gone when the request arrives
    MODAL = "modal"  # a newsletter overlay lies over the next page
    ANIMATION = "animation"  # primary buttons move for ``ms`` after the page has loaded
    UNDELETABLE_EMAIL = "undeletable_email"  # deleting ``email_id`` (or any message) is refused
    NEW_EMAIL = "new_email"  # another message arrives while the request is handled


PAGE_KINDS = frozenset({FaultKind.MODAL, FaultKind.ANIMATION})

_DELETE_EMAIL = r"^/inbox/[^/]+/delete$"


@dataclass
class Fault:
    """One armed fault. It fires on the first ``times`` matching requests."""

    kind: FaultKind
    path: str = ""  # a prefix, or a regular expression if it starts with "^"; "" is any page
    times: int = 1  # 0: until it is cleared
    method: str = ""  # GET or POST; "" is any
    visitor: str = ""  # a visitor's id; "" is anybody
    ms: int = 1000  # delay, animation
    email_id: str = ""  # undeletable_email
    fired: int = 0

    def __post_init__(self) -> None:
        if self.path.startswith("^"):
            re.compile(self.path)

    @classmethod
    def of_kind(cls, kind: FaultKind) -> "Fault":
        """Return a fault with the defaults that make sense for its kind."""
        match kind:
            case FaultKind.DROP_AFTER_COMMIT:
                return cls(kind, method="POST")
            case FaultKind.NEW_EMAIL:
                return cls(kind, path=_DELETE_EMAIL)
            case FaultKind.UNDELETABLE_EMAIL:
                return cls(kind, path=_DELETE_EMAIL, times=0)
            case _:
                return cls(kind)

    def matches(self, method: str, path: str, visitor_id: str) -> bool:
        """Say whether this request is one the fault is meant for."""
        on_path = re.search(self.path, path) if self.path.startswith("^") else path.startswith(self.path)
        return (
            bool(on_path)
            and self.method in ("", method)
            and self.visitor in ("", visitor_id)
            and (self.times == 0 or self.fired < self.times)
        )


class FaultBoard:
    """The armed faults, oldest first."""

    def __init__(self) -> None:
        self._armed: list[Fault] = []

    def arm(self, fault: Fault) -> None:
        """Add a fault."""
        self._armed.append(fault)

    def clear(self) -> None:
        """Disarm everything."""
        self._armed.clear()

    def all(self) -> list[Fault]:
        """Return every fault armed since the last clearing, spent ones included."""
        return list(self._armed)

    def take(
        self, kinds: Iterable[FaultKind], method: str, path: str, visitor_id: str, *, email_id: str = ""
    ) -> list[Fault]:
        """Return the faults of these kinds that fire now, at most one per kind, and count them."""
        firing: dict[FaultKind, Fault] = {}
        wanted = frozenset(kinds)
        for fault in self._armed:
            if (
                fault.kind in wanted
                and fault.kind not in firing
                and fault.email_id in ("", email_id)
                and fault.matches(method, path, visitor_id)
            ):
                fault.fired += 1
                firing[fault.kind] = fault
        return list(firing.values())
