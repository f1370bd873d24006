"""How user interfaces drift: kinds and frequencies of change, and changes drawn by them.

The frequencies are measured from a table of real locator edits (`old_locator,new_locator`) where there
is one, else they are those measured before (`drift_frequencies.json`: kinds and counts, no locators).
Each edit is read as the set of things it changed about an element; a drawn change is such a set.
"""

from __future__ import annotations

import csv
import json
import os
import random
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

BENCH = Path(os.environ.get("PERIPLUS_BENCH_DATA", Path(__file__).parents[3] / "shared" / "bench"))
LOCATOR_CHANGES = BENCH / "locator_changes.csv"
MEASURED = Path(__file__).parent / "drift_frequencies.json"

_PARTS: dict[str, re.Pattern[str]] = {
    "test_id": re.compile(r"""(?:TestId\(\s*|data-(?:test-?id|test|cy|qa|e2e|pw|automation-id)["']?\s*[\^$*~|]?=\s*\\?)["'`]?([\w .:/${}-]+)"""),
    "id": re.compile(r"""(?<![\w&])#([A-Za-z][\w-]*)|\bid\s*[\^$*~|]?=\s*\\?["']?([\w:.-]+)"""),
    "class": re.compile(r"""(?<=[\s"'`\w>+~)\]])\.([A-Za-z_][\w-]{2,})(?!\w*\()|\bclass\s*[\^$*~|]?=\s*\\?["']?([\w -]+)"""),
    "text": re.compile(r"""(?:contains\(|ByText\(|ByLabel\(|ByPlaceholder(?:Text)?\(|ByTitle\(|has-text\(|text=|name:)\s*\\?["'`/]([^"'`/]+)"""),
    "attribute": re.compile(r"""\[(?!data-(?:test|cy|qa|e2e|pw)|id\b|class\b)([\w-]+\s*[\^$*~|]?=\s*[^\]]+)\]"""),
    "role": re.compile(r"""ByRole\(\s*["'`](\w+)"""),
    "tag": re.compile(r"""(?:["'`\s>])(a|button|input|select|textarea|div|span|li|ul|tr|td|th|label|form|h[1-6]|p|section|nav|svg|i|img)(?=[.#:\[\s>"'`])"""),
    "place": re.compile(r"""(?:nth-(?:child|of-type)\(|\.nth\(|\.eq\(|:eq\()\s*(\d+)"""),
}  # fmt: skip
_STRUCTURE = re.compile(r"\s*>\s*|(?<=[\w\])])\s+(?=[\w.#\[])")


def _parts(locator: str) -> dict[str, frozenset[str]]:
    found = {}
    for part, pattern in _PARTS.items():
        values = ("".join(match.groups(default="")).strip(" \"'`\\") for match in pattern.finditer(locator))
        found[part] = frozenset(value for value in values if value)
    if found["class"]:  # calls look like classes: .click, .first
        found["class"] = frozenset(c for c in found["class"] if f".{c}(" not in locator)
    return found


def kinds_of(old: str, new: str) -> frozenset[str]:
    """What an edit of a locator tells to have changed about the element. Empty: nothing of it."""
    before, after = _parts(old), _parts(new)
    kinds = set()
    for part in _PARTS:
        if before[part] == after[part] or not before[part]:
            continue
        if not after[part]:
            kinds.add(f"{part} dropped")
        elif words_shared(before[part], after[part]):
            kinds.add(f"{part} changed in part")
        else:
            kinds.add(f"{part} changed")
    if not kinds and len(_STRUCTURE.findall(old)) != len(_STRUCTURE.findall(new)):
        kinds.add("wrapper")
    return frozenset(kinds)


def words_shared(before: frozenset[str], after: frozenset[str]) -> bool:
    """Whether two sets of names have a word of three letters in common."""
    ours, theirs = (
        {
            word
            for name in names
            for word in re.findall(r"[a-z]{3,}", re.sub(r"([a-z])([A-Z])", r"\1 \2", name).lower())
        }
        for names in (before, after)
    )
    return bool(ours & theirs)


