"""Generates synthetic values for form fields: valid for the website, obviously artificial, and harmless.

The same field and seed give the same value. Email addresses end in `example.com`, telephone numbers are from the
range reserved for fiction, and names are those of `agent/execution/values/value_generators`. `dangers` decides
whether a form may be filled in.
"""

from __future__ import annotations

import hashlib
import itertools
import random
import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, timedelta

from agent.execution.values.value_generators import generate_value
from kb_schema import url_patterns
from kb_schema.explorations import Offer
from kb_schema.screens import FieldValidation
from kb_schema.secret_fields import is_secret_autocomplete, names_a_secret
from kb_schema.text_similarity import words

NEVER = frozenset({"password", "file", "hidden", "submit", "button", "image", "reset"})
"""Input types that get no value: secrets and files."""
_PERSONAL_WORDS = frozenset({"captcha", "iban"})
"""Fields that hold no secret, but for which a made-up value is none."""
_PERSONAL_FILLING = frozenset({"cc-exp"})
_EMPTY_LABELS = (
    "-",
    "choose",
    "select",
    "please",
    "bitte",
    "wählen",
    "choisir",
    "elegir",
    "seleccione",
    "none",
)
FIRST_DAY = date(2030, 1, 1)
"""A fixed year for dates, in which real records are unlikely."""


@dataclass(frozen=True, slots=True)
class _FieldRules:
    """The facts of a field that its value depends on."""

    offer: Offer
    rules: FieldValidation
    rng: random.Random

    @property
    def said(self) -> frozenset[str]:
        """The words of its label, and each pair of adjacent words joined (`firstname`)."""
        attributes = self.offer.fingerprint.attributes if self.offer.fingerprint else {}
        texts = (
            self.offer.label,
            self.offer.name,
            attributes.get("name", ""),
            attributes.get("id", ""),
            attributes.get("placeholder", ""),
        )
        said = [words(text) for text in texts]
        pairs = (f"{one}{other}" for each in said for one, other in itertools.pairwise(each))
        return frozenset(itertools.chain(*said, pairs))

    @property
    def needs_a_person(self) -> bool:
        """Whether it holds a secret, or something that only a person has."""
        attributes = self.offer.fingerprint.attributes if self.offer.fingerprint else {}
        names = (
            self.offer.label,
            self.offer.name,
            *(attributes.get(each) for each in ("name", "id", "placeholder")),
        )
        secret = is_secret_autocomplete(self.filling) or names_a_secret(names)
        return secret or self.filling in _PERSONAL_FILLING or bool(self.said & _PERSONAL_WORDS)

    @property
    def filling(self) -> str:
        """The `autocomplete` token without its section."""
        attributes = self.offer.fingerprint.attributes if self.offer.fingerprint else {}
        return (attributes.get("autocomplete", "").split() or [""])[-1].casefold()


ValueMaker = Callable[[_FieldRules], str]


def generate_field_value(offer: Offer, seed: int) -> str | None:
    """Return a value for a field; None for secrets and files, or if no value fits its rules.

    A list gets the `value` of one of its options; a checkbox or radio button gets `true`.
    """
    digest = hashlib.sha256(f"{seed}\0{offer.kind}\0{offer.label}\0{offer.name}".encode()).digest()
    wanted = _FieldRules(offer, offer.validation or FieldValidation(), random.Random(digest))  # noqa: S311 - no secret
    if offer.kind.casefold() in NEVER or wanted.needs_a_person:
        return None
    if offer.options or offer.tag == "select":
        return _option(wanted)
    if offer.kind in {"checkbox", "radio"} or offer.role in {"checkbox", "radio", "switch"}:
        return "true"
    made = _MAKERS.get(offer.kind.casefold(), _text)(wanted)
    return made if _fits(made, wanted.rules) else _generate_for_pattern(wanted)


def _option(wanted: _FieldRules) -> str | None:
    """Return a real option: not an empty one and not a prompt to choose."""
    choices = [
        each.value
        for each in wanted.offer.options
        if each.value.strip() and not (each.label or each.value).strip().casefold().startswith(_EMPTY_LABELS)
    ]
    return wanted.rng.choice(choices) if choices else None


