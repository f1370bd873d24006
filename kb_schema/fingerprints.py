"""What is known of one element, and how alike two such descriptions are.

Every field may be missing on either side (DESIGN 11), so that elements of any data set can be
compared: ours are taken from a look at a page (`agent/locating/fingerprints.py`). Whether two
elements are *the same one* is judged by `agent/healing/`, with more than this number.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated

from pydantic import Field

from kb_schema.base import Model
from kb_schema.wording import address_likeness, identifier_likeness, set_likeness, words_likeness

TEST_IDS = ("data-testid", "data-test-id", "data-test", "data-qa", "data-cy", "data-pw")
"""Attributes that exist to be found by."""
WORD_ATTRIBUTES = ("aria-label", "placeholder", "title", "alt", "value")
"""Attributes that hold words a person sees or hears."""

UNSURE = 1.5
"""Weight of what one would like to have seen besides: certainty is 1 only for endless evidence. As
much as one stable attribute, so that a single one alone makes for a half."""

Line = Annotated[str, Field(max_length=1_000)]


class Fingerprint(Model):
    """What is known of one element, to tell later whether it is still the same one."""

    role: Line | None = None
    name: Line | None = None
    """Accessible name."""
    tag: Line | None = None
    text: Line | None = None
    label: Line | None = None
    """What labels a control."""
    attributes: dict[str, Line] = Field(default_factory=dict)
    """`id`, `name`, `type`, `href`, `class`, `placeholder`, `aria-label`, test ids, ..."""
    heading: Line | None = None
    """The nearest heading before it."""
    before: Line | None = None
    after: Line | None = None
    """The words just before and just behind it."""
    row: tuple[Line, ...] = ()
    """The texts of its table row, list item or card, other than its own."""
    column: Line | None = None
    """The header of its table column."""
    neighbours: tuple[Line, ...] = ()
    """Names of the other things one can operate in its region."""
    region: tuple[Line, ...] = ()
    """The regions it stands in, from the outermost to the innermost: kind, then what names it."""
    place: int | None = None
    """How many elements of its role stand before it in its region."""
    twins: int | None = None
    """How many others of the page have its role and name."""
    key: tuple[Line, ...] = ()
    """Words beside it that none of its twins has beside it, the most telling first."""
    xpath: Line | None = None
    """A path of tags from the root; positions in it do not count."""
    box: tuple[float, float, float, float] | None = None
    """x, y, width and height in CSS pixels."""

    @property
    def words(self) -> tuple[str, ...]:
        """Everything it is called, without what is said twice."""
        said = (self.name, self.label, self.text, *(self.attributes.get(a) for a in WORD_ATTRIBUTES))
        return tuple(dict.fromkeys(each for each in said if each))

    @property
    def test_id(self) -> str | None:
        """The first attribute that exists to be found by."""
        return next((self.attributes[a] for a in TEST_IDS if self.attributes.get(a)), None)

    @property
    def surroundings(self) -> tuple[str, ...]:
        """All words beside and around it."""
        said = (*self.row, self.before, self.after, self.column, self.heading, *self.region)
        return tuple(dict.fromkeys(each for each in said if each))


@dataclass(frozen=True, slots=True)
class FieldMatch:
    """How one field of two fingerprints compares."""

    field: str
    weight: float
    likeness: float
    """0 to 1."""
    ours: str
    theirs: str

    def __str__(self) -> str:
        return f"{self.field}: {self.ours!r} / {self.theirs!r} ({self.likeness:.2f})"


@dataclass(frozen=True, slots=True)
class Similarity:
    """How alike two elements are, and what that rests on."""

    score: float
    """0 to 1: the weighted mean over the fields that both have; 0 where there are none."""
    certainty: float
    """0 to 1: the weight of those fields, against that and `UNSURE`."""
    fields: tuple[FieldMatch, ...]

    @property
    def differing(self) -> tuple[FieldMatch, ...]:
        """The fields that speak against it, heaviest first."""
        against = [each for each in self.fields if each.likeness < 0.5]
        return tuple(sorted(against, key=lambda each: -each.weight * (1 - each.likeness)))

    def likeness(self, field: str) -> float | None:
        """Of one field; None where one of the two does not have it."""
        return next((each.likeness for each in self.fields if each.field == field), None)


@dataclass(frozen=True, slots=True)
class _Feature:
    """One field as it is compared: its weight, how it is read, and how two of its values compare."""

    name: str
    weight: float
    read: Callable[[Fingerprint], object]
    compare: Callable[..., float]


def similarity(ours: Fingerprint, theirs: Fingerprint) -> Similarity:
    """How alike two fingerprints are. Symmetric; 1 for equal ones that say anything at all.

    What is missing on either side neither rewards nor punishes: it lowers the certainty.
    """
    fields: list[FieldMatch] = []
    for feature in FEATURES:
        mine, its = feature.read(ours), feature.read(theirs)
        if _missing(mine) or _missing(its):
            continue
        likeness = 1.0 if mine == its else max(0.0, min(1.0, feature.compare(mine, its)))
        fields.append(FieldMatch(feature.name, feature.weight, likeness, _told(mine), _told(its)))
    shared = sum(each.weight for each in fields)
    score = sum(each.weight * each.likeness for each in fields) / shared if shared else 0.0
    return Similarity(min(1.0, score), shared / (shared + UNSURE), tuple(fields))


def _missing(value: object) -> bool:
    return value is None or value in ((), "")


def _told(value: object) -> str:
    return " > ".join(map(str, value)) if isinstance(value, tuple) else str(value)


def _attribute(name: str) -> Callable[[Fingerprint], str | None]:
    return lambda known: known.attributes.get(name)


def _equal(ours: object, theirs: object) -> float:
    return float(str(ours).casefold() == str(theirs).casefold())


def _classes(known: Fingerprint) -> tuple[str, ...]:
    return tuple(sorted(set(known.attributes.get("class", "").split())))


def _data(known: Fingerprint) -> tuple[str, ...]:
    """Values of `data-*` attributes: attributes are renamed more often than what they hold."""
    return tuple(
        sorted(v for a, v in known.attributes.items() if a.startswith("data-") and a not in TEST_IDS and v)
    )


def _steps(known: Fingerprint) -> tuple[str, ...]:
    return tuple(step.partition("[")[0] for step in (known.xpath or "").split("/") if step)


def _point(known: Fingerprint) -> tuple[float, float] | None:
    return None if known.box is None else (known.box[0], known.box[1])


def _size(known: Fingerprint) -> tuple[float, float] | None:
    return None if known.box is None else (known.box[2], known.box[3])


def path_likeness(ours: tuple[str, ...], theirs: tuple[str, ...]) -> float:
    """Twice the longest common subsequence over both lengths."""
    before = [0] * (len(theirs) + 1)
    for mine in ours:
        now = [0]
        for at, its in enumerate(theirs):
            now.append(before[at] + 1 if mine == its else max(before[at + 1], now[at]))
        before = now
    return 2 * before[-1] / (len(ours) + len(theirs))


def _region_likeness(ours: tuple[str, ...], theirs: tuple[str, ...]) -> float:
    return 0.5 * path_likeness(ours, theirs) + 0.5 * words_likeness(ours[-1], theirs[-1])


def _nearness(ours: tuple[float, float], theirs: tuple[float, float]) -> float:
    return 1 / (1 + sum(abs(a - b) for a, b in zip(ours, theirs, strict=True)) / 200)


def _place_likeness(ours: int, theirs: int) -> float:
    return 1 / (1 + abs(ours - theirs))


FEATURES: tuple[_Feature, ...] = (
    _Feature("test id", 2.0, lambda known: known.test_id, identifier_likeness),
    _Feature("id", 1.5, _attribute("id"), identifier_likeness),
    _Feature("name attribute", 1.5, _attribute("name"), identifier_likeness),
    _Feature("name", 1.5, lambda known: known.name, words_likeness),
    _Feature("href", 1.5, _attribute("href"), address_likeness),
    _Feature("type", 1.0, _attribute("type"), _equal),
    _Feature("role", 1.0, lambda known: known.role, _equal),
    _Feature("tag", 1.0, lambda known: known.tag, _equal),
    _Feature("label", 1.0, lambda known: known.label, words_likeness),
    _Feature("aria-label", 1.0, _attribute("aria-label"), words_likeness),
    _Feature("text", 0.75, lambda known: known.text, words_likeness),
    _Feature("placeholder", 0.75, _attribute("placeholder"), words_likeness),
    _Feature("title", 0.5, _attribute("title"), words_likeness),
    _Feature("alt", 0.5, _attribute("alt"), words_likeness),
    _Feature("value", 0.5, _attribute("value"), words_likeness),
    _Feature("data", 0.5, _data, set_likeness),
    _Feature("row", 1.0, lambda known: tuple(sorted(set(known.row))), set_likeness),
    _Feature("region", 1.0, lambda known: known.region, _region_likeness),
    _Feature("heading", 0.75, lambda known: known.heading, words_likeness),
    _Feature("neighbours", 0.75, lambda known: tuple(sorted(set(known.neighbours))), set_likeness),
    _Feature("before", 0.5, lambda known: known.before, words_likeness),
    _Feature("after", 0.5, lambda known: known.after, words_likeness),
    _Feature("column", 0.5, lambda known: known.column, words_likeness),
    _Feature("class", 0.5, _classes, set_likeness),
    _Feature("place", 0.25, lambda known: known.place, _place_likeness),
    _Feature("xpath", 0.25, _steps, path_likeness),
    _Feature("position", 0.25, _point, _nearness),
    _Feature("size", 0.25, _size, _nearness),
)
"""Weights follow the published stability of attributes over releases (Similo, Nass et al. 2023: name, type,
id, href, role, aria-label and text outlive class, path, position and size), three to one between the
groups as there; words around it stand between."""
