"""A signature in the making, and what identification would say of it (DESIGN 5) on pages seen from afar."""

from __future__ import annotations

from dataclasses import dataclass

from kb_schema.conditions import Combined, Condition
from kb_schema.pages.sketch import Sign
from kb_schema.screens import DEFAULT_THRESHOLD, Signature
from loaders.signatures.evidence import Evidence, numbers

_ROUNDING = 1e-9


@dataclass(frozen=True, slots=True)
class Clue:
    """One indicator: a sign, or any of several, and what it weighs."""

    signs: tuple[Sign, ...]
    weight: float = 1.0

    @property
    def condition(self) -> Condition:
        """In the knowledge base's own form."""
        parts = tuple(sign.condition for sign in self.signs)
        condition = parts[0] if len(parts) == 1 else Combined(type="any_of", conditions=parts)
        return condition if self.weight == 1.0 else condition.model_copy(update={"weight": self.weight})


@dataclass(frozen=True, slots=True)
class Draft:
    """What a screen would be known by."""

    patterns: tuple[str, ...] = ()
    required: tuple[Clue, ...] = ()
    primary: tuple[Clue, ...] = ()
    optional: tuple[Clue, ...] = ()
    against: tuple[Clue, ...] = ()
    threshold: float = DEFAULT_THRESHOLD

    @property
    def speaks(self) -> bool:
        """Whether anything but the address speaks for the screen."""
        return bool(self.required or self.primary or self.optional)

    def accepted(self, evidence: Evidence, within: int) -> int:
        """The pages among `within` that it would be taken to hold on."""
        left = within & evidence.at(self.patterns)
        for clue in self.required:
            left &= evidence.showing(clue.signs)
        for clue in self.against:
            left &= ~evidence.showing(clue.signs)
        if not left:
            return 0
        sure = float(bool(self.patterns)) + sum(clue.weight for clue in self.required)
        weighed = [(evidence.showing(clue.signs), clue.weight) for clue in (*self.primary, *self.optional)]
        total = sure + sum(weight for _, weight in weighed)
        found = 0
        for number in numbers(left):
            bit = 1 << number
            held = sure + sum(weight for mask, weight in weighed if mask & bit)
            if total and held / total + _ROUNDING >= self.threshold:
                found |= bit
        return found

    @property
    def signature(self) -> Signature:
        """In the knowledge base's own form."""
        return Signature(
            required_indicators=tuple(clue.condition for clue in self.required),
            primary_indicators=tuple(clue.condition for clue in self.primary),
            optional_indicators=tuple(clue.condition for clue in self.optional),
            negative_indicators=tuple(clue.condition for clue in self.against),
            confidence_threshold=self.threshold,
        )
