"""What can go wrong with a store. Drivers' errors become these at the adapters' edge.

    StoreError
    |-- StoreUnavailable    it did not answer; trying again later may help
    |-- GenerationGone      what was being read was collected; reading again helps
    |-- GenerationMoved     other knowledge was loaded since one looked; look again
    |-- LoadConflict        somebody else is loading this website
    |   `-- LeaseLost       ... and took over from this loader
    |-- NoSuchWebsite       nothing is stored under that id
    |-- StoreTooNew         what is stored is of a schema version from the future
    `-- StoreCorrupt        what is stored is not what was loaded; loading again mends it

Every error says what happened (`message`) and what to do about it (`fix`).
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence

from kb_schema import Problem
from kb_schema.base import SCHEMA_VERSION


class StoreError(Exception):
    """The root of the tree."""

    retriable = False
    """Whether the same call may succeed later without anybody doing anything."""

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
    """A reader's pin ran out and the generation it was reading was collected."""

    retriable = True

    def __init__(self, website_id: str, generation: int) -> None:
        self.website_id, self.generation = website_id, generation
        super().__init__(
            f"generation {generation} of {website_id!r} was collected while it was being read",
            fix="read again: there is a newer one",
        )


class GenerationMoved(StoreError):
    """What was to be replaced is not active any more. Nothing was changed."""

    retriable = True

    def __init__(self, website_id: str, expected: int, found: int | None) -> None:
        self.website_id, self.expected, self.found = website_id, expected, found
        now = "nothing is active" if found is None else f"generation {found} is active"
        super().__init__(
            f"generation {expected} of {website_id!r} was replaced meanwhile, {now}; nothing was changed",
            fix="run the command again: it begins with what is there now",
        )


class LoadConflict(StoreError):
    """Another loader holds the website. Nothing was changed."""

    retriable = True

    def __init__(self, website_id: str, holder: str, *, free_in: float) -> None:
        self.website_id, self.holder, self.free_in = website_id, holder, free_in
        super().__init__(
            f"{website_id!r} is being loaded by {holder}",
            fix=f"wait until it is done and load again; if it died, the way is free in {free_in:.0f} s",
        )


class LeaseLost(LoadConflict):
    """This loader was out of touch for so long that another one took over."""

    def __init__(self, website_id: str) -> None:
        super().__init__(website_id, "another loader, which took over", free_in=0)


class NoSuchWebsite(StoreError):
    """Nothing is stored under that id. `known` has the ids there are."""

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
    """What is stored was written by a newer Periplus, in words this one does not know."""

    def __init__(self, version: int) -> None:
        self.version = version
        super().__init__(
            f"what is stored is of schema_version {version}, and this Periplus knows versions up to "
            f"{SCHEMA_VERSION}",
            fix="use a newer Periplus, or load the knowledge from files of this version",
        )


class StoreCorrupt(StoreError):
    """What is stored is not what was loaded. `problems` names the documents, where known."""

    def __init__(self, address: str, reason: str, *, problems: Sequence[Problem] = ()) -> None:
        self.address, self.reason, self.problems = address, reason, tuple(problems)
        told = "".join(f"\n  {problem}" for problem in self.problems[:10])
        super().__init__(
            f"the store at {address} is damaged: {reason}{told}",
            fix="load the knowledge again from its files",
        )
