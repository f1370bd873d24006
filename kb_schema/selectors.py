"""The one selector model: an ordered list of strategies for finding one element.

It covers KS `selector.strategies`, MA `TargetSpecWithFallback`, PACTS discovery results and OL fallback
chains. The page layers *resolve* a strategy (`agent/page` on live pages, `web_pages` on stored HTML); this
module defines what a strategy may *state*.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Annotated, Any, Literal, get_args

from pydantic import BeforeValidator, Field, model_validator

from kb_schema.base import Metadata, Model, Probability
from kb_schema.templates import selector_parameters

RECORDED = "recorded"
"""Key of a strategy's `meta`: its place among the targets of an imported recording, whose order is kept."""
SelectorText = Annotated[str, Field(min_length=1, max_length=4_000)]


class _SelectorStrategy(Model):
    fallback: bool = False
    """Tried only after every strategy that is not a fallback (KS 9.4)."""
    confidence: Probability | None = None
    """How confident its author or finder was (PACTS 5)."""
    meta: Metadata = Field(default_factory=dict)


class ValueStrategy(_SelectorStrategy):
    """A strategy that is one string in a well-known language (MA, PACTS).

    `data-qa`, `data-testid` and `id` match that attribute's whole value; `aria` matches `aria-label` (with
    `role`, also the role); the rest are XPath or CSS.
    """

    type: Literal[
        "data-qa",
        "data-testid",
        "id",
        "aria",
        "xpath",
        "xpath-text",
        "xpath-class",
        "css",
        "relational_css",
        "shadow_pierce",
        "fallback_css",
    ]
    value: SelectorText
    role: str | None = None


class SemanticStrategy(_SelectorStrategy):
    """By what a person sees (KS 4.1): every given field must match."""

    type: Literal["semantic"]
    label_contains: SelectorText | None = None
    text_contains: SelectorText | None = None
    placeholder_contains: SelectorText | None = None
    field_type: str | None = None
    """`text`, `select`, `textarea`, `checkbox`, ...: an input's type, or the kind of the tag."""
    button_type: str | None = None
    role: str | None = None

    @model_validator(mode="after")
    def _says_something(self) -> SemanticStrategy:
        if not (self.label_contains or self.text_contains or self.placeholder_contains or self.role):
            raise ValueError(
                "a semantic strategy needs label_contains, text_contains, placeholder_contains or role"
            )
        return self


class NameStrategy(_SelectorStrategy):
    """By label, placeholder, or role and accessible name (PACTS 5.2-5.4).

    Names are compared case-insensitively, as a substring unless `exact`.
    """

    type: Literal["label", "placeholder", "role_name"]
    name: SelectorText
    role: str | None = None
    exact: bool = False

    @model_validator(mode="after")
    def _role_where_it_belongs(self) -> NameStrategy:
        if self.type == "role_name" and not self.role:
            raise ValueError("role_name needs a role")
        return self


class TemplateStrategy(_SelectorStrategy):
    """CSS or XPath with `{{parameters}}` (KS 9.4); values are escaped for the language."""

    type: Literal["parameterized", "parameterized_css", "parameterized_xpath"]
    template: SelectorText
    parameters: tuple[str, ...] = ()
    required_context: tuple[str, ...] = ()

    @model_validator(mode="after")
    def _parameters_are_declared(self) -> TemplateStrategy:
        undeclared = selector_parameters(self.template) - set(self.parameters)
        if undeclared:
            raise ValueError(f"the template uses {sorted(undeclared)} but `parameters` does not name them")
        return self

    @property
    def language(self) -> Literal["css", "xpath"]:
        """The language; `parameterized` alone is XPath if it begins like XPath."""
        if self.type == "parameterized":
            return "xpath" if self.template.lstrip("(").startswith(("/", "./")) else "css"
        return "css" if self.type == "parameterized_css" else "xpath"


class DomIndexStrategy(_SelectorStrategy):
    """By position among the page's interactive elements (KS 4.1): a last resort."""

    type: Literal["dom_index"]
    index: Annotated[int, Field(ge=0)] | Annotated[str, Field(pattern=r"^\{[A-Za-z_]\w*\}$")]


