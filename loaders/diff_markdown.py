"""A diff in words as Markdown for a pull request: a headline, a line a difference, values to unfold.

Names of websites are code, never formatting: no link, no mention, no HTML of theirs gets through.
"""

from __future__ import annotations

import json
from itertools import takewhile
from typing import Any

from loaders.diff import Change
from loaders.diff_words import DiffWords, Told, plain
from loaders.escaping import html_code, markdown_block, markdown_code, one_line

MOST_VALUES = 40
"""Values unfolded of one document."""
LONGEST_VALUE = 400
LONGEST = 60_000
"""Characters in all: a comment on a pull request takes 65,536."""


def to_markdown(words: DiffWords, website_id: str, *, longest: int = LONGEST) -> str:
    """The diff as Markdown, no longer than that; what did not fit is counted at its end."""
    head = f"### Knowledge of {markdown_code(website_id)}: {plain(words.headline, markdown_code)}\n"
    kinds: dict[str, list[Told]] = {}
    for each in words.told:
        kinds.setdefault(each.kind, []).append(each)
    text, left = head, len(words.told)
    for kind, told in kinds.items():
        heading = f"\n**{kind.replace('_', ' ')}** ({len(told)})\n\n"
        for number, each in enumerate(told):
            entry = (heading if number == 0 else "") + _entry(each)
            if len(text) + len(entry) > longest - 200:
                return f"{text}\n… and {left} more: `periplus kb diff` shows all.\n"
            text, left = text + entry, left - 1
    return text


def _entry(told: Told) -> str:
    if not told.changes:
        return f"- **{told.what}** {plain(told.words, markdown_code)}\n"
    shown = [_values(change) for change in told.changes[:MOST_VALUES]]
    if len(told.changes) > MOST_VALUES:
        shown.append(f"… {len(told.changes) - MOST_VALUES} more values")
    summary = f"<b>{told.what}</b> {plain(told.words, html_code)}"
    block = markdown_block("\n".join(shown), "diff")
    return f"\n<details><summary>{summary}</summary>\n\n{block}\n\n</details>\n\n"


def _values(change: Change) -> str:
    """A value as a diff of lines: its place, what it was, what it is."""
    before, after = _written(change.before), _written(change.after)
    if before and after:
        start = max(
            0,
            sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(before, after, strict=False))) - 40,
        )
    else:
        start = 0
    lines = [f"@@ {one_line(change.path, LONGEST_VALUE)} @@"]  # names in it may hold line ends
    lines += [f"- {_cut(before, start)}"] if before else []
    lines += [f"+ {_cut(after, start)}"] if after else []
    return "\n".join(lines).replace("\r", " ")


def _written(value: Any) -> str:
    return "" if value is None else json.dumps(value, ensure_ascii=False)


def _cut(text: str, start: int) -> str:
    start = start if len(text) > LONGEST_VALUE else 0
    part = text[start : start + LONGEST_VALUE]
    return f"{'…' if start else ''}{part}{'…' if start + LONGEST_VALUE < len(text) else ''}"
