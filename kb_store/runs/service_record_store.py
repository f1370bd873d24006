"""The port for records of the service: jobs, schedules, webhooks and deliveries (`kb_schema.service_records`).

It decides nothing about them. Implementations: `kb_store.sqlite.service_record_store`,
`kb_store.mongodb.service_record_store`; each passes `tests/kb_store/runs/test_service_record_store.py`.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Protocol, TypeVar

if TYPE_CHECKING:
    from kb_schema.service_records import ServiceRecord

R = TypeVar("R", bound="ServiceRecord")


class ServiceRecordStore(Protocol):
    """The records of one store. All methods raise `StoreUnavailable` if it does not answer."""

    async def add(self, record: ServiceRecord) -> bool:
        """Store a new record. Returns False, and changes nothing, if its key is known."""

    async def replace(self, record: R) -> R | None:
        """Replace the revision that was read, in one statement, and return the record with its new revision.

        None, and nothing is changed, if another writer was faster or the record was deleted.
        """

    async def find(self, kind: type[R], key: str) -> R | None:
        """Return one record."""

    async def select(
        self,
        kind: type[R],
        *,
        states: Collection[str] = (),
        group: str | None = None,
        oldest_first: bool = False,
        limit: int = 500,
    ) -> Sequence[R]:
        """Return records by their time, then key; of all states if none is named."""

    async def delete(self, kind: type[ServiceRecord], key: str) -> bool:
        """Delete a record. Returns False if it is unknown."""

    async def sweep(self, kind: type[ServiceRecord], *, states: Collection[str], before: datetime) -> int:
        """Delete the records of these states whose time is before a time; return their number."""


def format_sort_time(at: datetime) -> str:
    """Return a time as text that sorts by time."""
    return at.astimezone(UTC).isoformat(timespec="milliseconds")


def with_next_revision(record: R) -> R:
    """Return the record as it is stored next."""
    return record.model_copy(update={"revision": record.revision + 1})
