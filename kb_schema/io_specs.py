"""Where values come from and how they are read from a page (KS 4.3 io_spec, 9.1, 9.2, 9.12)."""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal

from pydantic import Field, JsonValue, field_validator, model_validator

from kb_schema import url_patterns
from kb_schema.base import Model, ScreenRef, Seconds, TaskRef, VariableName
from kb_schema.ranked_values import Measure, read_ranking
from kb_schema.templates import variables
from kb_schema.transforms import Transform

ValueSource = Literal[
    "user_input",
    "template",
    "context",
    "task_context",
    "session_context",
    "global_context",
    "generated_value",
    "hardcoded",
    "scraped",
    "task_output",
]
SOURCES: tuple[str, ...] = ValueSource.__args__  # type: ignore[attr-defined]
_SOURCE_ALIASES = {"generated": "generated_value", "fixed": "hardcoded"}

_ATTRIBUTE = re.compile(r"@([A-Za-z][\w.:-]*)$")

ValueType = Literal["string", "number", "integer", "boolean", "date", "file", "array", "object"]


class DomExtraction(Model):
    """The text, or an attribute, of the first visible element that matches."""

    method: Literal["dom_extraction", "attribute_extraction"]
    selector: str = Field(min_length=1)
    """An element id of the current screen, CSS, or XPath that begins with `/`."""
    attribute: str | None = None
    pattern: str | None = None
    """RE2 pattern; the result is group 1, if there is one."""
    fallback: Extraction | None = None

    @field_validator("pattern")
    @classmethod
    def _compiles(cls, value: str | None) -> str | None:
        if value is not None:
            url_patterns.compile_pattern(value)
        return value


class UrlExtraction(Model):
    """Group 1 (or the whole match) of an RE2 pattern in the URL."""

    method: Literal["url_parsing"]
    pattern: str = Field(min_length=1)
    fallback: Extraction | None = None

    @field_validator("pattern")
    @classmethod
    def _compiles(cls, value: str) -> str:
        url_patterns.compile_pattern(value)
        return value


class ContextExtraction(Model):
    """A value of the run: `inputs.NAME`, `outputs.NAME` or `NAME`."""

    method: Literal["context_reference"]
    source: str = Field(min_length=1)
    fallback: Extraction | None = None


class TableColumn(Model):
    """One column of a table.

    The text, or an attribute, of the element that `selector` finds inside the row (`:scope` is the row).
    Short form: `CSS` or `CSS@ATTRIBUTE`.
    """

    selector: str = Field(min_length=1)
    attribute: str | None = None
    pattern: str | None = None
    """RE2 pattern; the result is group 1, if there is one."""

    @model_validator(mode="before")
    @classmethod
    def _in_short(cls, data: Any) -> Any:
        if not isinstance(data, str):
            return data
        attribute = _ATTRIBUTE.search(data)
        if attribute is None:
            return {"selector": data}
        return {"selector": data[: attribute.start()] or ":scope", "attribute": attribute[1]}

    @field_validator("pattern")
    @classmethod
    def _compiles(cls, value: str | None) -> str | None:
        if value is not None:
            url_patterns.compile_pattern(value)
        return value


class TableExtraction(Model):
    """The visible rows that match, each as an object with its columns."""

    method: Literal["table_extraction"]
    selector: str = Field(min_length=1)
    columns: dict[str, TableColumn] = Field(min_length=1)
    fallback: Extraction | None = None


class RankedExtraction(Model):
    """The text of one column in the visible row whose value there is the least or greatest.

    Nothing if two rows have that value, if a row has none, or if the words of `order` mean no column, or several.
    """

    method: Literal["ranked_extraction"]
    selector: str = Field(min_length=1)
    """The rows: CSS, or XPath that begins with `/`."""
    columns: dict[Measure, TableColumn] = Field(min_length=1)
    """What the values of a column are -> the column."""
    order: str = Field(min_length=1)
    """Words that say which row is meant: `cheapest`, `longest duration`, or `{x}` with such words."""
    fallback: Extraction | None = None

    @field_validator("order")
    @classmethod
    def _says_an_order(cls, value: str) -> str:
        if not variables(value) and read_ranking(value) is None:
            raise ValueError(
                f"{value!r} does not say which is meant: write `least`, `greatest`, `cheapest`, ..."
            )
        return value


Extraction = Annotated[
    DomExtraction | UrlExtraction | ContextExtraction | TableExtraction | RankedExtraction,
    Field(discriminator="method"),
]


