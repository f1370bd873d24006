"""The errors of stores. Adapters map their drivers' errors to these.

    StoreError
    |-- StoreUnavailable    it did not answer; trying again later may help
    |-- GenerationGone      the generation was deleted while it was read; read again
    |-- GenerationMoved     other knowledge was loaded meanwhile; read again
    |-- LoadConflict        another loader is loading this website
    |   `-- LeaseLost       ... and took over from this loader
    |-- NoSuchWebsite       nothing is stored under that id
    |-- StoreTooNew         the data has a newer schema version
    `-- StoreCorrupt        the data is not what was loaded; load again

Every error says what happened (`message`) and what to do about it (`fix`).
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence

from kb_schema import Problem
from kb_schema.base import SCHEMA_VERSION


class StoreError(Exception):
    """The base class of all store errors."""

    retriable = False
    """Whether the same call may succeed later without any intervention."""

    def __init__(self, message: str, *, fix: str) -> None:
        self.message, self.fix = message, fix
        super().__init__(f"{message} -> {fix}")


class StoreUnavailable(StoreError):
    """The store at `address` did not answer, or not in time."""

    retriable = True

    def __init__(self, address: str, reason: str, *, fix: str) -> None:
        self.address, self.reason = address, reason
        super().__init__(f"the store at {address} is not available: {reason}", fix=fix)


class GenerationGone(StoreError):
    """A reader's pin expired and its generation was collected."""

    retriable = True

    def __init__(self, website_id: str, generation: int) -> None:
        self.website_id, self.generation = website_id, generation
        super().__init__(
            f"generation {generation} of {website_id!r} was collected while it was being read",
            fix="read again: there is a newer one",
        )


class GenerationMoved(StoreError):
    """The generation to replace is no longer active. Nothing was changed."""

    retriable = True

    def __init__(self, website_id: str, expected: int, found: int | None) -> None:
        self.website_id, self.expected, self.found = website_id, expected, found
        now = "nothing is active" if found is None else f"generation {found} is active"
        super().__init__(
            f"generation {expected} of {website_id!r} was replaced meanwhile, {now}; nothing was changed",
            fix="run the command again: it starts from the current generation",
        )


class LoadConflict(StoreError):
    """Another loader holds the website. Nothing was changed."""

    retriable = True

    def __init__(self, website_id: str, holder: str, *, free_in: float) -> None:
        self.website_id, self.holder, self.free_in = website_id, holder, free_in
        super().__init__(
            f"{website_id!r} is being loaded by {holder}",
            fix=f"wait until it is done and load again; if it died, its lease expires in {free_in:.0f} s",
        )


class LeaseLost(LoadConflict):
    """This loader did not renew its lease in time, and another one took over."""

    def __init__(self, website_id: str) -> None:
        super().__init__(website_id, "another loader, which took over", free_in=0)


class NoSuchWebsite(StoreError):
    """The store has no such website. `known` has the ids it has."""

    def __init__(self, website_id: str, known: Iterable[str]) -> None:
        self.website_id, self.known = website_id, tuple(sorted(known))
        close = difflib.get_close_matches(website_id, self.known, n=1)
        if close:
            fix = f'did you mean "{close[0]}"?'
        elif self.known:
            fix = f"known: {', '.join(self.known)}"
        else:
            fix = "nothing is loaded yet: `periplus kb load DIR`"
        super().__init__(f"no website {website_id!r} in the store", fix=fix)


class StoreTooNew(StoreError):
    """The stored data was written by a newer Periplus, in a schema version that this one does not know."""

    def __init__(self, version: int) -> None:
        self.version = version
        super().__init__(
            f"what is stored is of schema_version {version}, and this Periplus knows versions up to "
            f"{SCHEMA_VERSION}",
            fix="use a newer Periplus, or load the knowledge from files of this version",
        )


class StoreCorrupt(StoreError):
    """The stored data is not what was loaded. `problems` names the documents, if they are known."""

    def __init__(self, address: str, reason: str, *, problems: Sequence[Problem] = ()) -> None:
        self.address, self.reason, self.problems = address, reason, tuple(problems)
        listing = "".join(f"\n  {problem}" for problem in self.problems[:10])
        super().__init__(
            f"the store at {address} is damaged: {reason}{listing}",
            fix="load the knowledge again from its files",
        )