def measure(table: Path = LOCATOR_CHANGES) -> Counter[frozenset[str]]:
    """How many edits of a table changed each set of things."""
    with table.open(encoding="utf-8", newline="") as file:
        found = Counter(kinds_of(row["old_locator"], row["new_locator"]) for row in csv.DictReader(file))
    found.pop(frozenset(), None)
    return found


def frequencies() -> tuple[Counter[frozenset[str]], str]:
    """The measured frequencies, and where they are from."""
    if LOCATOR_CHANGES.exists():
        return measure(), "measured now"
    kept = json.loads(MEASURED.read_text(encoding="utf-8"))
    return Counter({frozenset(kinds.split(" + ")): count for kinds, count in kept.items()}), "measured before"


@dataclass(frozen=True)
class Target:
    """What is to drift, as the test's own eyes see it: attributes and text, nothing derived."""

    number: int
    tag: str
    attributes: dict[str, str]
    text: str


_NEUTRAL = (
    "overview", "ledger", "harbor", "tally", "panel", "sheet", "console", "draft", "folder", "notice", "marker",
    "summary", "bundle", "record", "entry", "outline", "digest", "roster", "corner", "section", "profile", "account",
    "journal", "catalog", "station",
)  # fmt: skip
"""Words that say nothing of what a control does."""
_RETAGGED = {"a": "button", "button": "a"}


class Drift:
    """Draws changes of elements by the measured frequencies. The same dice draw the same changes."""

    def __init__(self, dice: random.Random, table: Counter[frozenset[str]]) -> None:
        self._dice = dice
        ordered = sorted(table.items(), key=lambda each: (-each[1], sorted(each[0])))
        self._kinds, self._counts = zip(*ordered, strict=True)

    def change(self, targets: Mapping[int, Target]) -> tuple[int, list[str], list[dict[str, Any]]]:
        """What changes, drawn by how often it does, and one of the targets to which it can happen.

        Returns its key, the kinds, and the operations that make it happen.
        """
        for _ in range(200):
            (kinds,) = self._dice.choices(self._kinds, weights=self._counts)
            keys = sorted(targets)
            self._dice.shuffle(keys)
            for key in keys:
                operations = [op for kind in sorted(kinds) for op in self._operations(kind, targets[key])]
                if operations:
                    return key, sorted(kinds), operations
        raise AssertionError("no change of the table can happen to any of the targets")

    def _operations(self, kind: str, target: Target) -> list[dict[str, Any]]:  # noqa: PLR0911 - one a kind
        part, how = kind.split(" ", 1) if " " in kind else (kind, "")
        if part == "wrapper":
            return [{"do": "wrap"}]
        if part == "place":
            return [{"do": "move"}] if how != "dropped" else []
        if part in ("tag", "role"):  # one that is no longer named may still be there
            new = _RETAGGED.get(target.tag)
            return [{"do": "retag", "tag": new}] if new and how != "dropped" else []
        if part == "text":
            return [] if how == "dropped" else [{"do": "text", "value": self._renamed(target.text, how, " ")}]
        names = {"id": ["id"], "class": ["class"], "test_id": [a for a in target.attributes if a.startswith("data-test")],
                 "attribute": [a for a in target.attributes if a not in ("id", "class", "type", "style")]}[part]  # fmt: skip
        have = [name for name in names if target.attributes.get(name)]
        if not have:
            return []
        name = self._dice.choice(have)
        if name in ("href", "for", "onclick", "value", "checked", "selected", "disabled"):
            return []  # another address is another thing
        if how == "dropped":
            return [{"do": "drop", "name": name}]
        return [{"do": "set", "name": name, "value": self._renamed(target.attributes[name], how, "-")}]

    def _renamed(self, old: str, how: str, glue: str) -> str:
        kept = old.split(glue) if how == "changed in part" else []
        if len(kept) > 1 and self._dice.random() < 0.5:
            kept[self._dice.randrange(len(kept))] = self._dice.choice(_NEUTRAL)
        else:
            kept.insert(self._dice.randint(0, len(kept)), self._dice.choice(_NEUTRAL))
        new = glue.join(kept)
        return new.capitalize() if glue == " " else new
