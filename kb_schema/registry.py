"""A table of named entries: actions, outcomes, rules. Adding an entry is one decorated function."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TypeVar

T = TypeVar("T")


class Registry(Mapping[str, T]):
    """A mapping that is filled with `register`. `kind` names its entries in errors.

    WRITERS = Registry[Writer]("action")

    @WRITERS.register("click")
    def _click(...): ...
    """

    def __init__(self, kind: str) -> None:
        self._kind = kind
        self._entries: dict[str, T] = {}

    def register(self, *names: str) -> Callable[[T], T]:
        """Register the decorated entry under these names, or under its own name if none is given.

        Raises `ValueError` if a name is taken.
        """

        def add(entry: T) -> T:
            for name in names or (str(getattr(entry, "__name__", entry)),):
                if name in self._entries:
                    raise ValueError(
                        f"two entries are registered for the {self._kind} {name!r}: rename or delete one"
                    )
                self._entries[name] = entry
            return entry

        return add

    def __getitem__(self, name: str) -> T:
        """Return the entry. Raises `KeyError` that lists the known names."""
        try:
            return self._entries[name]
        except KeyError:
            known = ", ".join(sorted(self._entries))
            raise KeyError(f"no {self._kind} {name!r} is registered; known: {known}") from None

    def __iter__(self) -> Iterator[str]:
        return iter(self._entries)

    def __len__(self) -> int:
        return len(self._entries)
