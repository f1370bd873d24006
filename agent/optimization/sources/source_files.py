"""Sources of a suite as syntax trees with positions: parsed once, searched by span, written atomically.

`locator_chains` knows what leads to an element; `patch_application` applies changes.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Mapping
from functools import cached_property
from pathlib import Path

import libcst as cst
from libcst.metadata import CodeRange, MetadataWrapper, ParentNodeProvider, PositionProvider, ScopeProvider
from libcst.metadata.scope_provider import Scope

from kb_schema.locator_expressions import Span

_LEFT_OUT = frozenset({"node_modules", "site-packages", "__pycache__", "build", "dist", "venv"})


class SourceUnreadable(Exception):
    """A file that cannot be read as Python. Fields: `path`, `why`."""

    def __init__(self, path: Path, why: str) -> None:
        self.path, self.why = path, why
        super().__init__(f"{path}: {why}")


class SourceUnwritable(Exception):
    """A file that cannot be written. Fields: `path`, `why`."""

    def __init__(self, path: Path, why: str) -> None:
        self.path, self.why = path, why
        super().__init__(f"{path} cannot be written: {why}; check its permissions and the room on the disk")


class SourceFile:
    """One source file: its tree and its positions."""

    def __init__(self, path: Path, data: bytes) -> None:
        self.path, self.data = path, data
        try:
            self._wrapper = MetadataWrapper(cst.parse_module(data), unsafe_skip_copy=True)
        except (cst.ParserSyntaxError, UnicodeDecodeError, SyntaxError, LookupError) as exc:
            raise SourceUnreadable(path, f"not Python that can be read: {exc}") from exc

    @property
    def module(self) -> cst.Module:
        """Its tree."""
        return self._wrapper.module

    @property
    def text(self) -> str:
        """The text, without a byte order mark."""
        return self.module.code

    @cached_property
    def _positions(self) -> Mapping[cst.CSTNode, CodeRange]:
        return self._wrapper.resolve(PositionProvider)

    @cached_property
    def _parents(self) -> Mapping[cst.CSTNode, cst.CSTNode]:
        return self._wrapper.resolve(ParentNodeProvider)

    @cached_property
    def _scopes(self) -> Mapping[cst.CSTNode, Scope | None]:
        return self._wrapper.resolve(ScopeProvider)

    @cached_property
    def _by_end(self) -> Mapping[tuple[int, int], tuple[cst.BaseExpression, ...]]:
        found: dict[tuple[int, int], tuple[cst.BaseExpression, ...]] = {}
        for node, place in self._positions.items():
            if isinstance(node, cst.BaseExpression):
                key = (place.end.line, place.end.column)
                found[key] = (*found.get(key, ()), node)
        return found

    def ending(self, line: int, column: int) -> tuple[cst.BaseExpression, ...]:
        """Return the expressions that end there.

        Ends are used because Python versions differ on where a call over several lines begins.
        """
        return self._by_end.get((line, column), ())

    def expressions(self) -> Iterator[cst.BaseExpression]:
        """All expressions, in order."""
        for node in self._positions:
            if isinstance(node, cst.BaseExpression):
                yield node

    def span(self, node: cst.CSTNode, function: str = "") -> Span:
        """Where it stands."""
        place = self._positions[node]
        return Span(
            file=str(self.path),
            line=place.start.line,
            column=place.start.column,
            end_line=place.end.line,
            end_column=place.end.column,
            function=function,
        )

    def parent(self, node: cst.CSTNode) -> cst.CSTNode | None:
        """What it is a part of."""
        return self._parents.get(node)

    def within(self, node: cst.CSTNode) -> Iterator[cst.CSTNode]:
        """Return the enclosing nodes, innermost first."""
        above = self.parent(node)
        while above is not None:
            yield above
            above = self.parent(above)

    def scope(self, node: cst.CSTNode) -> Scope | None:
        """Return the scope its names are looked up in."""
        return self._scopes.get(node)

    def code(self, node: cst.CSTNode) -> str:
        """Return its code, with indentation as at the margin."""
        return cst.Module([]).code_for_node(node)


class SuiteSources:
    """The Python files of a suite below one folder; each is parsed once until it is marked stale."""

    def __init__(self, root: Path, overlay: Mapping[Path, bytes] | None = None) -> None:
        self.root = root.resolve()
        self._overlay = dict(overlay or {})
        self._read: dict[Path, SourceFile] = {}

    def path(self, file: str) -> Path:
        """A span's file."""
        path = Path(file)
        return (path if path.is_absolute() else self.root / path).resolve()

    def mine(self, path: Path) -> bool:
        """Return whether the file belongs to the suite, and not to an installed package."""
        if not path.is_relative_to(self.root) or path.suffix != ".py":
            return False
        folders = path.relative_to(self.root).parts[:-1]
        return not any(each in _LEFT_OUT or each.startswith(".") for each in folders)

    def read(self, file: str | Path) -> SourceFile:
        """Raises `SourceUnreadable`."""
        path = self.path(str(file))
        if path not in self._read:
            if not self.mine(path):
                raise SourceUnreadable(path, f"not a Python file of the suite below {self.root}")
            self._read[path] = SourceFile(path, self._bytes(path))
        return self._read[path]

    def _bytes(self, path: Path) -> bytes:
        if path in self._overlay:
            return self._overlay[path]
        try:
            return path.read_bytes()
        except OSError as exc:
            raise SourceUnreadable(path, exc.strerror or type(exc).__name__) from exc

    def all(self) -> Iterator[SourceFile]:
        """Return every file of the suite that can be read."""
        for path in sorted(self.root.rglob("*.py")):
            if self.mine(path):
                try:
                    yield self.read(path)
                except SourceUnreadable:
                    continue

    def replaced(self, contents: Mapping[Path, bytes]) -> SuiteSources:
        """Return the same suite with other contents, written or not."""
        return SuiteSources(self.root, {**self._overlay, **contents})


def write_source(path: Path, data: bytes) -> None:
    """Replace a file's contents atomically, keeping its permissions. Raises `SourceUnwritable`."""
    try:
        mode = path.stat().st_mode
        if not os.access(path, os.W_OK):
            raise SourceUnwritable(path, "it is read-only")
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            Path(name).chmod(mode)
            Path(name).replace(path)
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise
    except OSError as exc:
        raise SourceUnwritable(path, exc.strerror or type(exc).__name__) from exc
