"""How similar two fingerprints are: the compared features, their weights, and the score.

`agent/healing/` decides whether two elements are *the same one*, from more than this number.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from kb_schema.fingerprints import TEST_IDS, Fingerprint
from kb_schema.text_similarity import address_likeness, identifier_likeness, set_likeness, words_likeness

UNSURE = 1.5
"""The weight of missing evidence: certainty is 1 only for endless evidence.

It weighs as much as one stable attribute, so a single one gives a certainty of one half.
"""


@dataclass(frozen=True, slots=True)
class FieldMatch:
    """The comparison of one field of two fingerprints."""

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
    """How similar two elements are, and the comparisons behind it."""

    score: float
    """0 to 1: the weighted mean over the fields that both have; 0 if there are none."""
    certainty: float
    """0 to 1: the weight of those fields, relative to it plus `UNSURE`."""
    fields: tuple[FieldMatch, ...]

    @property
    def differing(self) -> tuple[FieldMatch, ...]:
        """The fields that differ, heaviest first."""
        against = [each for each in self.fields if each.likeness < 0.5]
        return tuple(sorted(against, key=lambda each: -each.weight * (1 - each.likeness)))

    def likeness(self, field: str) -> float | None:
        """Return the similarity of one field; None if either fingerprint lacks it."""
        return next((each.likeness for each in self.fields if each.field == field), None)


@dataclass(frozen=True, slots=True)
class _Feature:
    """One compared field: its weight, how it is read, and how two values compare."""

    name: str
    weight: float
    read: Callable[[Fingerprint], object]
    compare: Callable[..., float]


def similarity(ours: Fingerprint, theirs: Fingerprint) -> Similarity:
    """Return how similar two fingerprints are: symmetric, and 1 for equal ones with any content.

    A field that is missing on either side does not change the score; it lowers the certainty.
    """
    fields: list[FieldMatch] = []
    for feature in FEATURES:
        mine, its = feature.read(ours), feature.read(theirs)
        if _missing(mine) or _missing(its):
            continue
        likeness = 1.0 if mine == its else max(0.0, min(1.0, feature.compare(mine, its)))
        fields.append(
            FieldMatch(feature.name, feature.weight, likeness, _render_value(mine), _render_value(its))
        )
    shared = sum(each.weight for each in fields)
    score = sum(each.weight * each.likeness for each in fields) / shared if shared else 0.0
    return Similarity(min(1.0, score), shared / (shared + UNSURE), tuple(fields))


def _missing(value: object) -> bool:
    return value is None or value in ((), "")


def _render_value(value: object) -> str:
    return " > ".join(map(str, value)) if isinstance(value, tuple) else str(value)


def _attribute(name: str) -> Callable[[Fingerprint], str | None]:
    return lambda known: known.attributes.get(name)


def _equal(ours: object, theirs: object) -> float:
    return float(str(ours).casefold() == str(theirs).casefold())


def _classes(known: Fingerprint) -> tuple[str, ...]:
    return tuple(sorted(set(known.attributes.get("class", "").split())))


def _data(known: Fingerprint) -> tuple[str, ...]:
    """Return the values of `data-*` attributes: attributes are renamed more often than their values."""
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
    """Return twice the longest common subsequence, divided by both lengths."""
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
"""The weights follow the published stability of attributes over releases.

Similo (Nass et al. 2023): name, type, id, href, role, aria-label and text outlive class, path, position and
size. The ratio between the two groups is three to one as there; texts around the element are in between.
"""