class SessionStrategy(_SelectorStrategy):
    """A strategy that only its creator can resolve.

    An id that a browser framework gave for one session (MA `__id__`), or a description by which an agent
    finds the element (MA `agent`).
    """

    type: Literal["framework_id", "agent"]
    value: SelectorText


Strategy = Annotated[
    ValueStrategy | SemanticStrategy | NameStrategy | TemplateStrategy | DomIndexStrategy | SessionStrategy,
    Field(discriminator="type"),
]

_STRATEGY_TYPES = frozenset(
    name
    for model in get_args(get_args(Strategy)[0])
    for name in get_args(model.model_fields["type"].annotation)
)
"""Names that are types already: nearly always."""
_STRATEGY_NAMES = {"__id__": "framework_id", "testid": "data-testid", "test_id": "data-testid"}


def _strategy_form(data: Any) -> Any:
    """Accept MA's `strategy` for `type`, and PACTS's `{selector, score, meta: {strategy}}`."""
    if not isinstance(data, dict):
        return data
    name = data.get("type")
    if isinstance(name, str) and name in _STRATEGY_TYPES and "selector" not in data:
        return data
    data = dict(data)
    if "selector" in data and "type" not in data and isinstance(data.get("meta"), dict):
        meta = dict(data.pop("meta"))
        name = meta.pop("strategy", None)
        score = data.pop("score", data.pop("confidence", None))
        # A PACTS result is resolved already: its selector is CSS, whichever strategy found it.
        return {
            "type": "css",
            "value": data.pop("selector"),
            "confidence": score,
            "meta": {**meta, "found_by": name},
            **data,
        }
    if "type" not in data and "strategy" in data:
        data["type"] = data.pop("strategy")
    if isinstance(data.get("type"), str):
        data["type"] = _STRATEGY_NAMES.get(data["type"], data["type"])
    return data


class Selector(Model):
    """Ordered strategies for one element. The first that finds exactly one element wins."""

    strategies: tuple[Annotated[Strategy, BeforeValidator(_strategy_form)], ...] = Field(min_length=1)
    parameterized: bool = False
    frame: str | None = None
    """CSS of the same-origin `iframe` that contains the element; None: the page and its open shadow roots."""

    @model_validator(mode="before")
    @classmethod
    def _single_strategy(cls, data: Any) -> Any:
        """Accept a string as CSS, and one bare strategy as a list of one."""
        if isinstance(data, str):
            return {"strategies": [{"type": "css", "value": data}]}
        if isinstance(data, dict) and "strategies" not in data and ("type" in data or "strategy" in data):
            return {"strategies": [data]}
        return data

    @model_validator(mode="after")
    def _flag_is_true(self) -> Selector:
        templated = TemplateStrategy in map(type, self.strategies)
        if self.parameterized and not templated:
            raise ValueError("`parameterized` is true but no strategy is a template")
        if templated and not self.parameterized:
            object.__setattr__(self, "parameterized", True)
        return self

    @property
    def required_context(self) -> frozenset[str]:
        """The variables that every template needs."""
        needs = [
            frozenset(s.required_context or s.parameters)
            for s in self.strategies
            if isinstance(s, TemplateStrategy)
        ]
        return frozenset.intersection(*needs) if needs else frozenset()

    @property
    def ordered(self) -> tuple[Strategy, ...]:
        """The strategies in the order to try them: fallbacks last."""
        return tuple(sorted(self.strategies, key=lambda s: s.fallback))


@lru_cache(maxsize=2_000)
def css(value: str) -> Selector:
    """Return a selector with one CSS strategy."""
    return Selector(strategies=(ValueStrategy(type="css", value=value),))


_CSS_ONLY = re.compile(r"""[#.\[\]>: *,()="']""")
"""A character that no element id has."""


def looks_like_css(target: str) -> bool:
    """Return whether an action's target is CSS rather than an element id."""
    return _CSS_ONLY.search(target) is not None
