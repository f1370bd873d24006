"""Refuses an address that offers wrong keys, for a time that doubles with each further one."""

from __future__ import annotations

import hashlib
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass

MOST_ADDRESSES = 10_000
"""Addresses and keys that are remembered; the one unused longest goes first."""
LONGEST_S = 900.0
FORGOTTEN_AFTER_S = 3_600.0
"""Without a wrong key for this long, an address begins anew."""


@dataclass(frozen=True, slots=True)
class _WrongKeys:
    count: int
    since: float
    """When the last one came."""


class KeyLockout:
    """Counts wrong keys by address. `clock` gives seconds and only goes forward.

    A key that was right at an address before is not locked out there: others behind the same proxy may guess.
    """

    def __init__(self, free: int = 10, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._free, self._clock = free, clock
        self._wrong: OrderedDict[str, _WrongKeys] = OrderedDict()
        self._right: OrderedDict[bytes, None] = OrderedDict()

    def wait(self, address: str, key: str) -> float:
        """Return the seconds for which a key of this address is not looked at; 0 if it is."""
        found = self._wrong.get(address)
        if found is None or found.count < self._free or _mark(address, key) in self._right:
            return 0.0
        locked = min(LONGEST_S, 2.0 ** min(found.count - self._free, 20))
        return max(0.0, found.since + locked - self._clock())

    def note(self, address: str, key: str, *, right: bool) -> None:
        """Record whether a key was right."""
        if right:
            self._wrong.pop(address, None)
            self._right[_mark(address, key)] = None
            self._right.move_to_end(_mark(address, key))
        else:
            found, now = self._wrong.pop(address, None), self._clock()
            count = 0 if found is None or now - found.since > FORGOTTEN_AFTER_S else found.count
            self._wrong[address] = _WrongKeys(count + 1, now)
        for known in (self._wrong, self._right):
            if len(known) > MOST_ADDRESSES:
                known.popitem(last=False)


def _mark(address: str, key: str) -> bytes:
    return hashlib.sha256(f"{address}\0{key}".encode("utf-8", "replace")).digest()
