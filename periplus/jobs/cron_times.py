"""The times of a cron expression in a time zone. `cronsim` parses it and handles changes of the clock like Debian's cron."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from cronsim import CronSim, CronSimError

from periplus.errors import UserError

FIELDS = 5
EXAMPLE = "write minute, hour, day of month, month and day of week: `0 6 * * 1-5` is 06:00 on workdays"


def check_cron(cron: str, zone: str) -> None:
    """Raise `UserError` for an expression or a zone that cannot be used, or one that is never due."""
    if len(cron.split()) != FIELDS:
        raise UserError(
            f"the cron expression {cron!r} has {len(cron.split())} fields, expected {FIELDS}", fix=EXAMPLE
        )
    if find_next_time(cron, zone, datetime.now(UTC)) is None:
        raise UserError(f"the cron expression {cron!r} is never due", fix=EXAMPLE)


def find_next_time(cron: str, zone: str, after: datetime) -> datetime | None:
    """Return the first time after `after`, in UTC; None if there is none within 50 years. Raises `UserError`."""
    return next(iterate_times(cron, zone, after), None)


def iterate_times(cron: str, zone: str, after: datetime) -> Iterator[datetime]:
    """Yield the times after `after`, in UTC, the earliest first. Raises `UserError`."""
    for each in _parse(cron, zone, after):
        yield each.astimezone(UTC)


def describe_cron(cron: str) -> str:
    """Return an expression in words, such as `At 06:00 on Monday through Friday`. Raises `UserError`."""
    return _parse(cron, "UTC", datetime.now(UTC)).explain()


def _parse(cron: str, zone: str, after: datetime) -> CronSim:
    try:
        place = ZoneInfo(zone)
    except (ZoneInfoNotFoundError, ValueError, OSError) as exc:
        raise UserError(
            f"no time zone {zone!r}",
            fix="write a name like Europe/Berlin or UTC (the IANA time zone database)",
        ) from exc
    try:
        return CronSim(cron, after.astimezone(place))
    except CronSimError as exc:
        raise UserError(f"the cron expression {cron!r} is wrong: {str(exc).lower()}", fix=EXAMPLE) from exc
