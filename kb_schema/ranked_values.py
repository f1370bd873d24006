"""Values by which texts of a page are ranked: numbers, amounts of money, durations, dates and times of day.

`read_ranked_value` reads one from a text, `read_ranking` reads from the words of a task which of several is meant:
"the cheapest", "longest duration", "lowest rating". Words are English. What is not plain has no value.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Literal

from kb_schema.transforms import ungroup_number

Measure = Literal["money", "duration", "date", "time", "number"]
"""What kind of value a text has."""
Order = Literal["least", "greatest"]

_NUMBER = r"-?(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?"
_MONEY = re.compile(
    rf"(?P<sign>[$\u20ac\u00a3\u00a5\u20b9]) ?(?P<behind>{_NUMBER})"
    rf"|(?P<before>{_NUMBER}) ?(?P<unit>[$\u20ac\u00a3\u00a5\u20b9]|USD|EUR|GBP|JPY|INR|AUD|CAD|CHF)(?![A-Za-z])"
)
_PLAIN = re.compile(rf"{_NUMBER}(?= ?%?(?:\s+[^\W\d]+)?$)")
"""A number with at most a word behind it: "4.5", "12 reviews", "80%"."""
_DURATION = re.compile(
    r"(?:(?P<d>\d+) ?d(?:ays?)?[ ,]*)?(?:(?P<h>\d+) ?h(?:ours?|rs?)?[ ,]*(?:and )?)?(?:(?P<m>\d+) ?m(?:in(?:ute)?s?)?)?\.?",
    re.IGNORECASE,
)
_CLOCK = re.compile(r"(?P<hour>\d{1,2}):(?P<minute>[0-5]\d)(?: ?(?P<half>[ap])\.?m\.?)?", re.IGNORECASE)
_DATES = (
    "%Y-%m-%d",
    "%m/%d/%Y",
    "%d.%m.%Y",
    "%B %d, %Y",
    "%d %B %Y",
    "%b %d, %Y",
    "%d %b %Y",
    "%a %b %d %Y",
)
_LABEL = re.compile(r"[^\W\d][^\d:]{0,30}:\s*")
"""A label before the value: "Duration: 3 h"."""
_LEAST = frozenset(
    [
        "cheapest",
        "least",
        "lowest",
        "fewest",
        "smallest",
        "shortest",
        "earliest",
        "oldest",
        "quickest",
        "fastest",
        "minimum",
        "min",
        "minimal",
        "lightest",
    ]
)
_GREATEST = frozenset(
    [
        "most",
        "highest",
        "greatest",
        "largest",
        "biggest",
        "longest",
        "latest",
        "newest",
        "slowest",
        "maximum",
        "max",
        "maximal",
        "heaviest",
        "dearest",
    ]
)
_MEASURES: dict[Measure, frozenset[str]] = {
    "money": frozenset(
        [
            "cheapest",
            "dearest",
            "expensive",
            "cost",
            "costs",
            "price",
            "prices",
            "priced",
            "cheap",
            "fare",
            "amount",
        ]
    ),
    "duration": frozenset(["shortest", "longest", "quickest", "fastest", "slowest", "duration", "long"]),
    "date": frozenset(["earliest", "latest", "oldest", "newest", "recent", "date", "day"]),
    "time": frozenset(["earliest", "latest", "time"]),
}


@dataclass(frozen=True, slots=True)
class RankedValue:
    """A value that can be compared with others of its measure and unit."""

    measure: Measure
    value: Decimal
    unit: str = ""
    """The sign or code of a currency."""


@dataclass(frozen=True, slots=True)
class Ranking:
    """Which of several values is meant."""

    order: Order
    measures: frozenset[Measure]
    """What the values may be; empty: anything."""


def read_ranked_value(text: str) -> RankedValue | None:
    """Return the only value of a text; None if it has none, or several.

    >>> read_ranked_value("Book for $1,945"), read_ranked_value("27h 38m").value
    (RankedValue(measure='money', value=Decimal('1945'), unit='$'), Decimal('1658'))
    """
    said = " ".join(text.split())
    bare = _LABEL.sub("", said, count=1) if _LABEL.match(said) else said
    return _read_money(said) or next(
        (found for read in (_read_date, _read_time, _read_duration, _read_number) if (found := read(bare))),
        None,
    )


def read_ranking(words: str) -> Ranking | None:
    """Return which value the words of a task mean; None if they do not say it, or say two.

    >>> read_ranking("most expensive cost").order, read_ranking("least expensive").order, read_ranking("red")
    ('greatest', 'least', None)
    """
    told = re.findall(r"[a-z]+", words.lower())
    orders: set[Order] = {"least" for each in told if each in _LEAST} | {
        "greatest" for each in told if each in _GREATEST
    }
    if len(orders) != 1:
        return None
    measures = {measure for measure, known in _MEASURES.items() if known & set(told)}
    return Ranking(orders.pop(), frozenset(measures))


def find_extreme(texts: Iterable[str], ranking: Ranking) -> int | None:
    """Return the index of the text whose value is the least or greatest.

    None if a text has no value of the ranking's measures, the values are of several measures or units, or two texts
    have the extreme value.
    """
    values = [read_ranked_value(each) for each in texts]
    known = [each for each in values if each is not None]
    if not known or len(known) < len(values) or len({(each.measure, each.unit) for each in known}) != 1:
        return None
    if ranking.measures and known[0].measure not in ranking.measures:
        return None
    numbers = [each.value for each in known]
    best = min(numbers) if ranking.order == "least" else max(numbers)
    return numbers.index(best) if numbers.count(best) == 1 else None


def _read_money(text: str) -> RankedValue | None:
    found = list(_MONEY.finditer(text))
    if len(found) != 1:
        return None
    number = ungroup_number(found[0]["behind"] or found[0]["before"])
    return RankedValue("money", Decimal(number), found[0]["sign"] or found[0]["unit"])


def _read_date(text: str) -> RankedValue | None:
    for pattern in _DATES:
        try:
            day = datetime.strptime(text, pattern)  # noqa: DTZ007 - a date has no time zone
        except ValueError:
            continue
        return RankedValue("date", Decimal(day.toordinal()))
    return None


def _read_time(text: str) -> RankedValue | None:
    told = _CLOCK.fullmatch(text)
    if told is None:
        return None
    hour, half = int(told["hour"]), (told["half"] or "").lower()
    if hour > (12 if half else 23) or (half and not hour):
        return None
    hour = hour % 12 + (12 if half == "p" else 0) if half else hour
    return RankedValue("time", Decimal(60 * hour + int(told["minute"])))


def _read_duration(text: str) -> RankedValue | None:
    told = _DURATION.fullmatch(text)
    if told is None or not any(told.groupdict().values()):
        return None
    days, hours, minutes = (int(told[each] or 0) for each in ("d", "h", "m"))
    return RankedValue("duration", Decimal(1440 * days + 60 * hours + minutes))


def _read_number(text: str) -> RankedValue | None:
    told = _PLAIN.match(text)
    return None if told is None else RankedValue("number", Decimal(ungroup_number(told[0]).replace(",", "")))
