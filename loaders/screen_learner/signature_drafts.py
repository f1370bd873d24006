"""A draft of a signature, and what identification would return for it on page masks."""

from __future__ import annotations

from dataclasses import dataclass

from kb_schema.conditions import Combined, Condition
from kb_schema.screens import DEFAULT_THRESHOLD, Signature
from loaders.screen_learner.page_evidence import PageEvidence
from web_pages.page_masks import page_numbers
from web_pages.page_profiles import PageFeature

_ROUNDING = 1e-9


@dataclass(frozen=True, slots=True)
class IndicatorDraft:
    """One indicator: a feature or any of several, and its weight."""

    signs: tuple[PageFeature, ...]
    weight: float = 1.0

    @property
    def condition(self) -> Condition:
        """Return it in the form of the knowledge base."""
        parts = tuple(sign.condition for sign in self.signs)
        condition = parts[0] if len(parts) == 1 else Combined(type="any_of", conditions=parts)
        return condition if self.weight == 1.0 else condition.model_copy(update={"weight": self.weight})


@dataclass(frozen=True, slots=True)
class SignatureDraft:
    """A draft of a signature."""

    patterns: tuple[str, ...] = ()
    required: tuple[IndicatorDraft, ...] = ()
    primary: tuple[IndicatorDraft, ...] = ()
    optional: tuple[IndicatorDraft, ...] = ()
    against: tuple[IndicatorDraft, ...] = ()
    threshold: float = DEFAULT_THRESHOLD

    @property
    def speaks(self) -> bool:
        """Whether it has any indicator besides the address."""
        return bool(self.required or self.primary or self.optional)

    def accepted(self, evidence: PageEvidence, within: int) -> int:
        """Return the pages among `within` on which it would be accepted."""
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
        for number in page_numbers(left):
            bit = 1 << number
            held = sure + sum(weight for mask, weight in weighed if mask & bit)
            if total and held / total + _ROUNDING >= self.threshold:
                found |= bit
        return found

    @property
    def signature(self) -> Signature:
        """Return it in the form of the knowledge base."""
        return Signature(
            required_indicators=tuple(clue.condition for clue in self.required),
            primary_indicators=tuple(clue.condition for clue in self.primary),
            optional_indicators=tuple(clue.condition for clue in self.optional),
            negative_indicators=tuple(clue.condition for clue in self.against),
            confidence_threshold=self.threshold,
        )
