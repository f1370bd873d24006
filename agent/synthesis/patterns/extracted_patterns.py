"""The result of pattern extraction: the kind of each position, parameters, loops and branches (MA 5)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from agent.synthesis.alignment.aligned_traces import AlignedPosition, RowKey
from agent.synthesis.patterns.row_filters import ToldRowFilter
from kb_schema.conditions import Condition, ElementHidden, ElementVisible, FieldHasValue
from kb_schema.fingerprints import Fingerprint
from kb_schema.io_specs import RankedExtraction
from kb_schema.read_backs import PageReadBack
from kb_schema.selectors import Selector

UNKNOWN_CONDITION = "Unknown: runs diverge at this point"
"""The description of a branch without a condition, as MA words it."""

ValueBindingSource = Literal["input", "item", "output", "user_input", "computed"]


@dataclass(frozen=True, slots=True)
class ControlState:
    """A control that says itself whether its job is done."""

    target: Selector
    """The control as long as the job is not done; a box also when it is."""
    done: ElementVisible | FieldHasValue
    """The control when the job is done; how a box stands then."""

    @property
    def already_done_when(self) -> tuple[Condition, ...]:
        """What shows before the press that it would undo the job. Where both are shown, a run cannot tell which is meant."""
        if isinstance(self.done, FieldHasValue):
            return (self.done,)
        return self.done, ElementHidden(type="element_hidden", element=self.target)


@dataclass(frozen=True, slots=True)
class PatternRefusal:
    """Something that could not be derived, with the reason and the step of each trace."""

    reason: str
    places: Mapping[str, int]
    """Maps a trace id to the index of its step."""

    def __str__(self) -> str:
        told = ", ".join(f"{trace}#{at}" for trace, at in sorted(self.places.items()))
        return f"{self.reason} (at {told})" if told else self.reason


@dataclass(frozen=True, slots=True)
class PageReading:
    """A value that is read from the page before a step."""

    name: str
    selector: str
    """CSS; XPath if it begins with `/`."""
    pattern: str | None = None
    """RE2 pattern; group 1 is the value."""
    named_by: tuple[ValueBinding, ...] = ()
    """The variables of the selector, or of what is ranked."""
    ranked: RankedExtraction | None = None
    """How the value is found among rows, if it is the least or greatest of a column; `selector` is the first row."""


@dataclass(frozen=True, slots=True)
class ValueBinding:
    """The source of a varying value."""

    name: str
    """Name of the variable."""
    source: ValueBindingSource
    template: str
    """The value as a template: `{name}`, with the constant text around it."""
    key: str = ""
    """Path in the input data (source `input`) or in a list item (source `item`)."""
    reading: PageReading | None = None
    secret: bool = False
    description: str = ""
    evidence: str = ""
    only_asked: bool = False
    """Whether nothing in the traces has the value: a person must give it."""
    plain_number: bool = False
    """Whether every value is a number without grouping of its thousands."""
    optional: bool = False
    """Whether runs may leave it out; no trace shows it."""
    whole: Mapping[RowKey, str] = field(default_factory=dict)
    """The variable in each row, where only its beginning was typed."""
    parts: tuple[ValueBinding, ...] = ()
    """Further variables of the template, or those of the formula."""
    formula: str = ""
    """For the source `computed`: the two values with their sign, as a template."""

    @property
    def around(self) -> tuple[str, str]:
        """The constant text before and after the value, if it is of one variable."""
        before, name, after = self.template.partition(f"{{{self.name}}}")
        return (before, after) if name and not self.parts else ("", "")


@dataclass(frozen=True, slots=True)
class TargetParameter:
    """A target that is the corresponding element of a different row each time."""

    selector: Selector
    """Selector template with the parameter `binding.name`."""
    binding: ValueBinding
    words: Mapping[RowKey, str] = field(default_factory=dict)
    """Value of the parameter in each row."""
    also: tuple[ValueBinding, ...] = ()
    """Further parameters of the selector: other texts of the same part of the page."""


@dataclass(frozen=True, slots=True)
class ParameterizableInfo:
    """The variable and the constant arguments of a position (MA 5)."""

    variable_args: dict[str, str]
    """Maps an argument to its variable."""
    constant_args: dict[str, Any]
    bindings: dict[str, ValueBinding] = field(default_factory=dict)
    target: TargetParameter | None = None


@dataclass(frozen=True, slots=True)
class OptionalInfo:
    """When an optional step is performed."""

    condition: Condition | None
    """Condition for the step; None if it could not be derived."""
    evidence: str
    left_out: str | None = None
    """Why the step is omitted: one person performed it, and it had no effect."""
    interrupts: bool = False
    """Whether it answers what came by itself, and may come at any other step."""
    unknown: bool = False
    """Whether its element was there in traces without the step, too, and nothing tells them apart."""
    asked: ValueBinding | None = None
    """The yes-or-no input that decides it."""


@dataclass(frozen=True, slots=True)
class LoopRule:
    """When a loop continues. Every loop has a limit and an end condition with evidence."""

    kind: Literal["collection", "list", "pages", "until", "fixed", "unknown"]
    evidence: str
    condition: Condition | None = None
    """End condition."""
    collection: str | Selector | None = None
    """CSS or a selector with a parameter of the collection, one element per item."""
    shrinking: bool = False
    """Whether an item disappears when it has been handled."""
    is_placed: bool = False
    """Whether each round takes the first or last row, whatever its text."""
    items: str | None = None
    """Name of the input that is the list."""
    times: int | None = None
    turn: Selector | None = None
    """Element that opens the next page; the last page does not have it."""
    turn_fingerprint: Fingerprint | None = None
    """Its fingerprint, as far as all traces agree."""
    given: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)
    """Maps a trace id to its items, if the list is not in the input data."""
    told: ToldRowFilter | None = None
    """The rows that a text of an input tells; `binding` is its source."""
    binding: ValueBinding | None = None
    counted: ValueBinding | None = None
    """The source of the number of rows, if an input tells it."""


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
    """Index of the last position of the loop, including later rounds."""
    rounds: tuple[ExtractedPatterns, ...] = ()
    """The patterns of each round, if the number of rounds is constant: each round may have its own values."""

    @property
    def indices(self) -> range:
        """Indices of all positions that belong to it."""
        return range(self.body_start, self.last + 1)


@dataclass(frozen=True, slots=True)
class BranchPattern:
    """A position at which traces take different branches (MA 5)."""

    branch_point_index: int
    branches: dict[str, tuple[AlignedPosition, ...]]
    condition_description: str
    condition_source: str | None = None
    conditions: dict[str, Condition | None] = field(default_factory=dict)
    """Maps a label to the condition of the branch; None for the default branch."""
    bodies: dict[str, ExtractedPatterns] = field(default_factory=dict)

    @property
    def indices(self) -> list[int]:
        """Indices of all positions that belong to it."""
        return sorted(position.index for positions in self.branches.values() for position in positions)

    @property
    def decided(self) -> bool:
        """Whether the condition of each branch is known."""
        return self.condition_source is not None


@dataclass(frozen=True, slots=True)
class ExtractedPatterns:
    """All patterns (MA 5). Each position is in exactly one of the first six fields."""

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
    """Maps a position to all its observed strategies, most stable first."""
    waits: Mapping[int, Selector] = field(default_factory=dict)
    """Maps a position to an element that was still missing right after the previous step."""
    postconditions: Mapping[int, Condition] = field(default_factory=dict)
    """Maps a position to what all traces showed after its step and not before it."""
    control_states: Mapping[int, ControlState] = field(default_factory=dict)
    """Maps a position to what its control says of itself before and after the press."""
    success: Condition | None = None
    """Condition that holds at the end of every run, and not before its last step."""
    read_back: PageReadBack | None = None
    """Where the effect can be read apart from the last page's messages."""
    refusals: tuple[PatternRefusal, ...] = ()
    trace_ids: tuple[str, ...] = ()
    alignment_score: float = 1.0

    def walk(self) -> Iterator[ExtractedPatterns]:
        """Yield these patterns, then those inside branches and loops."""
        yield self
        for loop in self.loop_patterns:
            yield from loop.body.walk()
        for branch in self.branch_patterns:
            for body in branch.bodies.values():
                yield from body.walk()

    def walk_rounds(self) -> Iterator[ExtractedPatterns]:
        """Yield these patterns, then those inside branches and in each round of loops."""
        yield self
        bodies = [body for loop in self.loop_patterns for body in (loop.rounds or (loop.body,))]
        bodies += [body for branch in self.branch_patterns for body in branch.bodies.values()]
        for body in bodies:
            yield from body.walk_rounds()


def list_position_variants(position: AlignedPosition) -> dict[str, int]:
    """Return the action types at a position with the number of traces that show each (MA Property 12)."""
    return dict(Counter(step.action_type for step in position.steps.values() if step is not None))