def _number(wanted: _FieldRules) -> str:
    rules = wanted.rules
    low = rules.min if rules.min is not None else min(1.0, rules.max if rules.max is not None else 1.0)
    high = rules.max if rules.max is not None else low + 9
    number = low + int(wanted.rng.random() * max(0.0, min(high - low, 9.0)))
    return str(int(number)) if float(number).is_integer() else str(number)


def _day(wanted: _FieldRules) -> date:
    return FIRST_DAY + timedelta(days=wanted.rng.randrange(28))


def _email(wanted: _FieldRules) -> str:
    return str(generate_value("email", wanted.rng))


def _phone(wanted: _FieldRules) -> str:
    return str(generate_value("phone", wanted.rng))


def _address_of_page(wanted: _FieldRules) -> str:
    return f"https://www.example.com/sample-{wanted.rng.randrange(100)}"


def _fixed(value: str) -> ValueMaker:
    return lambda _wanted: value


_MAKERS: dict[str, ValueMaker] = {
    "email": _email,
    "tel": _phone,
    "url": _address_of_page,
    "number": _number,
    "range": _number,
    "date": lambda wanted: _day(wanted).isoformat(),
    "datetime-local": lambda wanted: f"{_day(wanted).isoformat()}T09:30",
    "month": lambda wanted: _day(wanted).isoformat()[:7],
    "week": lambda wanted: "{0.year}-W{0.week:02d}".format(_day(wanted).isocalendar()),
    "time": _fixed("09:30"),
    "color": _fixed("#336699"),
    "search": _fixed("sample"),
}
"""Value makers by input type."""


def _name(part: str) -> ValueMaker:
    def make(wanted: _FieldRules) -> str:
        return str(generate_value(part, wanted.rng))

    return make


_SUBJECTS: tuple[tuple[frozenset[str], frozenset[str], ValueMaker], ...] = tuple(
    (frozenset(filling.split()), frozenset(said.split()), make)
    for filling, said, make in (
        ("email", "email mail correo courriel", _email),
        ("tel tel-national", "phone telephone mobile telefon handy teléfono téléphone fax", _phone),
        ("url", "url website homepage webseite link", _address_of_page),
        ("given-name", "firstname vorname prénom forename", _name("first_name")),
        ("family-name", "lastname surname nachname apellido", _fixed("Sample")),
        ("username nickname", "username login user benutzername usuario", _fixed("sample_user")),
        ("organization", "company organisation organization firma empresa société", _name("company_name")),
        ("postal-code", "zip postcode postal plz", _fixed("00000")),
        (
            "address-line1 street-address",
            "street address strasse straße rue calle dirección",
            _fixed("1 Sample Street"),
        ),
        ("address-level2", "city town ort stadt ville ciudad", _fixed("Sampleton")),
        ("country country-name", "country land pays país", _fixed("Utopia")),
        ("bday", "date datum fecha birthday geburtsdatum published", lambda wanted: _day(wanted).isoformat()),
        ("", "time uhrzeit hora heure", _fixed("09:30")),
        (
            "",
            "price amount preis betrag precio montant cost quantity qty count pages number anzahl age",
            _number,
        ),
        ("", "slug", lambda wanted: f"sample-{wanted.rng.randrange(1000)}"),
        ("name", "fullname", _name("human_name")),
    )
)
"""Value makers by `autocomplete` token, then by the words of the label."""


_DATE_FORM = re.compile(
    r"(?<![A-Za-z])([YJA]{4}|[DTJGM]{1,2})([./-]\s?)([DTJGM]{1,2})\2([YJA]{4}|[YJAD]{2}|[DTJG])(?![A-Za-z])"
)
"""Matches date formats: `MM/DD/YYYY`, `TT.MM.JJJJ`, `JJ/MM/AAAA`, `YYYY-MM-DD`."""
_TIME_FORM = re.compile(r"(?<![A-Za-z])(?:HH?|hh?):(?:MM|mm)(?![A-Za-z])")


