"""Other forms of a value: the description has one form and the page another (dates, ordinals, capitals).

A form is a registered function that returns None if a text does not have the form.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from datetime import date, datetime

from kb_schema.transforms import ungroup_number

ValueForm = Callable[[str], str | None]
FORMS: dict[str, ValueForm] = {}
"""Maps the name of a form to the function that writes a text in it."""
NUMBER = "number"
"""The form that writes an ordinal as its number: "3" for "3rd"."""
FIRST_WORD = "first_word"
"""The form that writes a text as markup names an icon: "phone" for "Phone number"."""
PARTS = frozenset({"given_name", "family_name", FIRST_WORD})
"""Forms that leave out a part of the text."""

_PARTS_OF_DATES = {
    "day": ("day", "day_of_two_digits"),
    "month": ("month", "month_of_two_digits", "month_name", "month_short", "month_and_year"),
    "year": ("year", "month_and_year"),
}
"""Part of a date, as a form -> the forms that tell it. Every other form of a date tells all of it."""
_DATES = ("%Y-%m-%d", "%m/%d/%Y", "%d.%m.%Y", "%B %d, %Y", "%d %B %Y", "%b %d, %Y", "%d %b %Y")
"""Accepted date formats. With slashes, the month comes first, as in the en-US locale."""
_ORDINAL = re.compile(r"(\d+)(?:st|nd|rd|th)", re.IGNORECASE)
_AMOUNT = re.compile(
    r"[$\u20ac\u00a3\u00a5\u20b9] ?(?P<behind>NUMBER)(?: [A-Z]{3})?|(?P<before>NUMBER) ?(?:[$\u20ac\u00a3\u00a5\u20b9%]|[A-Z]{3}|dollars|euros)".replace(
        "NUMBER", r"(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?"
    )
)
"""An amount with a sign or a word of its unit: "$1,000.00", "60.50 AUD", "5%". Groups are written with commas."""
_TIME = re.compile(
    r"(?P<hour>[01]?\d|2[0-3])(?::(?P<minute>[0-5]\d))?(?::00)?\s*(?P<half>[ap]\.?m\.?)?", re.IGNORECASE
)
"""A time of day: "4:05 PM", "4 pm", "16:05". A number alone is none."""
_NOON = 12
_TELEPHONE = re.compile(r"\+?[\d\s().-]*[\s().-][\d\s().-]*")
"""A telephone number with marks between its digits."""
_LEAST_DIGITS, _MOST_DIGITS = 7, 15
_NAME = re.compile(r"([^\W\d_]+(?:['\u2019-][^\W\d_]+)*) ([^\W\d_]+(?:['\u2019-][^\W\d_]+)*)")
_COUNTED = re.compile(r"(\d+) [^\W\d_][^\d]*")
_SCOPES = re.compile(r"(?<=\w)(?:::|\s*[\u203a\u00bb\u2192]\s*|\s+[>|/]\s+)(?=\w)")
"""What stands between the parts of one name that a page draws beside each other: `type::bug`, `Europe > Spain`."""
_OWNING = re.compile(r"(.*\w)['\u2019]s")
_ORDINALS = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth")


LETTERS: dict[str, Callable[[str], str]] = {
    "upper": str.upper,
    "uppercase": str.upper,
    "capital": str.upper,
    "lower": str.lower,
    "lowercase": str.lower,
    "small": str.lower,
}
"""Words that say in which letters another value is meant, and what they make of it."""


def register_form(name: str) -> Callable[[ValueForm], ValueForm]:
    """Register a form under a name."""

    def register(function: ValueForm) -> ValueForm:
        FORMS[name] = function
        return function

    return register


def list_forms(text: str, *, also_plain: bool = False) -> dict[str, str]:
    """Return every form of a text that differs from it, by name; with `also_plain`, those that are the text, too.

    >>> list_forms("12/05/2016")["day"], list_forms("3rd")["number"]
    ('5', '3')
    """
    made = {name: function(text) for name, function in FORMS.items()}
    return {name: told for name, told in made.items() if told is not None and (also_plain or told != text)}


@register_form("lower")
def _lower(text: str) -> str:
    return text.lower()


@register_form("upper")
def _upper(text: str) -> str:
    return text.upper()


@register_form("title")
def _title(text: str) -> str:
    return text[:1].upper() + text[1:].lower()


@register_form("owner")
def _owner(text: str) -> str | None:
    """Return "Ada" for "Ada's"."""
    owner = _OWNING.fullmatch(text)
    return None if owner is None else owner[1]


@register_form(NUMBER)
def _number(text: str) -> str | None:
    match = _ORDINAL.fullmatch(text)
    if match is not None:
        return match[1]
    said = text.casefold()
    return str(_ORDINALS.index(said) + 1) if said in _ORDINALS else None


@register_form("count")
def _count(text: str) -> str | None:
    """Return "3" for "3 posts"."""
    counted = _COUNTED.fullmatch(text)
    return None if counted is None else counted[1]


@register_form("amount")
def _amount(text: str) -> str | None:
    return _read_amount(text)


@register_form("amount_without_zeros")
def _amount_without_zeros(text: str) -> str | None:
    amount = _read_amount(text)
    whole, _, cents = (amount or "").partition(".")
    return whole if cents and not cents.strip("0") else None


def _read_amount(text: str) -> str | None:
    """Return the number of an amount of money or a share, as fields take it: without sign and groups."""
    match = _AMOUNT.fullmatch(text)
    return None if match is None else ungroup_number(match["behind"] or match["before"])


@register_form("clock")
def _clock(text: str) -> str | None:
    """Return a time of day as time fields take it: "16:05" for "4:05 PM"."""
    told = _TIME.fullmatch(text)
    if told is None:
        return None
    hour, half = int(told["hour"]), (told["half"] or "").replace(".", "").lower()
    if half and not 1 <= hour <= _NOON:
        return None
    if half:
        hour = hour % 12 + (12 if half == "pm" else 0)
    return f"{hour:02}:{told['minute'] or '00'}" if told["minute"] or half else None


@register_form("clock_12")
def _clock_12(text: str) -> str | None:
    """Return a time of day with its half: "4:05 PM" for "16:05"."""
    told = _clock(text)
    if told is None:
        return None
    hour, minute = told.split(":")
    return f"{int(hour) % 12 or 12}:{minute} {'PM' if int(hour) >= _NOON else 'AM'}"


@register_form("digits")
def _digits(text: str) -> str | None:
    """Return the digits of a telephone number: "2105550199" for "(210) 555-0199"."""
    digits = "" if _day(text) is not None else re.sub(r"\D", "", text)
    return digits if _TELEPHONE.fullmatch(text) and _LEAST_DIGITS <= len(digits) <= _MOST_DIGITS else None


@register_form("given_name")
def _given_name(text: str) -> str | None:
    """Return "Ada" for "Ada Lovelace"; a name of three words may be split in two ways."""
    name = _NAME.fullmatch(text)
    return None if name is None else name[1]


@register_form("family_name")
def _family_name(text: str) -> str | None:
    """Return "Lovelace" for "Ada Lovelace"."""
    name = _NAME.fullmatch(text)
    return None if name is None else name[2]


@register_form(FIRST_WORD)
def _first_word(text: str) -> str | None:
    """Return the first word in small letters, if it has only letters: "reply" for "Reply"."""
    word = text.split(maxsplit=1)[0].rstrip(".,:;!?") if text.strip() else ""
    return word.casefold() if word.isalpha() else None


@register_form("joined")
def _joined(text: str) -> str:
    """Return "typebug" for "type::bug": a page that draws the parts as two has no mark between them."""
    return _SCOPES.sub("", text)


@register_form("spaced")
def _spaced(text: str) -> str:
    """Return "type bug" for "type::bug"."""
    return _SCOPES.sub(" ", text)


def _dated(pattern: str) -> ValueForm:
    def write(text: str) -> str | None:
        day = _day(text)
        return None if day is None else pattern.format(day=day, month=_MONTHS[day.month - 1])

    return write


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
for _name, _pattern in {
    "iso": "{day:%Y-%m-%d}",
    "american": "{day:%m/%d/%Y}",
    "german": "{day:%d.%m.%Y}",
    "day": "{day.day}",
    "day_of_two_digits": "{day:%d}",
    "month": "{day.month}",
    "month_of_two_digits": "{day:%m}",
    "month_name": "{month}",
    "month_short": "{month:.3}",
    "month_and_year": "{month} {day.year}",
    "year": "{day.year}",
}.items():
    FORMS[_name] = _dated(_pattern)


def _day(text: str) -> date | None:
    for pattern in _DATES:
        try:
            return datetime.strptime(text, pattern).date()  # noqa: DTZ007 - a date has no time zone
        except ValueError:
            continue
    return None


def is_date(text: str) -> bool:
    """Whether a text is a whole date in one of the accepted notations."""
    return _day(text) is not None


def list_untold_parts(text: str, forms: Collection[str]) -> dict[str, str]:
    """Return the parts of a date that none of these of its forms tells, by form; empty for a text that is no date.

    >>> list_untold_parts("03/02/2016", {"day", "month_name"}), list_untold_parts("03/02/2016", {"iso"})
    ({'year': '2016'}, {})
    """
    known = {form for told in _PARTS_OF_DATES.values() for form in told}
    if _day(text) is None or not forms or not known >= set(forms):
        return {}
    return {
        part: str(FORMS[part](text)) for part, told in _PARTS_OF_DATES.items() if not set(told) & set(forms)
    }


def has_parts(value: object, parts: Mapping[str, str]) -> bool:
    """Return whether a value has these parts, by form."""
    return all(isinstance(value, str) and FORMS[form](value) == said for form, said in parts.items())


def build_identifier(words: str) -> str:
    """Return words as the name of a variable: without numbers before the first word, if there is a word.

    >>> build_identifier("Agent's name *"), build_identifier("6-digit code")
    ('agents_name', 'digit_code')
    """
    plain = re.sub(r"(?<=\w)['\u2019](?=\w)", "", words).lower()
    name = re.sub(r"[^a-z0-9]+", "_", plain).strip("_")[:40].strip("_")
    name = re.sub(r"^(?:\d+_)+(?=[a-z])", "", name)
    return f"v_{name}" if name[:1].isdigit() else name
