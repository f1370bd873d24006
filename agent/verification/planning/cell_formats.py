"""Renders a cell's number, date or time as text, the way a spreadsheet shows it.

Only number formats that are understood completely; for any other the functions return None.
"""

from __future__ import annotations

import re
from datetime import date, datetime, time, timedelta
from decimal import ROUND_HALF_UP, Decimal

MOST = 1e15
"""A spreadsheet stores fifteen digits: longer numbers are not what the author typed."""
CellValue = str | bool | int | float | datetime | date | time | timedelta

_LITERALS = re.compile(
    r'"([^"]*)"|\\(.)|_.|\*.|\[\$([^\]-]*)(?:-[^\]]*)?\]|\[(?:Black|Blue|Green|Red|White|Yellow)\]',
    re.IGNORECASE,
)
_NUMBER = re.compile(r"(?P<grouped>#,##)?(?P<whole>[#?]*0*)(?:\.(?P<decimals>[0#?]+))?(?P<percent>\s*%)?")
_DATE_WORDS = re.compile(
    r"yyyy|yy|mmmm|mmm|mm|m|dddd|ddd|dd|d|hh|h|ss|s|AM/PM|A/P|\x00\d+\x00|[^A-Za-z\x00]", re.IGNORECASE
)
_SHORT_DATE = {"mm-dd-yy": "m/d/yyyy", "m/d/yy h:mm": "m/d/yyyy h:mm"}
"""Formats that mean "the short date of this computer"; read as Excel shows them in English."""


def render_cell(value: CellValue, number_format: str) -> str | None:
    """Return the text a spreadsheet shows for a value; None if its format is not understood."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, timedelta):
        return None
    if isinstance(value, int | float):
        return _number(value, number_format or "General")
    return _moment(value, number_format)


def _number(value: float, number_format: str) -> str | None:
    sections = number_format.split(";")
    if number_format in ("General", "@", ""):
        return _general(value)
    if abs(value) >= MOST:
        return None
    section = sections[1] if value < 0 and len(sections) > 1 else sections[0]
    if value == 0 and len(sections) > 2:
        section = sections[2]
    literals: list[str] = []

    def keep(match: re.Match[str]) -> str:
        literals.append(match[1] or match[2] or match[3] or "")
        return f"\x00{len(literals) - 1}\x00"

    pattern = _LITERALS.sub(keep, section)
    before, body, after = _around(pattern)
    found = _NUMBER.fullmatch(body)
    if found is None or not body:
        return None
    text = _digits(abs(value) if len(sections) > 1 and value < 0 else value, found)
    whole = f"{before}{text}{after}"
    return re.sub(r"\x00(\d+)\x00", lambda match: literals[int(match[1])], whole).strip()


def _around(pattern: str) -> tuple[str, str, str]:
    """Split a format into the text before the digits, the digits, and the text after them."""
    plain = r"(?:\x00\d+\x00|[\s()$\u20ac\u00a3+\-/:])*"
    found = re.fullmatch(f"({plain})([#0?.,%]+|[#0?.,]+\\s*%)({plain})", pattern)
    return (found[1], found[2], found[3]) if found else ("", "", "")


def _digits(value: float, found: re.Match[str]) -> str:
    number = Decimal(repr(value)) * (100 if found["percent"] else 1)
    places = len(found["decimals"] or "")
    number = number.quantize(Decimal(1).scaleb(-places), ROUND_HALF_UP)
    text = f"{number:,.{places}f}" if found["grouped"] else f"{number:.{places}f}"
    optional = len(found["decimals"] or "") - (found["decimals"] or "").count("0")
    for _ in range(optional):
        text = text.removesuffix("0")
    sign, digits = ("-", text[1:]) if text.startswith("-") else ("", text)
    whole, point, rest = digits.partition(".")
    whole = whole.zfill((found["whole"] or "").count("0"))
    return sign + whole + point + rest + (found["percent"] or "")


def _general(value: float) -> str:
    """Round to the fifteen digits a spreadsheet stores."""
    if isinstance(value, int):
        return str(value)
    text = format(value, ".15g").upper()
    return text if "E-" not in text else format(Decimal(text), "f")


def _moment(value: datetime | date | time, number_format: str) -> str | None:
    pattern = _SHORT_DATE.get(number_format, number_format).split(";")[0]
    literals: list[str] = []

    def keep(match: re.Match[str]) -> str:
        literals.append(match[1] or match[2] or "")
        return f"\x00{len(literals) - 1}\x00"

    pattern = _LITERALS.sub(keep, pattern)
    words = _DATE_WORDS.findall(pattern)
    if "".join(words) != pattern or not any(word[0] in "yYmMdDhHsS" for word in words):
        return None
    moment = value if isinstance(value, datetime) else _as_moment(value)
    half_day = any(word.upper() in ("AM/PM", "A/P") for word in words)
    found: list[str] = []
    for index, word in enumerate(words):
        if word.startswith("\x00"):
            found.append(literals[int(word.strip("\x00"))])
        else:
            found.append(_word(word.lower(), moment, minutes=_is_minutes(words, index), half_day=half_day))
    return "".join(found)


def _as_moment(value: date | time) -> datetime:
    if isinstance(value, time):
        return datetime.combine(date(1900, 1, 1), value)
    return datetime.combine(value, time())


def _is_minutes(words: list[str], index: int) -> bool:
    """`m` after hours or before seconds means minutes."""
    words = [word.lower() for word in words]
    before = next((word for word in reversed(words[:index]) if word.isalpha()), "")
    after = next((word for word in words[index + 1 :] if word.isalpha()), "")
    return before in ("h", "hh") or after in ("s", "ss")


def _word(word: str, moment: datetime, *, minutes: bool, half_day: bool) -> str:
    hour = (moment.hour % 12 or 12) if half_day else moment.hour
    if word in ("m", "mm"):
        number = moment.minute if minutes else moment.month
        return f"{number:02d}" if word == "mm" else str(number)
    known = {
        "yyyy": f"{moment.year:04d}",
        "yy": f"{moment.year % 100:02d}",
        "mmmm": _MONTHS[moment.month - 1],
        "mmm": _MONTHS[moment.month - 1][:3],
        "dddd": _DAYS[moment.weekday()],
        "ddd": _DAYS[moment.weekday()][:3],
        "dd": f"{moment.day:02d}",
        "d": str(moment.day),
        "hh": f"{hour:02d}",
        "h": str(hour),
        "ss": f"{moment.second:02d}",
        "s": str(moment.second),
        "am/pm": "AM" if moment.hour < 12 else "PM",
        "a/p": "A" if moment.hour < 12 else "P",
    }
    return known.get(word, word)


_MONTHS = (
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
)
_DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
