"""A suite's files while patches are tried: the originals are kept, also on disk, until the end."""

from __future__ import annotations

from collections.abc import Mapping
from difflib import unified_diff
from pathlib import Path

from agent.optimization.sources.patch_application import AppliedPatches, remove_patch
from agent.optimization.sources.source_files import (
    SourceUnreadable,
    SourceUnwritable,
    SuiteSources,
    write_source,
)
from kb_schema.suite_optimization import Patch


class PatchWorkspace:
    """A suite's files while patches are tried: the originals are kept, also on disk, until the end."""

    def __init__(self, root: Path, backups: Path) -> None:
        self._root, self._backups = root.resolve(), backups
        self._first: dict[Path, bytes] = {}
        self._round: dict[Path, bytes] = {}

    def put(self, applied: AppliedPatches) -> tuple[Path, ...]:
        """Write a round's files, all or none. Raises `SourceUnwritable`."""
        for path, was in applied.before.items():
            if path.read_bytes() != was:
                raise SourceUnwritable(path, "it was changed by another program meanwhile")
        self._round = dict(applied.before)
        for path, was in applied.before.items():
            if path not in self._first:
                self._first[path] = was
                kept = self._backups / path.relative_to(self._root)
                kept.parent.mkdir(parents=True, exist_ok=True)
                kept.write_bytes(was)
        try:
            for path, data in applied.after.items():
                write_source(path, data)
        except SourceUnwritable:
            self.take_back()
            raise
        return tuple(applied.after)

    def take_back(self) -> None:
        """Undo the last round."""
        self._restore(self._round)
        self._round = {}

    def withdraw(self, patch: Patch) -> bool:
        """Remove one patch; False if it is not found any more. Raises `SourceUnwritable`."""
        try:
            data = remove_patch(patch, SuiteSources(self._root))
        except SourceUnreadable:
            return False
        if data is not None:
            write_source(Path(patch.file), data)
        return data is not None

    def take_all_back(self) -> None:
        """Undo everything."""
        self._restore(self._first)
        self._first, self._round = {}, {}

    def _restore(self, contents: Mapping[Path, bytes]) -> None:
        for path, data in contents.items():
            if path.read_bytes() != data:
                write_source(path, data)

    def diff(self) -> str:
        """The unified diff against the original files."""
        return diff_of(self._root, self._first, {path: path.read_bytes() for path in self._first})

    @property
    def changed(self) -> tuple[Path, ...]:
        """The files that differ from the originals."""
        return tuple(path for path, was in self._first.items() if path.read_bytes() != was)

    def settle(self) -> None:
        """All is well: the backups go."""
        for path in self._first:
            (self._backups / path.relative_to(self._root)).unlink(missing_ok=True)


def diff_of(root: Path, before: Mapping[Path, bytes], after: Mapping[Path, bytes]) -> str:
    """Return a unified diff that `git apply` accepts."""
    said: list[str] = []
    for path in sorted(before):
        name = path.relative_to(root).as_posix()
        ours, theirs = (_lines(each[path]) for each in (before, after))
        said += unified_diff(ours, theirs, f"a/{name}", f"b/{name}")
    return "".join(
        each if each.endswith("\n") else f"{each}\n\\ No newline at end of file\n" for each in said
    )


def _lines(data: bytes) -> list[str]:
    """Split lines keeping their ends, at line feeds only."""
    text = data.decode("utf-8", errors="surrogateescape")
    parts = text.split("\n")
    return [*(f"{each}\n" for each in parts[:-1]), *([parts[-1]] if parts[-1] else [])]