def _in_form(wanted: _FieldRules) -> str | None:
    """Return a date or time in the format that the placeholder or label shows, else None."""
    attributes = wanted.offer.fingerprint.attributes if wanted.offer.fingerprint else {}
    for shown in (attributes.get("placeholder", ""), wanted.offer.label, attributes.get("title", "")):
        found = _DATE_FORM.search(shown[:200].upper())
        if found is not None:
            return found[2].join(_dated(part, _day(wanted)) for part in (found[1], found[3], found[4]))
        if _TIME_FORM.search(shown[:200]):
            return "09:30"
    return None


def _dated(part: str, day: date) -> str:
    """Return one part of a date: four letters or `Y`s mean the year, `M` the month, others the day."""
    if len(part) == _YEAR_LETTERS:
        return f"{day.year:04d}"
    if part[0] in "YA":
        return f"{day.year % 100:02d}"
    number = day.month if part[0] == "M" else day.day
    return f"{number:0{len(part)}d}"


_YEAR_LETTERS = 4


def _text(wanted: _FieldRules) -> str:
    shown = _in_form(wanted)
    if shown is not None:
        return shown
    for filling, _, make in _SUBJECTS:
        if wanted.filling in filling:
            return make(wanted)
    for _, said, make in _SUBJECTS:
        if wanted.said & said:
            return make(wanted)
    return _fit_length(f"Sample {wanted.rng.randrange(100, 1000)}", wanted.rules)


def _fit_length(text: str, rules: FieldValidation) -> str:
    if rules.min_length is not None and len(text) < rules.min_length <= MOST_LENGTH:
        text = (text + " sample" * rules.min_length)[: rules.min_length]
        text = f"{text[:-1]}e" if text.endswith(" ") else text
    return text if rules.max_length is None else text[: rules.max_length]


MOST_LENGTH = 5_000
"""Maximum length of a generated value."""


def _fits(value: str, rules: FieldValidation) -> bool:
    if not value or len(value) < (rules.min_length or 0):
        return False
    if rules.max_length is not None and len(value) > rules.max_length:
        return False
    return rules.pattern is None or _matches(rules.pattern, value)


def _matches(pattern: str, value: str) -> bool:
    """Whether the whole value matches a pattern, as in browsers; an invalid pattern matches everything."""
    try:
        return url_patterns.compile_pattern(f"^(?:{pattern})$").search(value) is not None
    except url_patterns.PatternError:
        return True


_SHAPES = (
    "AAA-000",
    "AA-000",
    "AA0000",
    "AAA",
    "AA",
    "A",
    "aaa",
    "aaaaaa",
    "sample",
    "sample_user",
    "000",
    "0000",
    "00000",
    "000000",
    "0000000000",
    "000-0000",
    "555-0100",
    "555-555-0100",
    "+12025550100",
    "0",
    "00",
    "00-00",
    "00:00",
    "1 Sample Street",
    "Sample",
    "Sample 1",
    "SAMPLE-1",
    "sample-1",
    "AAAA",
    "A0",
    "A00",
    "a1b2c3d4",
    "AB12CD",
    "#336699",
    "2030-01-01",
    "01/01/2030",
    "01.01.2030",
    "09:30",
    "00.00",
    "1.00",
    "1",
    "sample@example.com",
    "https://www.example.com/sample",
    "192.0.2.1",
    "SW1A 1AA",
    "00000-0000",
)
"""Common formats of codes and numbers; the first one that fits is used."""


def _generate_for_pattern(wanted: _FieldRules) -> str | None:
    """Return a value for rules that the usual value does not meet; None if no sample fits."""
    digit, letter = wanted.rng.choice("123456789"), wanted.rng.choice("ABCDEFGHJK")
    for shape in _SHAPES:
        for candidate in (_fit_length(shape, wanted.rules), shape):
            varied = candidate.replace("0", digit).replace("A", letter) if candidate.isalnum() else candidate
            for value in (varied, candidate):
                if _fits(value, wanted.rules):
                    return value
    return None
