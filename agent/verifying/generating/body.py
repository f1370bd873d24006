"""The inside of one test function: statements in blocks, and the locators and page objects they use.

A locator that is used twice gets a variable where it is first used; one of a page that several tests share is
an attribute of its page object. What a step or an outcome says is in `actions.py` and `assertions.py`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from agent.playwright_python.writing import to_source
from agent.verifying.generating.naming import identifier, untaken, with_role
from agent.verifying.generating.texts import Texts
from kb_schema.playwright_calls import Expression

_TOKEN = re.compile("\x02(\\d+)\x03")


@dataclass(frozen=True, slots=True)
class SharedElement:
    """An element of a page object."""

    class_name: str
    module: str
    variable: str
    """What tests call the page object."""
    attribute: str


@dataclass(frozen=True, slots=True)
class Block:
    """A step of the requirement: a comment, and what is done and expected."""

    comment: str
    statements: tuple[str, ...]


@dataclass(slots=True)
class _Ref:
    source: str
    name: str
    shared: SharedElement | None
    tab: str


@dataclass(slots=True)
class Body:
    """One test function while it is written."""

    texts: Texts
    shared: Mapping[str, SharedElement] = field(default_factory=dict)
    """Source of a locator from `page` on -> its place in a page object."""
    page: str = "page"
    """The variable of the tab one is in."""
    tabs: list[str] = field(default_factory=list)
    blocks: list[Block] = field(default_factory=list)
    fixtures: set[str] = field(default_factory=set)
    """Beyond `page`."""
    helpers: set[str] = field(default_factory=set)
    """Functions of the suite's `support.py`."""
    used: dict[str, SharedElement] = field(default_factory=dict)
    """Page objects by class name."""
    _refs: list[_Ref] = field(default_factory=list)
    _names: set[str] = field(default_factory=set)
    _temporary: set[str] = field(default_factory=set)

    def locator(self, expression: Expression, name: str, role: str | None = None) -> str:
        """A token for the locator; `lines` puts in its place what reads best."""
        source = to_source(expression, self.page, text=self.texts.literal)
        shared = self.shared.get(to_source(expression)) if expression else None
        for number, known in enumerate(self._refs):
            if known.source == source:
                return f"\x02{number}\x03"
        self._refs.append(_Ref(source, with_role(identifier(name), role), shared, self.page))
        return f"\x02{len(self._refs) - 1}\x03"

    def variable(self, name: str) -> str:
        """A variable of the test that no other has."""
        chosen = untaken(name, self._temporary)
        self._temporary.add(chosen)
        return chosen

    def enter_tab(self) -> str:
        """The variable of the tab that opens now, in which the next steps are done."""
        self.tabs.append(self.page)
        self.page = self.variable("new_page")
        return self.page

    def leave_tab(self) -> str:
        """The variable of the tab that is left."""
        left, self.page = self.page, self.tabs.pop() if self.tabs else "page"
        return left

    def add(self, comment: str, statements: Sequence[str]) -> None:
        """One more block."""
        self.blocks.append(Block(comment, tuple(statements)))

    def finished(self, *, opening: Mapping[str, str] | None = None) -> list[Block]:
        """The blocks with every locator written out. `opening`: variables at the top, which take names first."""
        self._names = {*(opening or {}), *self._temporary, *self.fixtures}
        counts = self._counts()
        given: dict[int, str] = {}
        return [
            Block(block.comment, tuple(self._declared(block.statements, counts, given)))
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
        """The statements, with variables for locators and page objects before the first that uses them."""
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
        given[number] = untaken(name, self._names)
        self._names.add(given[number])
        return [f"{given[number]} = {ref.source}"]

    def _introduce_page(
        self, ref: _Ref, shared: SharedElement, number: int, given: dict[int, str]
    ) -> list[str]:
        key = f"{shared.variable}\n{ref.tab}"
        first = key not in self.used
        variable = shared.variable if ref.tab == "page" else f"{shared.variable}_in_{ref.tab}"
        self.used.setdefault(key, shared)
        self._names.add(variable)
        given[number] = f"{variable}.{shared.attribute}"
        return [f"{variable} = {shared.class_name}({ref.tab})"] if first else []