class ValueRule(Model):
    """Where a value comes from and how it is transformed.

    Shared by a task's input (KS 4.3) and a segment's mapping (KS 9.2).
    """

    source: tuple[ValueSource, ...] = ()
    """Tried in order. `a|b|c` are alternatives (KS 4.3)."""
    value: JsonValue = None
    """For `hardcoded`: the value. For `generated_value`: an example of what the generator would give."""
    generator: str | None = None
    template: str | None = None
    """For `template`: text with `{x}`, filled once from the values known by then."""
    key: str | None = None
    """The name under which the value is looked up; default: the input's name."""
    prompt: str | None = None
    """For `user_input`: the question to ask."""
    extraction: Extraction | None = None
    """For `scraped`: how to read it."""
    screen_id: ScreenRef | None = None
    """For `scraped`: the screen to read it on; None: the open one."""
    default: JsonValue = None
    transforms: tuple[Transform, ...] = ()

    @field_validator("source", mode="before")
    @classmethod
    def _alternatives(cls, value: Any) -> Any:
        if isinstance(value, str):
            value = [part.strip() for part in value.split("|")]
        if isinstance(value, list | tuple):
            return tuple(_SOURCE_ALIASES.get(part, part) if isinstance(part, str) else part for part in value)
        return value


class InputMapping(ValueRule):
    """The source of one input's value in a flow or a workflow (KS 9.2)."""

    source: tuple[ValueSource, ...] = Field(min_length=1)
    task_id: TaskRef | None = None
    """For `task_output`: the task; None: the last task that has such an output."""
    persist_as: VariableName | None = None
    """The name under which the session keeps the transformed value."""

    @model_validator(mode="after")
    def _has_what_its_sources_need(self) -> InputMapping:
        if "hardcoded" in self.source and self.value is None:
            raise ValueError("source `hardcoded` needs a `value`")
        if "generated_value" in self.source and self.generator is None and self.value is None:
            raise ValueError("source `generated_value` needs a `generator` or a `value`")
        if "scraped" in self.source and self.extraction is None:
            raise ValueError("source `scraped` needs an `extraction`: how to read it")
        if "template" in self.source and self.template is None:
            raise ValueError("source `template` needs a `template`: text with {x}")
        return self


class InputSpec(ValueRule):
    """One input of a task. Without sources of its own, the task's `resolution_order` decides."""

    name: VariableName
    type: ValueType = "string"
    required: bool = True
    description: str = ""
    volatility: Literal["low", "medium", "high"] = "low"
    """How long a value is valid (KS 9.12): for the session, for `ttl_seconds`, or not at all."""
    refresh_on_use: bool = False
    ttl_seconds: float | None = Field(default=None, gt=0)
    from_task: TaskRef | None = None
    from_output: VariableName | None = None
    secret: bool = False
    """Whether it is secret: never written to logs, traces, screenshots, snapshots or answers."""

    @model_validator(mode="after")
    def _medium_has_a_life(self) -> InputSpec:
        if self.volatility == "medium" and self.ttl_seconds is None:
            raise ValueError("volatility `medium` needs ttl_seconds")
        return self

    @property
    def always_fresh(self) -> bool:
        """Whether it is fetched anew each time, and again at the moment of use."""
        return self.volatility == "high" or self.refresh_on_use


class OutputSpec(Model):
    """One output of a task and how it is read."""

    name: VariableName
    type: ValueType = "string"
    description: str = ""
    extraction: Extraction
    after_step: str | None = None
    """The step after which it is read (default: at the end); later steps may use it."""
    required: bool = False
    secret: bool = False


class VariableResolution(Model):
    """The sources to search for inputs that name none (KS 10.2)."""

    runtime_context_store: bool = True
    """Whether the task's values are kept for later: inputs that were fetched, and outputs in session or global values.

    If not, every run of the task fetches its inputs anew, and its outputs go to the calling task and by `task_context`.
    """
    resolution_order: tuple[ValueSource, ...] = (
        "task_context",
        "session_context",
        "global_context",
        "user_input",
    )


class IoSpec(Model):
    """The inputs and outputs of a task (KS 9.1)."""

    inputs: tuple[InputSpec, ...] = ()
    outputs: tuple[OutputSpec, ...] = ()
    context_persistence: Literal["task", "session", "global"] = "session"
    variable_resolution: VariableResolution = VariableResolution()

    @property
    def lasting(self) -> Literal["task", "session", "global"]:
        """How long outputs are kept: `context_persistence`, unless the task keeps no values."""
        return self.context_persistence if self.variable_resolution.runtime_context_store else "task"

    @model_validator(mode="after")
    def _names_are_unique(self) -> IoSpec:
        for what, specs in (("input", self.inputs), ("output", self.outputs)):
            names = [spec.name for spec in specs]
            twice = {name for name in names if names.count(name) > 1}
            if twice:
                raise ValueError(f"{what} names used twice: {sorted(twice)}")
        return self


class Duration(Model):
    """A duration, in seconds and (KS 4.4) milliseconds."""

    typical: Seconds | None = None
    max: Seconds | None = None
    min: Seconds | None = None
    estimated: Seconds | None = None
    avg_duration_ms: float | None = Field(default=None, ge=0)
    p95_duration_ms: float | None = Field(default=None, ge=0)
