"""Follows the control flow of a Selenium IDE test as far as the file itself decides it.

Branches whose condition only the page decides, and loops without a number of rounds, cannot be followed: their commands are
left out and named.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from loaders.recordings.selenium_expressions import NotComputable, compute

MOST_ROUNDS = 50
MOST_COMMANDS = 5_000
"""Commands that are read in all rounds together."""
_ENDS = frozenset({"end", "else", "elseIf", "repeatIf"})
_BLOCKS = frozenset({"if", "while", "times", "forEach", "do"})

_BESIDE = ("mouseMove", "runScript", "waitFor", "pause", "setWindowSize", "echo", "//")
"""Commands that do nothing with what the pointer is over."""

Placed = tuple[dict[str, Any], str]
"""A command and its place in the file."""


@dataclass(slots=True)
class _Block:
    """`if`, `while`, `times`, `forEach` or `do`, with what is in it."""

    kind: str
    arms: list[tuple[Placed, list[_Node]]] = field(default_factory=list)
    """The command that begins each part, and the part: `if`, `elseIf`, `else`."""
    closing: Placed | None = None


_Node = Placed | _Block


@dataclass(slots=True)
class SeleniumFlow:
    """Yields the commands of a test in the order in which they are carried out."""

    variables: Mapping[str, Any]
    """Live: the reader of the commands sets them."""
    assign: Callable[[str, Any], None]
    problem: Callable[[str, str], None]
    count: int = 0

    def follow(self, commands: Sequence[Placed]) -> Iterator[Placed]:
        """Yield each command with its place. What cannot be followed is reported and left out."""
        nodes, rest = self._parsed(list(commands), None)
        for _, place in rest:
            self.problem(place, "ends a block that nothing began; left out")
        yield from self._walk(nodes)

    def _parsed(self, commands: list[Placed], block: _Block | None) -> tuple[list[_Node], list[Placed]]:
        """Return the nodes up to the end of the block, and the commands after it."""
        nodes: list[_Node] = []
        while commands:
            command, place = commands[0]
            name = command["command"]
            if name in _ENDS:
                if block is None:
                    commands.pop(0)
                    self.problem(place, f"{name!r} ends a block that nothing began; left out")
                    continue
                return nodes, commands
            commands.pop(0)
            if name not in _BLOCKS:
                nodes.append((command, place))
                continue
            made = _Block(name, [((command, place), [])])
            commands = self._fill(made, commands)
            nodes.append(made)
        return nodes, commands

    def _fill(self, block: _Block, commands: list[Placed]) -> list[Placed]:
        while True:
            inner, commands = self._parsed(commands, block)
            block.arms[-1][1].extend(inner)
            if not commands:
                self.problem(block.arms[0][0][1], f"{block.kind!r} has no end")
                return commands
            closing = commands.pop(0)
            if closing[0]["command"] in ("else", "elseIf") and block.kind == "if":
                block.arms.append((closing, []))
                continue
            block.closing = closing
            return commands

    def _walk(self, nodes: Sequence[_Node]) -> Iterator[Placed]:
        for node in nodes:
            if isinstance(node, _Block):
                yield from getattr(self, f"_follow_{node.kind.lower()}")(node)
                continue
            self.count += 1
            if self.count > MOST_COMMANDS:
                if self.count == MOST_COMMANDS + 1:
                    self.problem(node[1], f"what comes after {MOST_COMMANDS:,} commands is left out")
                return
            yield node

    def _follow_if(self, block: _Block) -> Iterator[Placed]:
        for (command, place), nodes in block.arms:
            if command["command"] == "else":
                yield from self._walk(nodes)
                return
            decided = self._decide(command, place, block)
            if decided is None:
                return
            if decided:
                yield from self._walk(nodes)
                return

    def _follow_while(self, block: _Block) -> Iterator[Placed]:
        (command, place), nodes = block.arms[0]
        for _ in self._rounds(place, MOST_ROUNDS + 1):
            decided = self._decide(command, place, block)
            if not decided:
                return
            yield from self._walk(nodes)

    def _follow_do(self, block: _Block) -> Iterator[Placed]:
        (_, place), nodes = block.arms[0]
        for _ in self._rounds(place, MOST_ROUNDS + 1):
            yield from self._walk(nodes)
            if block.closing is None or not self._decide(*block.closing, block):
                return

    def _follow_times(self, block: _Block) -> Iterator[Placed]:
        (command, place), nodes = block.arms[0]
        count = self._compute(command, place, block)
        if count is None:
            return
        if isinstance(count, bool) or not isinstance(count, int | float) or not math.isfinite(count):
            self._leave_out(place, block, f"{command.get('target')!r} is no number of rounds")
            return
        for _ in self._rounds(place, int(count)):
            yield from self._walk(nodes)

    def _follow_foreach(self, block: _Block) -> Iterator[Placed]:
        (command, place), nodes = block.arms[0]
        items = self.variables.get(str(command.get("target") or ""))
        if not isinstance(items, list):
            self._leave_out(place, block, f"the items of {command.get('target')!r} are not in the file")
            return
        for _, item in zip(self._rounds(place, len(items)), items, strict=False):
            self.assign(str(command.get("value") or ""), item)
            yield from self._walk(nodes)

    def _rounds(self, place: str, count: int) -> Iterator[int]:
        for number in range(min(count, MOST_ROUNDS)):
            self.count += 1  # rounds without a command count, too: they can be nested
            if self.count > MOST_COMMANDS:
                return
            yield number
        if count > MOST_ROUNDS:
            self.problem(place, f"more than {MOST_ROUNDS} rounds; the others are left out")

    def _decide(self, command: dict[str, Any], place: str, block: _Block) -> bool | None:
        """Return whether a condition holds; None if only the page decides it, which is reported."""
        value = self._compute(command, place, block)
        return None if value is None else bool(value)

    def _compute(self, command: dict[str, Any], place: str, block: _Block) -> Any:
        expression = str(command.get("target") or "")
        try:
            return compute(expression, self.variables)
        except NotComputable:
            self._leave_out(place, block, f"only the page decides {expression[:80]!r}")
            return None

    def _leave_out(self, place: str, block: _Block, reason: str) -> None:
        count = sum(1 for _, nodes in block.arms for _ in _flat(nodes))
        self.problem(
            place, f"{block.kind}: {reason}; its {count} command{'' if count == 1 else 's'} left out"
        )


def _flat(nodes: Sequence[_Node]) -> Iterator[Placed]:
    for node in nodes:
        if isinstance(node, _Block):
            for _, inner in node.arms:
                yield from _flat(inner)
        else:
            yield node


def leave_out_mere_pointing(commands: Iterable[Placed]) -> Iterator[Placed]:
    """Yield the commands without a `mouseOver` after which nothing is done before the pointer leaves, or the test ends.

    Selenium IDE writes one for whatever the pointer comes by. One that opens a menu is followed by a press in it.
    """
    pointing: list[Placed] = []
    for command, place in commands:
        name = str(command.get("command") or "")
        if name == "mouseOver":
            pointing = [(command, place)]
            continue
        if name == "mouseOut":
            pointing = []
        elif not name.startswith(_BESIDE):
            yield from pointing
            pointing = []
        yield command, place
