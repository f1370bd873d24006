"""Renders a diff in words as Markdown for a pull request: a headline, one line per difference, and values.

Names of websites are formatted as code, so no link, mention or HTML of theirs takes effect.
"""

from __future__ import annotations

import json
from itertools import takewhile
from typing import Any

from loaders.diffs.diff_summary import DiffEntry, DiffSummary, to_plain_text
from loaders.diffs.knowledge_diff import ValueChange
from loaders.markup_escapes import html_code, markdown_block, markdown_code, one_line

MOST_VALUES = 40
"""The most values that are shown for one document."""
LONGEST_VALUE = 400
LONGEST = 60_000
"""The most characters in all: a comment on a pull request takes 65,536."""


def to_markdown(words: DiffSummary, website_id: str, *, longest: int = LONGEST) -> str:
    """Return the diff as Markdown within the limit; the number of omitted differences is at its end."""
    head = f"### Knowledge of {markdown_code(website_id)}: {to_plain_text(words.headline, markdown_code)}\n"
    kinds: dict[str, list[DiffEntry]] = {}
    for each in words.entries:
        kinds.setdefault(each.kind, []).append(each)
    text, left = head, len(words.entries)
    for kind, entries in kinds.items():
        heading = f"\n**{kind.replace('_', ' ')}** ({len(entries)})\n\n"
        for number, each in enumerate(entries):
            entry = (heading if number == 0 else "") + _entry(each)
            if len(text) + len(entry) > longest - 200:
                return f"{text}\n… and {left} more: `periplus kb diff` shows all.\n"
            text, left = text + entry, left - 1
    return text


def _entry(entry: DiffEntry) -> str:
    if not entry.changes:
        return f"- **{entry.what}** {to_plain_text(entry.words, markdown_code)}\n"
    shown = [_values(change) for change in entry.changes[:MOST_VALUES]]
    if len(entry.changes) > MOST_VALUES:
        shown.append(f"… {len(entry.changes) - MOST_VALUES} more values")
    summary = f"<b>{entry.what}</b> {to_plain_text(entry.words, html_code)}"
    block = markdown_block("\n".join(shown), "diff")
    return f"\n<details><summary>{summary}</summary>\n\n{block}\n\n</details>\n\n"


def _values(change: ValueChange) -> str:
    """Return a value as a line diff: its path, the old and the new value."""
    before, after = _written(change.before), _written(change.after)
    if before and after:
        start = max(
            0,
            sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(before, after, strict=False))) - 40,
        )
    else:
        start = 0
    lines = [f"@@ {one_line(change.path, LONGEST_VALUE)} @@"]  # names in it may contain line breaks
    lines += [f"- {_cut(before, start)}"] if before else []
    lines += [f"+ {_cut(after, start)}"] if after else []
    return "\n".join(lines).replace("\r", " ")


def _written(value: Any) -> str:
    return "" if value is None else json.dumps(value, ensure_ascii=False)


def _cut(text: str, start: int) -> str:
    start = start if len(text) > LONGEST_VALUE else 0
    part = text[start : start + LONGEST_VALUE]
    return f"{'…' if start else ''}{part}{'…' if start + LONGEST_VALUE < len(text) else ''}"
