"""Looks up names in a suite, across files: what they stand for, and every use of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

import libcst as cst
from libcst.metadata import Assignment, FunctionScope

from agent.optimization.sources.source_files import SourceFile, SourceUnreadable, SuiteSources

NodeT = TypeVar("NodeT", bound=cst.CSTNode)
NameUseTest = Callable[[SourceFile, cst.CSTNode], bool]


@dataclass(frozen=True, slots=True)
class NameDefinition:
    """The definition of a name: the one expression assigned to it, or the parameter it is."""

    file: SourceFile
    node: cst.CSTNode
    """An expression, a `Param`, or another node if it is assigned in some other way."""
    name: str
    """The name it is used by; for an entry of a dictionary, the dictionary's."""
    key: str | None = None
    """Of an entry of a dictionary."""
    local: bool = False
    """It belongs to one function."""


class SuiteNames:
    """Looks names up in the files of a suite."""

    def __init__(self, files: SuiteSources) -> None:
        self.files = files

    # -- what a name stands for

    def definition(self, file: SourceFile, node: cst.BaseExpression) -> NameDefinition | None:
        """Return the definition of a name, `self.NAME`, `Class.NAME`, `module.NAME` or `NAME["key"]`; None if
        unknown.
        """
        match node:
            case cst.Name():
                return self._name(file, node)
            case cst.Attribute(value=cst.Name(value="self" | "cls"), attr=attr):
                holder = find_enclosing(file, node, cst.ClassDef)
                return None if holder is None else _of_class(file, holder, attr.value)
            case cst.Attribute(value=cst.Name() as holder_name, attr=attr):
                return self._member(file, holder_name, attr.value)
            case cst.Subscript(
                value=base, slice=[cst.SubscriptElement(slice=cst.Index(value=cst.SimpleString() as key))]
            ):
                return self._entry(self.definition(file, base), str(key.evaluated_value))
            case _:
                return None

    def _name(self, file: SourceFile, node: cst.Name) -> NameDefinition | None:
        scope = file.scope(node)
        if scope is None:
            return None
        found = [each for each in scope[node.value] if isinstance(each, Assignment)]
        if len(found) != 1:
            return NameDefinition(file, found[0].node, node.value) if found else None
        made = found[0].node
        if isinstance(made, cst.ImportFrom):
            return self._imported(file, made, node.value)
        if isinstance(made, cst.Param):
            return NameDefinition(file, made, node.value, local=True)
        local = isinstance(found[0].scope, FunctionScope)
        value = get_assigned_name(file, made)
        return NameDefinition(file, made if value is None else value, node.value, local=local)

    def _imported(self, file: SourceFile, made: cst.ImportFrom, name: str) -> NameDefinition | None:
        if isinstance(made.names, cst.ImportStar):
            return None
        for alias in made.names:
            if alias.evaluated_alias is None and alias.evaluated_name == name:
                other = self._module(file, _dotted(made.module), len(made.relative))
                return None if other is None else find_definition(other, other.module.body, name)
        return None

    def _member(self, file: SourceFile, holder: cst.Name, name: str) -> NameDefinition | None:
        """`Class.NAME` and `module.NAME`."""
        scope = file.scope(holder)
        for each in () if scope is None else scope[holder.value]:
            made = each.node if isinstance(each, Assignment) else None
            if isinstance(made, cst.ClassDef):
                return _of_class(file, made, name)
            if isinstance(made, cst.Import):
                other = self._module(file, holder.value, 0)
                return None if other is None else find_definition(other, other.module.body, name)
            if isinstance(made, cst.ImportFrom):
                return self._member_of_imported(file, made, holder.value, name)
        return None

    def _member_of_imported(
        self, file: SourceFile, made: cst.ImportFrom, holder: str, name: str
    ) -> NameDefinition | None:
        package = _dotted(made.module)
        below = self._module(file, f"{package}.{holder}" if package else holder, len(made.relative))
        if below is not None:
            return find_definition(below, below.module.body, name)
        other = self._module(file, package, len(made.relative))
        if other is None:
            return None
        for node in other.module.body:
            if isinstance(node, cst.ClassDef) and node.name.value == holder:
                return _of_class(other, node, name)
        return None

    def _module(self, file: SourceFile, dotted: str, level: int) -> SourceFile | None:
        """Return the suite's own file behind an import."""
        parts = [each for each in dotted.split(".") if each]
        if level:
            folder = file.path.parent
            for _ in range(level - 1):
                folder = folder.parent
            starts = [folder]
        else:
            starts = [each for each in file.path.parents if each.is_relative_to(self.files.root)]
        for start in starts:
            base = start.joinpath(*parts)
            for path in (base.with_suffix(".py") if parts else base, base / "__init__.py"):
                if path.is_file():
                    try:
                        return self.files.read(path)
                    except SourceUnreadable:
                        continue
        return None

    def _entry(self, holder: NameDefinition | None, key: str) -> NameDefinition | None:
        if holder is None or not isinstance(holder.node, cst.Dict):
            return None
        for each in holder.node.elements:
            if isinstance(each, cst.DictElement) and isinstance(each.key, cst.SimpleString):  # noqa: SIM102 - told apart
                if each.key.evaluated_value == key:
                    return NameDefinition(holder.file, each.value, holder.name, key, holder.local)
        return None

    # -- what it is used for

    def only(self, found: NameDefinition, use: NameUseTest) -> bool:
        """Return whether every use of that name in the suite is of this kind. Unrelated uses of the same name
        count, too.
        """
        places = [found.file] if found.local else list(self._mentioning(found.name))
        function = find_enclosing(found.file, found.node, cst.FunctionDef) if found.local else None
        for file in places:
            for node in _uses(file, found.name):
                if function is not None and function not in file.within(node):
                    continue
                if not self._fits(file, node, found, use):
                    return False
        return True

    def _fits(
        self, file: SourceFile, node: cst.BaseExpression, found: NameDefinition, use: NameUseTest
    ) -> bool:
        if found.key is None:
            return use(file, node)
        above = file.parent(node)
        if not isinstance(above, cst.Subscript):
            return False
        match above.slice:
            case [cst.SubscriptElement(slice=cst.Index(value=cst.SimpleString() as key))]:
                return key.evaluated_value != found.key or use(file, above)
            case _:
                return False

    def calls_of(self, helper: str) -> tuple[tuple[SourceFile, cst.Call], ...]:
        """Return every call of a function or method of that name."""
        return tuple(
            (file, node)
            for file in self._mentioning(helper)
            for node in file.expressions()
            if isinstance(node, cst.Call) and get_called_name(node) == helper
        )

    def functions_called(self, name: str) -> tuple[tuple[SourceFile, cst.FunctionDef], ...]:
        """Return every function or method of that name."""
        found = []
        for file in self._mentioning(name):
            for node in file.expressions():
                above = file.parent(node) if isinstance(node, cst.Name) and node.value == name else None
                if isinstance(above, cst.FunctionDef) and above.name is node:
                    found.append((file, above))
        return tuple(found)

    def _mentioning(self, word: str) -> Iterator[SourceFile]:
        for file in self.files.all():
            if word.encode() in file.data:
                yield file


