"""Compiled signatures: every indicator with its kind and weight, every distinct probe once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from kb_schema.condition_evaluation import collect_probes
from kb_schema.conditions import BaseCondition, Combined, Condition, UrlMatches
from kb_schema.probes import ConditionScope, Probe, probe_key
from kb_schema.screens import Screen, Signature
from mcp_server.document_text import condition_text

IndicatorKind = Literal["url_patterns", "required", "primary", "optional", "exclusion", "negative"]

OPTIONAL_SHARE = 0.25
"""Weight of an optional indicator as a share of the mean weight of the stronger ones."""


@dataclass(frozen=True)
class Indicator:
    """One condition of a signature and what it counts for; negative and exclusion ones weigh nothing."""

    kind: IndicatorKind
    condition: BaseCondition
    weight: float
    url_patterns: tuple[str, ...] = ()
    """Of the indicator that stands for a screen's patterns."""

    @cached_property
    def words(self) -> str:
        """It in a few words, for evidence; made when it is first told."""
        if self.url_patterns:
            return f"url matches {' or '.join(self.url_patterns)}"
        return condition_text.describe_condition(self.condition)


@dataclass(frozen=True)
class CompiledSignature:
    """How one screen is recognised, ready to be judged."""

    screen_id: str
    name: str
    threshold: float
    against: tuple[Indicator, ...]
    """Negative indicators, then exclusions: the order in which they are judged."""
    necessary: tuple[Indicator, ...]
    """URL patterns, then required indicators."""
    further: tuple[Indicator, ...]
    """Primary, then optional indicators."""
    scope: ConditionScope
    ambiguous_of: tuple[str, ...] = ()
    """The screens that it stands for, which nothing tells apart."""

    @property
    def positive(self) -> tuple[Indicator, ...]:
        """What speaks for the screen."""
        return (*self.necessary, *self.further)

    @cached_property
    def total(self) -> float:
        """The weight of everything that speaks for the screen."""
        return sum(indicator.weight for indicator in self.positive)

    @cached_property
    def probes(self) -> Mapping[str, Probe]:
        """Every question it asks of a page, by key."""
        conditions = [indicator.condition for indicator in (*self.against, *self.positive)]
        return {probe_key(probe): probe for probe in collect_probes(conditions, self.scope)}


def compile_signature(
    screen: Screen, signature: Signature | None, scope: ConditionScope
) -> CompiledSignature | None:
    """A screen's signature and URL patterns as one; None where nothing speaks for the screen."""
    signature = signature or Signature()
    compiled = CompiledSignature(
        screen_id=screen.screen_id,
        name=screen.name,
        threshold=signature.confidence_threshold,
        against=(
            *_indicators("negative", signature.negative_indicators, 0.0),
            *_indicators("exclusion", signature.exclusion_indicators, 0.0),
        ),
        necessary=(
            *_url_indicator(screen),
            *_indicators("required", signature.required_indicators, 1.0),
        ),
        further=(
            *_indicators("primary", signature.primary_indicators, 1.0),
            *_indicators("optional", signature.optional_indicators, _optional_weight(screen, signature)),
        ),
        scope=scope,
        ambiguous_of=screen.ambiguous_of,
    )
    return compiled if compiled.positive else None


def _indicators(
    kind: IndicatorKind, conditions: tuple[Condition, ...], default: float
) -> Iterator[Indicator]:
    for condition in conditions:
        weight = condition.weight if condition.weight is not None and default else default
        yield Indicator(kind, condition, weight)


def _url_indicator(screen: Screen) -> Iterator[Indicator]:
    """Any of the patterns, as one required indicator of weight 1."""
    if not screen.url_patterns:
        return
    parts = tuple(UrlMatches(type="url_matches", pattern=pattern) for pattern in screen.url_patterns)
    condition: BaseCondition = parts[0] if len(parts) == 1 else Combined(type="any_of", conditions=parts)
    yield Indicator("url_patterns", condition, 1.0, screen.url_patterns)


def _optional_weight(screen: Screen, signature: Signature) -> float:
    given = [c.weight for c in (*signature.required_indicators, *signature.primary_indicators)]
    strong = [1.0 if weight is None else weight for weight in given] + [1.0] * bool(screen.url_patterns)
    return OPTIONAL_SHARE * (sum(strong) / len(strong) if strong else 1.0)
