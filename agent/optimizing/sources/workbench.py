"""A suite's files while patches are tried: what they were is kept, on disk, too, until all is well."""

from __future__ import annotations

from collections.abc import Mapping
from difflib import unified_diff
from pathlib import Path

from agent.optimizing.sources.applying import Applied
from agent.optimizing.sources.files import Files, SourceUnreadable, SourceUnwritable, write
from agent.optimizing.sources.withdrawing import without
from kb_schema.optimizing import Patch


class Workbench:
    """A suite's files while patches are tried: what they were is kept, on disk, too, until all is well."""

    def __init__(self, root: Path, backups: Path) -> None:
        self._root, self._backups = root.resolve(), backups
        self._first: dict[Path, bytes] = {}
        self._round: dict[Path, bytes] = {}

    def put(self, applied: Applied) -> tuple[Path, ...]:
        """Write a round's files. Raises `SourceUnwritable`, with none of them written."""
        for path, was in applied.before.items():
            if path.read_bytes() != was:
                raise SourceUnwritable(path, "somebody else changed it meanwhile")
        self._round = dict(applied.before)
        for path, was in applied.before.items():
            if path not in self._first:
                self._first[path] = was
                kept = self._backups / path.relative_to(self._root)
                kept.parent.mkdir(parents=True, exist_ok=True)
                kept.write_bytes(was)
        try:
            for path, data in applied.after.items():
                write(path, data)
        except SourceUnwritable:
            self.take_back()
            raise
        return tuple(applied.after)

    def take_back(self) -> None:
        """Undo the last round."""
        self._restore(self._round)
        self._round = {}

    def withdraw(self, patch: Patch) -> bool:
        """Take one patch out again; False where it is not to be found any more. Raises `SourceUnwritable`."""
        try:
            data = without(patch, Files(self._root))
        except SourceUnreadable:
            return False
        if data is not None:
            write(Path(patch.file), data)
        return data is not None

    def take_all_back(self) -> None:
        """Undo everything."""
        self._restore(self._first)
        self._first, self._round = {}, {}

    def _restore(self, contents: Mapping[Path, bytes]) -> None:
        for path, data in contents.items():
            if path.read_bytes() != data:
                write(path, data)

    def diff(self) -> str:
        """Unified, of what is different from how it was found."""
        return diff_of(self._root, self._first, {path: path.read_bytes() for path in self._first})

    @property
    def changed(self) -> tuple[Path, ...]:
        """The files that are different from how they were found."""
        return tuple(path for path, was in self._first.items() if path.read_bytes() != was)

    def settle(self) -> None:
        """All is well: the backups go."""
        for path in self._first:
            (self._backups / path.relative_to(self._root)).unlink(missing_ok=True)


def diff_of(root: Path, before: Mapping[Path, bytes], after: Mapping[Path, bytes]) -> str:
    """Unified, as `git apply` takes it."""
    said: list[str] = []
    for path in sorted(before):
        name = path.relative_to(root).as_posix()
        ours, theirs = (_lines(each[path]) for each in (before, after))
        said += unified_diff(ours, theirs, f"a/{name}", f"b/{name}")
    return "".join(
        each if each.endswith("\n") else f"{each}\n\\ No newline at end of file\n" for each in said
    )


def _lines(data: bytes) -> list[str]:
    """Lines with their ends, where a line feed alone ends a line."""
    text = data.decode("utf-8", errors="surrogateescape")
    parts = text.split("\n")
    return [*(f"{each}\n" for each in parts[:-1]), *([parts[-1]] if parts[-1] else [])]
