"""What the extractor finds in aligned traces: what each position is, and what is known about it (MA 5)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from agent.synthesis.alignment import AlignedPosition, RowKey
from kb_schema.conditions import Condition
from kb_schema.selectors import Selector

UNKNOWN_CONDITION = "Unknown: runs diverge at this point"
"""MA's words where nothing tells the branches apart."""

Source = Literal["input", "item", "output", "user_input"]


@dataclass(frozen=True, slots=True)
class Refusal:
    """Something that could not be induced: why, and where in each trace to look."""

    reason: str
    places: Mapping[str, int]
    """Trace -> index of its step."""

    def __str__(self) -> str:
        told = ", ".join(f"{trace}#{at}" for trace, at in sorted(self.places.items()))
        return f"{self.reason} (at {told})" if told else self.reason


@dataclass(frozen=True, slots=True)
class Reading:
    """A value that is read off the page before a step."""

    name: str
    selector: str
    """CSS."""
    pattern: str | None = None
    """RE2; group 1 is the value."""


@dataclass(frozen=True, slots=True)
class Binding:
    """Where a varying value comes from."""

    name: str
    """Of the variable."""
    source: Source
    template: str
    """The value as a template over the variable: `{name}`, or with what stands around it."""
    key: str = ""
    """Path in the input data (`input`), or in an item of a list (`item`)."""
    reading: Reading | None = None
    secret: bool = False
    description: str = ""
    evidence: str = ""


@dataclass(frozen=True, slots=True)
class TargetParameter:
    """A target that is the same thing of another row each time."""

    selector: Selector
    """Its template has the parameter `binding.name`."""
    binding: Binding
    words: Mapping[RowKey, str] = field(default_factory=dict)
    """What the parameter was in each row."""


@dataclass(frozen=True, slots=True)
class ParameterizableInfo:
    """What varies at a position and what does not (MA 5)."""

    variable_args: dict[str, str]
    """Argument -> variable."""
    constant_args: dict[str, Any]
    bindings: dict[str, Binding] = field(default_factory=dict)
    target: TargetParameter | None = None


@dataclass(frozen=True, slots=True)
class OptionalInfo:
    """When an optional step is done."""

    condition: Condition | None
    """It is done only while this holds; None where nothing tells."""
    evidence: str
    left_out: str | None = None
    """Why it is not done at all: one person did it, and it made no difference."""


@dataclass(frozen=True, slots=True)
class LoopRule:
    """When a loop goes on (DESIGN 6: every loop is bounded and ends by evidence)."""

    kind: Literal["collection", "list", "pages", "until", "fixed", "unknown"]
    evidence: str
    condition: Condition | None = None
    """It is over when this holds."""
    collection: str | None = None
    """CSS of what is gone through, one element per item."""
    shrinking: bool = False
    """Whether an item is gone once it is dealt with."""
    items: str | None = None
    """Input that holds the list."""
    times: int | None = None
    turn: Selector | None = None
    """What turns to the next page; the last page has none."""
    given: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)
    """Trace -> the items that it was done for, where no input data has the list."""


@dataclass(frozen=True, slots=True)
class LoopPattern:
    """A loop (MA 5)."""

    body_start: int
    body_end: int
    min_iterations: int
    max_iterations: int
    body_steps: tuple[AlignedPosition, ...]
    rule: LoopRule
    body: ExtractedPatterns
    last: int
    """The last position that belongs to it, later rounds included."""
    rounds: tuple[ExtractedPatterns, ...] = ()
    """Where it is always done equally often: each round by itself, since its values may be its own."""

    @property
    def indices(self) -> range:
        """Every position that belongs to it."""
        return range(self.body_start, self.last + 1)


@dataclass(frozen=True, slots=True)
class BranchPattern:
    """A place where traces go different ways (MA 5)."""

    branch_point_index: int
    branches: dict[str, tuple[AlignedPosition, ...]]
    condition_description: str
    condition_source: str | None = None
    conditions: dict[str, Condition | None] = field(default_factory=dict)
    """Label -> when this way is taken; None: when no other is."""
    bodies: dict[str, ExtractedPatterns] = field(default_factory=dict)

    @property
    def indices(self) -> list[int]:
        """Every position that belongs to it."""
        return sorted(position.index for positions in self.branches.values() for position in positions)

    @property
    def decided(self) -> bool:
        """Whether it is known when which way is taken."""
        return self.condition_source is not None


@dataclass(frozen=True, slots=True)
class ExtractedPatterns:
    """Everything found (MA 5). Each position is in one of the first six."""

    deterministic_steps: tuple[AlignedPosition, ...] = ()
    parameterizable_steps: tuple[tuple[AlignedPosition, ParameterizableInfo], ...] = ()
    variable_steps: tuple[AlignedPosition, ...] = ()
    optional_steps: tuple[AlignedPosition, ...] = ()
    branch_patterns: tuple[BranchPattern, ...] = ()
    loop_patterns: tuple[LoopPattern, ...] = ()
    user_input_boundaries: tuple[int, ...] = ()
    step_order: tuple[int, ...] = ()
    optional_info: Mapping[int, OptionalInfo] = field(default_factory=dict)
    targets: Mapping[int, Selector] = field(default_factory=dict)
    """Position -> every strategy that was seen for it, most stable first."""
    waits: Mapping[int, Selector] = field(default_factory=dict)
    """Position -> what was not there yet right after the step before."""
    success: Condition | None = None
    """What every run ended with and none began its last step with."""
    refusals: tuple[Refusal, ...] = ()
    trace_ids: tuple[str, ...] = ()
    alignment_score: float = 1.0

    def walk(self) -> Iterator[ExtractedPatterns]:
        """These patterns, then those inside of branches and loops."""
        yield self
        for loop in self.loop_patterns:
            yield from loop.body.walk()
        for branch in self.branch_patterns:
            for body in branch.bodies.values():
                yield from body.walk()


def variants_of(position: AlignedPosition) -> dict[str, int]:
    """What is done at a position, and in how many traces (MA Property 12)."""
    return dict(Counter(step.action_type for step in position.steps.values() if step is not None))