def get_called_name(call: cst.Call) -> str:
    """Return the last part of the called name."""
    match call.func:
        case cst.Name(value=name) | cst.Attribute(attr=cst.Name(value=name)):
            return name
        case _:
            return ""


def find_enclosing(file: SourceFile, node: cst.CSTNode, kind: type[NodeT]) -> NodeT | None:
    """Return the innermost function, class or statement around a node."""
    return next((each for each in file.within(node) if isinstance(each, kind)), None)


def get_assigned_name(file: SourceFile, target: cst.CSTNode) -> cst.BaseExpression | None:
    """Return the names assigned by a plain assignment."""
    above = file.parent(target)
    if isinstance(above, cst.AnnAssign) and above.target is target:
        return above.value
    if isinstance(above, cst.AssignTarget):
        statement = file.parent(above)
        if isinstance(statement, cst.Assign) and len(statement.targets) == 1:
            return statement.value
    return None


def body_of(node: cst.ClassDef | cst.FunctionDef) -> Sequence[cst.CSTNode]:
    """Its statements."""
    return node.body.body


def find_definition(
    file: SourceFile, body: Sequence[cst.CSTNode], name: str, *, of: str = ""
) -> NameDefinition | None:
    """Return the value of the only assignment to a name (`of` empty) or to `self.name` in these statements."""
    found: list[cst.BaseExpression] = []
    for line in body:
        for part in line.body if isinstance(line, cst.SimpleStatementLine) else ():
            match part:
                case cst.Assign(targets=[cst.AssignTarget(target=target)], value=value):
                    pass
                case cst.AnnAssign(target=target, value=cst.BaseExpression() as value):
                    pass
                case _:
                    continue
            if file.code(target) == (f"{of}.{name}" if of else name):
                found.append(value)
    return NameDefinition(file, found[0], name) if len(found) == 1 else None


def _of_class(file: SourceFile, holder: cst.ClassDef, name: str) -> NameDefinition | None:
    own = find_definition(file, body_of(holder), name)
    if own is not None:
        return own
    for node in body_of(holder):
        if isinstance(node, cst.FunctionDef) and node.name.value == "__init__":
            return find_definition(file, body_of(node), name, of="self")
    return None


def _dotted(module: cst.BaseExpression | None) -> str:
    match module:
        case cst.Name(value=name):
            return name
        case cst.Attribute(value=value, attr=attr):
            return f"{_dotted(value)}.{attr.value}"
        case _:
            return ""


def _uses(file: SourceFile, name: str) -> Iterator[cst.BaseExpression]:
    """Return whether a node reads the name, or the attribute of that name."""
    for node in file.expressions():
        if not (isinstance(node, cst.Name) and node.value == name):
            continue
        above = file.parent(node)
        use: cst.BaseExpression = node
        if isinstance(above, cst.Attribute) and above.attr is node:
            use = above
        holder = file.parent(use)
        if isinstance(holder, cst.ImportAlias) and holder.asname is None:
            continue
        if isinstance(holder, cst.AssignTarget | cst.Param | cst.NameItem):
            continue
        if isinstance(holder, cst.AnnAssign) and holder.target is use:
            continue
        if isinstance(holder, cst.Arg) and holder.keyword is use:
            continue
        if isinstance(holder, cst.FunctionDef | cst.ClassDef) and holder.name is use:
            continue
        yield use
