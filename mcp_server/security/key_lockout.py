"""Refuses wrong keys for a time that doubles with each further one: by address, and of all addresses together.

A client may choose its address, behind a proxy that passes on what the client says; so wrong keys are counted in total, too
(decision 0155).
"""

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
IN_TOTAL = 10
"""How many times as many wrong keys are free in total as from one address."""
LONGEST_IN_TOTAL_S = 60.0
"""The longest time for which new keys of all addresses are not looked at: somebody else's guesses cost no more."""


@dataclass(frozen=True, slots=True)
class _WrongKeys:
    count: int
    since: float
    """When the last one came."""


class KeyLockout:
    """Counts wrong keys, by address and in total. `clock` gives seconds and only goes forward.

    A key that was right at an address before is not locked out there: others behind the same proxy may guess. One that
    was right anywhere is not locked out by what others offer.
    """

    def __init__(self, free: int = 10, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._free, self._clock = free, clock
        self._wrong: OrderedDict[str, _WrongKeys] = OrderedDict()
        self._right: OrderedDict[bytes, None] = OrderedDict()
        self._total = _WrongKeys(0, 0.0)

    def wait(self, address: str, key: str) -> float:
        """Return the seconds for which a key of this address is not looked at; 0 if it is."""
        by_address = in_total = 0.0
        if _mark("", key) not in self._right:
            in_total = self._left(self._total, self._free * IN_TOTAL, LONGEST_IN_TOTAL_S)
        found = self._wrong.get(address)
        if found is not None and _mark(address, key) not in self._right:
            by_address = self._left(found, self._free, LONGEST_S)
        return max(by_address, in_total)

    def _left(self, wrong: _WrongKeys, free: int, longest_s: float) -> float:
        if wrong.count < free:
            return 0.0
        locked = min(longest_s, 2.0 ** min(wrong.count - free, 20))
        return max(0.0, wrong.since + locked - self._clock())

    def note(self, address: str, key: str, *, right: bool) -> None:
        """Record whether a key was right."""
        if right:
            self._wrong.pop(address, None)
            for mark in (_mark(address, key), _mark("", key)):
                self._right[mark] = None
                self._right.move_to_end(mark)
        else:
            self._wrong[address] = self._one_more(self._wrong.pop(address, None))
            self._total = self._one_more(self._total)
        for known in (self._wrong, self._right):
            while len(known) > MOST_ADDRESSES:
                known.popitem(last=False)

    def _one_more(self, found: _WrongKeys | None) -> _WrongKeys:
        now = self._clock()
        count = 0 if found is None or now - found.since > FORGOTTEN_AFTER_S else found.count
        return _WrongKeys(count + 1, now)


def _mark(address: str, key: str) -> bytes:
    return hashlib.sha256(f"{address}\0{key}".encode("utf-8", "replace")).digest()
