"""The body of one test function: statements in blocks, with the locators and page objects they use.

A locator that is used twice gets a variable at its first use; one of a page that several tests share is an
attribute of its page object. Steps and outcomes are written by `action_statements` and
`outcome_assertions`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from agent.verification.generation.pytest_names import add_role_suffix, identifier, make_unique_name
from agent.verification.generation.text_expressions import TextExpressions
from kb_schema.locator_expressions import Expression, to_source

_TOKEN = re.compile("\x02(\\d+)\x03")


@dataclass(frozen=True, slots=True)
class SharedElement:
    """An element of a page object."""

    class_name: str
    module: str
    variable: str
    """The name tests give the page object."""
    attribute: str


@dataclass(frozen=True, slots=True)
class StepBlock:
    """A step of the requirement: a comment, its action and its assertions."""

    comment: str
    statements: tuple[str, ...]


@dataclass(slots=True)
class _NameReference:
    source: str
    name: str
    shared: SharedElement | None
    tab: str


@dataclass(slots=True)
class FunctionBody:
    """The test function being written."""

    texts: TextExpressions
    shared: Mapping[str, SharedElement] = field(default_factory=dict)
    """Source of a locator, starting with `page` -> its place in a page object."""
    page: str = "page"
    """The variable of the current tab."""
    tabs: list[str] = field(default_factory=list)
    blocks: list[StepBlock] = field(default_factory=list)
    fixtures: set[str] = field(default_factory=set)
    """Fixtures besides `page`."""
    helpers: set[str] = field(default_factory=set)
    """Functions of the suite's `support.py`."""
    used: dict[str, SharedElement] = field(default_factory=dict)
    """Page objects by class name."""
    _refs: list[_NameReference] = field(default_factory=list)
    _names: set[str] = field(default_factory=set)
    _temporary: set[str] = field(default_factory=set)

    def locator(self, expression: Expression, name: str, role: str | None = None) -> str:
        """Return a token for the locator; `lines` replaces it with the most readable form."""
        source = to_source(expression, self.page, text=self.texts.literal)
        shared = self.shared.get(to_source(expression)) if expression else None
        for number, known in enumerate(self._refs):
            if known.source == source:
                return f"\x02{number}\x03"
        self._refs.append(_NameReference(source, add_role_suffix(identifier(name), role), shared, self.page))
        return f"\x02{len(self._refs) - 1}\x03"

    def variable(self, name: str) -> str:
        """Return an unused variable name."""
        chosen = make_unique_name(name, self._temporary)
        self._temporary.add(chosen)
        return chosen

    def enter_tab(self) -> str:
        """Return the variable of the tab that opens now; the next steps are done in it."""
        self.tabs.append(self.page)
        self.page = self.variable("new_page")
        return self.page

    def leave_tab(self) -> str:
        """Return the variable of the tab that is left."""
        left, self.page = self.page, self.tabs.pop() if self.tabs else "page"
        return left

    def add(self, comment: str, statements: Sequence[str]) -> None:
        """Add a block."""
        self.blocks.append(StepBlock(comment, tuple(statements)))

    def finished(self, *, opening: Mapping[str, str] | None = None) -> list[StepBlock]:
        """Return the blocks with every locator written out. `opening`: variables at the top, which take
        names first.
        """
        self._names = {*(opening or {}), *self._temporary, *self.fixtures}
        counts = self._counts()
        given: dict[int, str] = {}
        return [
            StepBlock(block.comment, tuple(self._declared(block.statements, counts, given)))
            for block in self.blocks
        ]

    def _counts(self) -> dict[int, int]:
        found: dict[int, int] = {}
        for statement in (each for block in self.blocks for each in block.statements):
            for token in _TOKEN.findall(statement):
                found[int(token)] = found.get(int(token), 0) + 1
        return found

    def _declared(
        self, statements: Sequence[str], counts: Mapping[int, int], given: dict[int, str]
    ) -> list[str]:
        """Return the statements, with variables for locators and page objects before their first use."""
        lines: list[str] = []
        for statement in statements:
            for number in dict.fromkeys(map(int, _TOKEN.findall(statement))):
                if number not in given:
                    lines += self._introduce(number, counts[number], given)
            lines.append(_TOKEN.sub(lambda token: given[int(token[1])], statement))
        return lines

    def _introduce(self, number: int, uses: int, given: dict[int, str]) -> list[str]:
        ref = self._refs[number]
        if ref.shared is not None:
            return self._introduce_page(ref, ref.shared, number, given)
        if uses < 2:
            given[number] = ref.source
            return []
        name = ref.name if ref.name not in self._names else f"{ref.name.rstrip('_')}_field"
        given[number] = make_unique_name(name, self._names)
        self._names.add(given[number])
        return [f"{given[number]} = {ref.source}"]

    def _introduce_page(
        self, ref: _NameReference, shared: SharedElement, number: int, given: dict[int, str]
    ) -> list[str]:
        key = f"{shared.variable}\n{ref.tab}"
        first = key not in self.used
        variable = shared.variable if ref.tab == "page" else f"{shared.variable}_in_{ref.tab}"
        self.used.setdefault(key, shared)
        self._names.add(variable)
        given[number] = f"{variable}.{shared.attribute}"
        return [f"{variable} = {shared.class_name}({ref.tab})"] if first else []
