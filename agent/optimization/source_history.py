"""What git says a word or an identifier was replaced by, in the tests and in the application's templates.

Read when a locator leads nowhere and no passing run is known. A line that had the word in quotes or between tags,
and in the next version has another text in the same place, is a rename. Only committed lines are read.
"""

from __future__ import annotations

import asyncio
import difflib
import re
import subprocess
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from kb_schema.excerpts import excerpt
from kb_schema.text_similarity import is_destructive

GIT_S = 10.0
"""Longest run of git for one word."""
MOST_COMMITS = 50
MOST_WORDS = 6
MOST_HOPS = 3
"""A name that was replaced more often is not followed further."""
MOST_BYTES = 4_000_000
LONGEST = 120
_DELIMITERS = re.compile(r"""["'`<>{}]""")
_COMMIT = "periplus-commit "


@dataclass(frozen=True, slots=True)
class RecordedRename:
    """One text that replaced another one in a file."""

    before: str
    after: str
    file: str
    commit: str
    """Abbreviated hash."""

    def __str__(self) -> str:
        return f"git: {excerpt(self.before, 60)!r} became {excerpt(self.after, 60)!r} in {self.file} ({self.commit})"


async def find_renames(near: str | Path, words: Iterable[str]) -> tuple[RecordedRename, ...]:
    """Return what these words and identifiers were replaced by in the repository that contains a path, newest first.

    Empty outside of a repository, without git, and for words that no commit replaced. A text that destroys something
    is never taken as the new name of one that does not.
    """
    return await asyncio.to_thread(_find_renames, Path(near), tuple(dict.fromkeys(words))[:MOST_WORDS])


def _find_renames(near: Path, words: Sequence[str]) -> tuple[RecordedRename, ...]:
    folder = near if near.is_dir() else near.absolute().parent
    top = _git(folder, "rev-parse", "--show-toplevel")
    if top is None:
        return ()
    root, found = Path(top.strip()), []
    for word in words:
        names = [word]
        for name in names:
            if len(names) > MOST_HOPS:
                break
            for each in _renames_of(root, name):
                if each.after not in names:
                    names.append(each.after)
                    found.append(RecordedRename(word, each.after, each.file, each.commit))
    return tuple(each for each in found if is_destructive(each.before) or not is_destructive(each.after))


def _renames_of(root: Path, word: str) -> Iterator[RecordedRename]:
    if not word.strip() or len(word) > LONGEST or "\n" in word:
        return
    said = _git(
        root, "log", f"-S{word}", f"--max-count={MOST_COMMITS}", "--no-merges", "--unified=0", "--patch", "--no-color",
        "--no-ext-diff", "--no-textconv", f"--format={_COMMIT}%h",
    )  # fmt: skip
    commit = file = ""
    removed: list[str] = []
    added: list[str] = []
    for line in (*(said or "")[:MOST_BYTES].splitlines(), "@@"):
        if line.startswith(("@@", "diff ", _COMMIT)):
            for after in _replacements(word, removed, added):
                yield RecordedRename(word, after, file, commit)
            removed, added = [], []
        if line.startswith(_COMMIT):
            commit = line.removeprefix(_COMMIT)
        elif line.startswith("+++ "):
            file = line.removeprefix("+++ ").removeprefix("b/")
        elif line.startswith("-") and not line.startswith("--- "):
            removed.append(line[1:])
        elif line.startswith("+"):
            added.append(line[1:])


def _replacements(word: str, removed: Sequence[str], added: Sequence[str]) -> Iterator[str]:
    """Yield what stands in the place of a word in the changed lines of one hunk."""
    for at, old in enumerate(removed):
        if word not in _split(old):
            continue
        new = added[at] if len(added) == len(removed) else _most_similar(old, added)
        after = find_replacement(word, old, new) if new is not None else None
        if after is not None:
            yield after


def _most_similar(old: str, added: Sequence[str]) -> str | None:
    near = difflib.get_close_matches(old, added, n=1, cutoff=0.6)
    return near[0] if near else None


def find_replacement(word: str, old: str, new: str) -> str | None:
    """Return the text that has the place of a word in the new version of a line; None if that is not certain.

    Both lines are cut at quotes, brackets and braces; the pieces between those that stayed must be as many as before.
    """
    before, after = _split(old), _split(new)
    if before.count(word) != 1 or word in after:
        return None
    place = before.index(word)
    for kind, a, b, c, d in difflib.SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        if kind == "replace" and a <= place < b:
            at = c + place - a
            known = b - a == d - c or _stands_between(before, place, after, at)
            found = after[at] if known else ""
            return found if found and len(found) <= LONGEST else None
    return None


def _stands_between(before: Sequence[str], place: int, after: Sequence[str], at: int) -> bool:
    """Return whether the pieces on both sides are the same: something else was added to the line."""
    sides = [(place + step, at + step) for step in (-1, 1)]
    return all(0 <= a < len(before) and 0 <= b < len(after) and before[a] == after[b] for a, b in sides)


def _split(line: str) -> list[str]:
    return [each.strip() for each in _DELIMITERS.split(line)]


def _git(folder: Path, *args: str) -> str | None:
    """Return what git printed; None if it failed, is missing or took too long."""
    try:
        done = subprocess.run(
            ["git", "-C", str(folder), *args],  # noqa: S607 - the user's git
            capture_output=True, text=True, errors="replace", check=False, timeout=GIT_S,
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout if done.returncode == 0 else None
