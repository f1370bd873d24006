"""Names in a suite: what they stand for, over files, and everything they are used for."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

import libcst as cst
from libcst.metadata import Assignment, FunctionScope

from agent.optimizing.sources.files import Files, SourceFile, SourceUnreadable

NodeT = TypeVar("NodeT", bound=cst.CSTNode)
Use = Callable[[SourceFile, cst.CSTNode], bool]


@dataclass(frozen=True, slots=True)
class Definition:
    """What a name stands for: the one expression assigned to it, or the parameter it is."""

    file: SourceFile
    node: cst.CSTNode
    """An expression, a `Param`, or something else where it is assigned otherwise."""
    name: str
    """Under which it is used; of an entry of a dictionary, the dictionary's."""
    key: str | None = None
    """Of an entry of a dictionary."""
    local: bool = False
    """It belongs to one function."""


class Suite:
    """Looks names up over the files of a suite."""

    def __init__(self, files: Files) -> None:
        self.files = files

    # -- what a name stands for

    def definition(self, file: SourceFile, node: cst.BaseExpression) -> Definition | None:
        """Of a name, `self.NAME`, `Class.NAME`, `module.NAME` or `NAME["key"]`; None where it is unknown."""
        match node:
            case cst.Name():
                return self._name(file, node)
            case cst.Attribute(value=cst.Name(value="self" | "cls"), attr=attr):
                holder = enclosing(file, node, cst.ClassDef)
                return None if holder is None else _of_class(file, holder, attr.value)
            case cst.Attribute(value=cst.Name() as holder_name, attr=attr):
                return self._member(file, holder_name, attr.value)
            case cst.Subscript(
                value=base, slice=[cst.SubscriptElement(slice=cst.Index(value=cst.SimpleString() as key))]
            ):
                return self._entry(self.definition(file, base), str(key.evaluated_value))
            case _:
                return None

    def _name(self, file: SourceFile, node: cst.Name) -> Definition | None:
        scope = file.scope(node)
        if scope is None:
            return None
        found = [each for each in scope[node.value] if isinstance(each, Assignment)]
        if len(found) != 1:
            return Definition(file, found[0].node, node.value) if found else None
        made = found[0].node
        if isinstance(made, cst.ImportFrom):
            return self._imported(file, made, node.value)
        if isinstance(made, cst.Param):
            return Definition(file, made, node.value, local=True)
        local = isinstance(found[0].scope, FunctionScope)
        value = assigned(file, made)
        return Definition(file, made if value is None else value, node.value, local=local)

    def _imported(self, file: SourceFile, made: cst.ImportFrom, name: str) -> Definition | None:
        if isinstance(made.names, cst.ImportStar):
            return None
        for alias in made.names:
            if alias.evaluated_alias is None and alias.evaluated_name == name:
                other = self._module(file, _dotted(made.module), len(made.relative))
                return None if other is None else defined_in(other, other.module.body, name)
        return None

    def _member(self, file: SourceFile, holder: cst.Name, name: str) -> Definition | None:
        """`Class.NAME` and `module.NAME`."""
        scope = file.scope(holder)
        for each in () if scope is None else scope[holder.value]:
            made = each.node if isinstance(each, Assignment) else None
            if isinstance(made, cst.ClassDef):
                return _of_class(file, made, name)
            if isinstance(made, cst.Import):
                other = self._module(file, holder.value, 0)
                return None if other is None else defined_in(other, other.module.body, name)
            if isinstance(made, cst.ImportFrom):
                return self._member_of_imported(file, made, holder.value, name)
        return None

    def _member_of_imported(
        self, file: SourceFile, made: cst.ImportFrom, holder: str, name: str
    ) -> Definition | None:
        package = _dotted(made.module)
        below = self._module(file, f"{package}.{holder}" if package else holder, len(made.relative))
        if below is not None:
            return defined_in(below, below.module.body, name)
        other = self._module(file, package, len(made.relative))
        if other is None:
            return None
        for node in other.module.body:
            if isinstance(node, cst.ClassDef) and node.name.value == holder:
                return _of_class(other, node, name)
        return None

    def _module(self, file: SourceFile, dotted: str, level: int) -> SourceFile | None:
        """The suite's own file behind an import."""
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

    def _entry(self, holder: Definition | None, key: str) -> Definition | None:
        if holder is None or not isinstance(holder.node, cst.Dict):
            return None
        for each in holder.node.elements:
            if isinstance(each, cst.DictElement) and isinstance(each.key, cst.SimpleString):  # noqa: SIM102 - told apart
                if each.key.evaluated_value == key:
                    return Definition(holder.file, each.value, holder.name, key, holder.local)
        return None

    # -- what it is used for

    def only(self, found: Definition, use: Use) -> bool:
        """Whether everything of that name in the whole suite is used in this way. By name: a stranger of
        the same name counts, too.
        """
        places = [found.file] if found.local else list(self._mentioning(found.name))
        function = enclosing(found.file, found.node, cst.FunctionDef) if found.local else None
        for file in places:
            for node in _uses(file, found.name):
                if function is not None and function not in file.within(node):
                    continue
                if not self._fits(file, node, found, use):
                    return False
        return True

    def _fits(self, file: SourceFile, node: cst.BaseExpression, found: Definition, use: Use) -> bool:
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
        """Every call of a function or method of that name."""
        return tuple(
            (file, node)
            for file in self._mentioning(helper)
            for node in file.expressions()
            if isinstance(node, cst.Call) and called(node) == helper
        )

    def functions_called(self, name: str) -> tuple[tuple[SourceFile, cst.FunctionDef], ...]:
        """Every function or method of that name."""
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


def called(call: cst.Call) -> str:
    """The last part of what is called."""
    match call.func:
        case cst.Name(value=name) | cst.Attribute(attr=cst.Name(value=name)):
            return name
        case _:
            return ""


def enclosing(file: SourceFile, node: cst.CSTNode, kind: type[NodeT]) -> NodeT | None:
    """The innermost function, class or statement it stands in."""
    return next((each for each in file.within(node) if isinstance(each, kind)), None)


def assigned(file: SourceFile, target: cst.CSTNode) -> cst.BaseExpression | None:
    """What a name is assigned by a plain assignment."""
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


def defined_in(
    file: SourceFile, body: Sequence[cst.CSTNode], name: str, *, of: str = ""
) -> Definition | None:
    """What the one assignment to a name (`of` empty) or to `self.name` in these statements says."""
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
    return Definition(file, found[0], name) if len(found) == 1 else None


def _of_class(file: SourceFile, holder: cst.ClassDef, name: str) -> Definition | None:
    own = defined_in(file, body_of(holder), name)
    if own is not None:
        return own
    for node in body_of(holder):
        if isinstance(node, cst.FunctionDef) and node.name.value == "__init__":
            return defined_in(file, body_of(node), name, of="self")
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
    """Where a name is read: the name, or the attribute of that name."""
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
