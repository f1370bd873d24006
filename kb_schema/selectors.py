"""The one selector model: an ordered list of strategies, each a way to find one element.

KS `selector.strategies`, MA `TargetSpecWithFallback`, PACTS discovery results and OL fallback
chains are all this. How a strategy is *resolved* on a page is the page layers' business
(`agent/page` live, `kb_schema/pages` on stored HTML); what a strategy may *say* is here.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, model_validator

from kb_schema.base import Metadata, Model, Probability
from kb_schema.templates import selector_parameters

Text = Annotated[str, Field(min_length=1, max_length=4_000)]


class _Strategy(Model):
    fallback: bool = False
    """Tried only after every strategy that is not a fallback (KS 9.4)."""
    confidence: Probability | None = None
    """How sure the one who wrote or found it was (PACTS 5)."""
    meta: Metadata = Field(default_factory=dict)


class ValueStrategy(_Strategy):
    """A strategy that is one string in a well-known language (MA, PACTS).

    `data-qa`, `data-testid` and `id` match that attribute's whole value; `aria` matches
    `aria-label` (with `role`, also the role); the rest are XPath or CSS.
    """

    type: Literal[
        "data-qa", "data-testid", "id", "aria", "xpath", "xpath-text", "xpath-class", "css",
        "relational_css", "shadow_pierce", "fallback_css",
    ]  # fmt: skip
    value: Text
    role: str | None = None


class SemanticStrategy(_Strategy):
    """By what a person sees (KS 4.1): every field given must hold."""

    type: Literal["semantic"]
    label_contains: Text | None = None
    text_contains: Text | None = None
    placeholder_contains: Text | None = None
    field_type: str | None = None
    """`text`, `select`, `textarea`, `checkbox`, ...: an input's type or the tag's own kind."""
    button_type: str | None = None
    role: str | None = None

    @model_validator(mode="after")
    def _says_something(self) -> SemanticStrategy:
        if not (self.label_contains or self.text_contains or self.placeholder_contains or self.role):
            raise ValueError(
                "a semantic strategy needs label_contains, text_contains, placeholder_contains or role"
            )
        return self


class NameStrategy(_Strategy):
    """By label, placeholder, or role and accessible name (PACTS 5.2-5.4).

    Names are compared without case, as a part of the whole unless `exact`.
    """

    type: Literal["label", "placeholder", "role_name"]
    name: Text
    role: str | None = None
    exact: bool = False

    @model_validator(mode="after")
    def _role_where_it_belongs(self) -> NameStrategy:
        if self.type == "role_name" and not self.role:
            raise ValueError("role_name needs a role")
        return self


class TemplateStrategy(_Strategy):
    """CSS or XPath with `{{parameters}}` (KS 9.4); values are escaped for the language."""

    type: Literal["parameterized", "parameterized_css", "parameterized_xpath"]
    template: Text
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
        """`parameterized` alone is XPath where it begins like one."""
        if self.type == "parameterized":
            return "xpath" if self.template.lstrip("(").startswith(("/", "./")) else "css"
        return "css" if self.type == "parameterized_css" else "xpath"


class DomIndexStrategy(_Strategy):
    """By position among the page's interactive elements (KS 4.1): a last resort."""

    type: Literal["dom_index"]
    index: Annotated[int, Field(ge=0)] | Annotated[str, Field(pattern=r"^\{[A-Za-z_]\w*\}$")]


class SessionStrategy(_Strategy):
    """An id a browser framework gave for one session (MA `__id__`), or words for an agent to
    find the element by (MA `agent`). Neither can be resolved without the one who gave it.
    """

    type: Literal["framework_id", "agent"]
    value: Text


Strategy = Annotated[
    ValueStrategy | SemanticStrategy | NameStrategy | TemplateStrategy | DomIndexStrategy | SessionStrategy,
    Field(discriminator="type"),
]

_STRATEGY_NAMES = {"__id__": "framework_id", "testid": "data-testid", "test_id": "data-testid"}


def _strategy_form(data: Any) -> Any:
    """MA writes `strategy` for `type`; PACTS writes `{selector, score, meta: {strategy}}`."""
    if not isinstance(data, dict):
        return data
    data = dict(data)
    if "selector" in data and "type" not in data and isinstance(data.get("meta"), dict):
        meta = dict(data.pop("meta"))
        name = meta.pop("strategy", None)
        score = data.pop("score", data.pop("confidence", None))
        # A PACTS result is resolved already: its selector is CSS whichever strategy found it.
        return {"type": "css", "value": data.pop("selector"), "confidence": score,
                "meta": {**meta, "found_by": name}, **data}  # fmt: skip
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
    """CSS of the same-origin `iframe` the element lives in; None: the page, open shadow roots
    included."""

    @model_validator(mode="before")
    @classmethod
    def _single_strategy(cls, data: Any) -> Any:
        """A string is CSS; one bare strategy is a list of one."""
        if isinstance(data, str):
            return {"strategies": [{"type": "css", "value": data}]}
        if isinstance(data, dict) and "strategies" not in data and ("type" in data or "strategy" in data):
            return {"strategies": [data]}
        return data

    @model_validator(mode="after")
    def _flag_is_true(self) -> Selector:
        templated = any(isinstance(s, TemplateStrategy) for s in self.strategies)
        if self.parameterized and not templated:
            raise ValueError("`parameterized` is true but no strategy is a template")
        if templated and not self.parameterized:
            object.__setattr__(self, "parameterized", True)
        return self

    @property
    def required_context(self) -> frozenset[str]:
        """Variables without which the selector cannot be used: those every template needs."""
        needs = [
            frozenset(s.required_context or s.parameters)
            for s in self.strategies
            if isinstance(s, TemplateStrategy)
        ]
        return frozenset.intersection(*needs) if needs else frozenset()

    @property
    def ordered(self) -> tuple[Strategy, ...]:
        """The strategies as they are to be tried: fallbacks last."""
        return tuple(sorted(self.strategies, key=lambda s: s.fallback))


def css(value: str) -> Selector:
    """A selector of one CSS strategy."""
    return Selector(strategies=(ValueStrategy(type="css", value=value),))
