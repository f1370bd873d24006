"""Mappings and sequences whose values are made when they are asked for, and then stay. Any thread may ask."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TypeVar, overload

V = TypeVar("V")


class LazyMapping(Mapping[str, V]):
    """Values by key; `make` returns the same value whenever it is asked."""

    __slots__ = ("_keys", "_made", "_make")

    def __init__(self, keys: Iterable[str], make: Callable[[str], V]) -> None:
        self._keys = keys if isinstance(keys, dict) else dict.fromkeys(keys)
        self._make = make
        self._made: dict[str, V] = {}

    def __getitem__(self, key: str) -> V:
        if key in self._made:
            return self._made[key]
        if key not in self._keys:
            raise KeyError(key)
        return self._made.setdefault(key, self._make(key))

    def __contains__(self, key: object) -> bool:
        return key in self._keys

    def __iter__(self) -> Iterator[str]:
        return iter(self._keys)

    def __len__(self) -> int:
        return len(self._keys)

    def changed(self, values: Mapping[str, V]) -> LazyMapping[V]:
        """Return a mapping with other values for some of its keys."""
        other = LazyMapping(self._keys, self._make)
        other._made = {**self._made, **values}
        return other


class LazySequence(Sequence[V]):
    """Values by number."""

    __slots__ = ("_length", "_made", "_make")

    def __init__(self, length: int, make: Callable[[int], V]) -> None:
        self._length, self._make = length, make
        self._made: dict[int, V] = {}

    @overload
    def __getitem__(self, number: int) -> V: ...
    @overload
    def __getitem__(self, number: slice) -> Sequence[V]: ...
    def __getitem__(self, number: int | slice) -> V | Sequence[V]:
        if isinstance(number, slice):
            return [self[each] for each in range(*number.indices(self._length))]
        if number in self._made:
            return self._made[number]
        if not -self._length <= number < self._length:
            raise IndexError(number)
        return self._made.setdefault(number, self._make(number % self._length))

    def __len__(self) -> int:
        return self._length

    def changed(self, values: Mapping[int, V]) -> LazySequence[V]:
        """Return a sequence with other values at some numbers."""
        other = LazySequence(self._length, self._make)
        other._made = {**self._made, **values}
        return other
