"""Checks every patch on the syntax trees before and after it: only locators and waits may change.

This module knows nothing of how patches are made. It compares two programs, and allows differences only in: a
chain that makes a locator, the selector of `page.click("...")`, a `timeout=`, and string literals that only
find elements (`value_origins`).
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator

from agent.optimization.sources.locator_chains import (
    LOCATOR_CALLS,
    LOCATOR_PROPERTIES,
    SHORTCUTS,
    TIMED,
    takes_selector,
)

EXISTENCE = frozenset(
    {"to_be_visible", "to_be_attached", "to_have_count", "to_be_in_viewport", "is_visible", "count"}
)
"""Assertions that something is present: what finds the element is what is expected."""
ABSENCE = frozenset({"to_be_hidden", "is_hidden"})
"""Assertions that something is gone: another locator would always agree."""
CONTROLS = frozenset(
    {
        "button",
        "checkbox",
        "combobox",
        "gridcell",
        "link",
        "listbox",
        "menuitem",
        "menuitemcheckbox",
        "menuitemradio",
        "option",
        "radio",
        "scrollbar",
        "searchbox",
        "slider",
        "spinbutton",
        "switch",
        "tab",
        "textbox",
        "treeitem",
    }
)
"""Roles of controls: their name is how they are found. Names of other roles are page content."""
_TEXT_ENGINES = ("text=", ":text", ":has-text", "internal:text", ":text-is", ":text-matches")
SourcePosition = tuple[int, int]
"""Line from 1 and column from 0, in characters."""


def find_violations(before: str, after: str, literals: Collection[SourcePosition] = ()) -> tuple[str, ...]:
    """Return the forbidden changes, each with its line; empty if there are none.

    `literals` are the places in `before` of strings that only find elements.
    """
    try:
        ours, theirs = ast.parse(before), ast.parse(after)
    except SyntaxError as exc:
        return (f"line {exc.lineno}: not Python any more: {exc.msg}",)
    return tuple(_TreeComparison(before, frozenset(literals)).run(ours, theirs))


def _same(ours: ast.AST, theirs: ast.AST) -> bool:
    return ast.dump(ours) == ast.dump(theirs)


def is_locator(node: ast.AST) -> bool:
    """Return whether an expression is a chain that makes a locator."""
    if isinstance(node, ast.Call):
        return isinstance(node.func, ast.Attribute) and node.func.attr in LOCATOR_CALLS
    return isinstance(node, ast.Attribute) and node.attr in LOCATOR_PROPERTIES


def _links(node: ast.expr) -> Iterator[ast.expr]:
    while is_locator(node):
        yield node
        node = _below(node)


def _below(node: ast.expr) -> ast.expr:
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        return node.func.value
    assert isinstance(node, ast.Attribute)  # noqa: S101 - `is_locator` was asked
    return node.value


def _root(node: ast.expr) -> ast.expr:
    while is_locator(node):
        node = _below(node)
    return node


def said_texts(node: ast.expr) -> tuple[str, ...]:
    """Return the texts of a locator that are page content, not the name of a control."""
    said: list[str] = []
    for link in _links(node):
        if not isinstance(link, ast.Call) or not isinstance(link.func, ast.Attribute):
            continue
        name, texts = link.func.attr, []
        words = {each.arg: each.value for each in link.keywords if each.arg}
        if name == "get_by_text":
            texts = [*link.args[:1], *(words[each] for each in ("text",) if each in words)]
        elif name == "get_by_role" and "name" in words and not _operated(link, words):
            texts = [words["name"]]
        elif name == "locator" and link.args and any(e in ast.unparse(link.args[0]) for e in _TEXT_ENGINES):
            texts = [link.args[0]]
        texts += [words[each] for each in ("has_text", "has_not_text") if each in words]
        said += [ast.unparse(each) for each in texts]
    return tuple(sorted(said))


def conditions(node: ast.expr) -> tuple[str, ...]:
    """Return what a locator demands besides identity: `and_(...)`, `filter(has=...)`."""
    return tuple(
        sorted(
            ast.unparse(argument)
            for link in _links(node)
            if isinstance(link, ast.Call)
            and isinstance(link.func, ast.Attribute)
            and link.func.attr in ("and_", "filter")
            for argument in (*link.args, *(each.value for each in link.keywords))
        )
    )


def _operated(link: ast.Call, words: dict[str, ast.expr]) -> bool:
    role = link.args[0] if link.args else words.get("role")
    return isinstance(role, ast.Constant) and role.value in CONTROLS


class _TreeComparison:
    """Walks both trees at once."""

    def __init__(self, before: str, literals: frozenset[SourcePosition]) -> None:
        self._lines = before.replace("\r\n", "\n").replace("\r", "\n").split("\n")
        self._literals = literals
        self._asserting = 0

    def run(self, ours: ast.AST, theirs: ast.AST) -> Iterator[str]:
        """Return everything that is not allowed."""
        if _same(ours, theirs):
            return
        if isinstance(ours, ast.expr) and isinstance(theirs, ast.expr):
            if is_locator(ours) and is_locator(theirs):
                yield from self._locators(ours, theirs)
                return
            if isinstance(ours, ast.Call) and isinstance(theirs, ast.Call):
                yield from self._calls(ours, theirs)
                return
            if self._may_be_edited(ours, theirs):
                return
        if type(ours) is not type(theirs):
            yield self._told(ours, f"`{_brief(ours)}` became `{_brief(theirs)}`")
            return
        yield from self._parts(ours, theirs)

    def _parts(self, ours: ast.AST, theirs: ast.AST) -> Iterator[str]:
        asserting = isinstance(ours, ast.Assert)
        self._asserting += asserting
        for name in ours._fields:
            mine, its = getattr(ours, name, None), getattr(theirs, name, None)
            if isinstance(mine, list) and isinstance(its, list):
                if len(mine) != len(its):
                    yield self._told(ours, f"`{name}` had {len(mine)} parts and has {len(its)}")
                    continue
                for one, other in zip(mine, its, strict=True):
                    yield from self._pair(ours, one, other)
            else:
                yield from self._pair(ours, mine, its)
        self._asserting -= asserting

    def _pair(self, above: ast.AST, mine: object, its: object) -> Iterator[str]:
        if isinstance(mine, ast.AST) and isinstance(its, ast.AST):
            yield from self.run(mine, its)
        elif mine != its or type(mine) is not type(its):
            yield self._told(above, f"`{mine}` became `{its}`")

    # -- what is allowed

    def _locators(self, ours: ast.expr, theirs: ast.expr) -> Iterator[str]:
        mine, its = _root(ours), _root(theirs)
        if not (_same(mine, its) or _is_page(its) or _page_of(its, mine)):
            yield self._told(ours, f"a locator on `{_brief(mine)}` became one on `{_brief(its)}`")
        known = {ast.dump(each) for each in ast.walk(ours) if isinstance(each, ast.Call)}
        for each in ast.walk(theirs):
            if not isinstance(each, ast.Call) or is_locator(each) or ast.dump(each) in known:
                continue
            if ast.unparse(each.func) != "re.compile":
                yield self._told(ours, f"the locator calls `{_brief(each)}`, which it did not")

    def _calls(self, ours: ast.Call, theirs: ast.Call) -> Iterator[str]:
        if isinstance(ours.func, ast.Attribute) and isinstance(theirs.func, ast.Attribute):
            if ours.func.attr == theirs.func.attr and _by_selector(ours):
                by_selector = self._shortcut(ours, theirs)
                if by_selector is not None:
                    yield from by_selector
                    return
            yield from self._asserted(ours, theirs)
            if _timed(ours) and _timed(theirs):
                ours, theirs = _untimed(ours), _untimed(theirs)
        yield from self._parts(ours, theirs)

    def _shortcut(self, ours: ast.Call, theirs: ast.Call) -> list[str] | None:
        """Compare `page.click("#a")` with another selector, or with `page.get_by_role(...).click()`; None:
        neither.
        """
        assert isinstance(ours.func, ast.Attribute)  # noqa: S101 - the caller asked
        assert isinstance(theirs.func, ast.Attribute)  # noqa: S101
        mine, its, other = _untimed(ours), _untimed(theirs), theirs.func.value
        if _same(ours.func, theirs.func) and its.args and _is_text(its.args[0]):
            rest = (
                ast.Call(mine.func, mine.args[1:], mine.keywords),
                ast.Call(its.func, its.args[1:], its.keywords),
            )
            return list(self._parts(*rest))
        if ours.func.attr in SHORTCUTS and is_locator(other):
            root = _root(other)
            if not _same(root, ours.func.value) and not _is_page(root):
                return [self._told(ours, f"`{_brief(ours)}` is called on `{_brief(root)}`")]
            kept = [each for each in mine.keywords if each.arg != "strict"]
            rest = ast.Call(mine.func, mine.args[1:], kept), ast.Call(mine.func, its.args, its.keywords)
            return list(self._parts(*rest))
        return None

    def _asserted(self, ours: ast.Call, theirs: ast.Call) -> Iterator[str]:
        """Check an assertion of presence (or absence): what finds the element is what is expected."""
        assert isinstance(ours.func, ast.Attribute)  # noqa: S101 - the caller asked
        assert isinstance(theirs.func, ast.Attribute)  # noqa: S101
        name = ours.func.attr
        bare = name.removeprefix("not_")
        mine, its = ours.func.value, theirs.func.value
        expects = (
            isinstance(mine, ast.Call) and _brief(mine.func).rpartition(".")[2] == "expect" and mine.args
        )
        if expects:
            assert isinstance(mine, ast.Call)  # noqa: S101 - just asked
            if not (isinstance(its, ast.Call) and its.args):
                return
            mine, its = mine.args[0], its.args[0]
        elif not self._asserting:
            return
        if _same(mine, its) or not (is_locator(mine) and is_locator(its)):
            return
        if (bare in EXISTENCE and bare != name) or bare in ABSENCE:
            yield self._told(ours, f"`{name}` would be true of any other locator")
        elif bare in EXISTENCE and conditions(mine) != conditions(its):
            yield self._told(
                ours, f"`{name}` expects what its locator demands: {', '.join(conditions(mine))}"
            )
        elif bare in EXISTENCE and said_texts(mine) and said_texts(mine) != said_texts(its):
            yield self._told(
                ours, f"`{name}` expects the very text it looks for: {', '.join(said_texts(mine))}"
            )

    def _may_be_edited(self, ours: ast.expr, theirs: ast.expr) -> bool:
        if not (_is_text(ours) and _is_text(theirs)) or self._asserting:
            return False
        return (ours.lineno, self._column(ours)) in self._literals

    def _column(self, node: ast.expr) -> int:
        line = self._lines[node.lineno - 1] if node.lineno <= len(self._lines) else ""
        return len(line.encode()[: node.col_offset].decode(errors="replace"))

    def _told(self, node: ast.AST, what: str) -> str:
        return f"line {getattr(node, 'lineno', '?')}: {what}"


def _brief(node: ast.AST) -> str:
    text = " ".join(ast.unparse(node).split())
    return text if len(text) <= 80 else f"{text[:77]}..."


def _is_text(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def _by_selector(call: ast.Call) -> bool:
    assert isinstance(call.func, ast.Attribute)  # noqa: S101 - the caller asked
    if is_locator(call.func.value) or any(isinstance(each, ast.Starred) for each in call.args):
        return False
    return takes_selector(call.func.attr, len(call.args), frozenset(each.arg or "" for each in call.keywords))


def _is_page(node: ast.expr) -> bool:
    """Return whether it is a page: `page`, `self.page`, `dialog.page`."""
    return (isinstance(node, ast.Name) and node.id == "page") or (
        isinstance(node, ast.Attribute)
        and node.attr in ("page", "_page")
        and isinstance(node.value, ast.Name)
    )


def _page_of(its: ast.expr, mine: ast.expr) -> bool:
    return isinstance(its, ast.Attribute) and its.attr == "page" and _same(its.value, mine)


def _timed(call: ast.Call) -> bool:
    assert isinstance(call.func, ast.Attribute)  # noqa: S101 - the caller asked
    if call.func.attr in TIMED:
        return True
    above = call.func.value
    return (
        isinstance(above, ast.Call)
        and _brief(above.func).rpartition(".")[2] == "expect"
        and call.func.attr.removeprefix("not_").startswith("to_")
    )


def _untimed(call: ast.Call) -> ast.Call:
    """Remove a timeout that is a plain number."""
    kept = [
        each for each in call.keywords if not (each.arg == "timeout" and isinstance(each.value, ast.Constant))
    ]
    return ast.copy_location(ast.Call(call.func, call.args, kept), call)
