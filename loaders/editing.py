"""YAML text changed only where its data changes: comments, order and style of the rest stay as they are.

Where an edit cannot be told from the text, the whole document is written anew; what comes out always reads
back as the wanted data.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import yaml

from kb_schema import KnowledgeError
from loaders.text import from_yaml, to_yaml

NAMES = ("element_id", "step_id", "segment_id", "node_id", "overlay_id")
"""Fields by which items of a list are told apart."""
_LONGEST_LINE = 100


@dataclass(frozen=True, slots=True)
class _Edit:
    """A stretch of the text, and what stands there instead."""

    start: int
    end: int
    text: str


class _Untold(Exception):
    """The text cannot be edited part by part."""


def edited(text: str, before: Any, after: Any) -> str:
    r"""The text of a YAML file of which the data was `before`, saying `after`.

    >>> print(edited("a: 1  # one\nb: [x, y]\n", {"a": 1, "b": ["x", "y"]}, {"a": 1, "b": ["x", "z"]}), end="")
    a: 1  # one
    b: [x, z]
    """
    if before == after:
        return text
    try:
        node = yaml.compose(text, Loader=yaml.CSafeLoader)
        edits: list[_Edit] = []
        _walk(text, node, before, after, edits)
        made = text
        for edit in sorted(edits, key=lambda each: each.start, reverse=True):
            made = made[: edit.start] + edit.text + made[edit.end :]
        if from_yaml(made, "") == after:
            return made
    except (_Untold, KnowledgeError, yaml.YAMLError):
        pass
    return _leading_comment(text) + to_yaml(after, compact=True)


def _walk(text: str, node: Any, before: Any, after: Any, edits: list[_Edit]) -> None:
    """Edits that make the node say `after`."""
    if before == after and type(before) is type(after):
        return
    if isinstance(node, yaml.MappingNode) and isinstance(before, Mapping) and isinstance(after, Mapping):
        _walk_mapping(text, node, before, after, edits)
        return
    lists = isinstance(node, yaml.SequenceNode) and isinstance(before, list) and isinstance(after, list)
    if lists and _walk_items(text, node, before, after, edits):
        return
    edits.append(_Edit(node.start_mark.index, _end(text, node), _value(after, node)))


def _walk_mapping(
    text: str, node: yaml.MappingNode, before: Mapping[str, Any], after: Mapping[str, Any], edits: list[_Edit]
) -> None:
    pairs = {str(key.value): (key, value) for key, value in node.value}
    if set(pairs) != set(before):
        raise _Untold
    added = {key: value for key, value in after.items() if key not in before}
    if node.flow_style and (added or set(before) - set(after)):
        edits.append(_Edit(node.start_mark.index, node.end_mark.index, _flow(dict(after))))
        return
    for name, (key, value) in pairs.items():
        if name in after:
            _walk_pair(text, key, value, before[name], after[name], edits)
        else:
            edits.append(_without_lines(text, key.start_mark.index, _end(text, value)))
    if added:
        if not pairs:
            raise _Untold
        column = node.start_mark.column
        last = _end(text, node)
        edits.append(_Edit(_line_end(text, last), _line_end(text, last), "\n" + _indented(added, column)))


def _walk_pair(text: str, key: Any, value: Any, before: Any, after: Any, edits: list[_Edit]) -> None:
    """The value behind a key; one that becomes a block where there was none begins on the next line."""
    became = isinstance(after, Mapping | list) and after and not isinstance(value, yaml.CollectionNode)
    if not became:
        _walk(text, value, before, after, edits)
        return
    short = _flow(after)
    if len(short) > _LONGEST_LINE:
        short = "\n" + _indented(after, key.start_mark.column + 2)
    edits.append(_Edit(value.start_mark.index, _end(text, value), short))


def _walk_items(
    text: str, node: yaml.SequenceNode, before: list[Any], after: list[Any], edits: list[_Edit]
) -> bool:
    """Edits of single items; False where the list has to be written anew."""
    name = next((each for each in NAMES if _told_by(each, before) and _told_by(each, after)), None)
    if name is None:
        if len(before) != len(after):
            return False
        for item, old, new in zip(node.value, before, after, strict=True):
            _walk(text, item, old, new, edits)
        return True
    olds = {each[name]: (item, each) for item, each in zip(node.value, before, strict=True)}
    news = {each[name]: each for each in after}
    kept = [key for key in olds if key in news]
    if node.flow_style or not before or list(news)[: len(kept)] != kept:
        return False
    for key, (item, old) in olds.items():
        if key in news:
            _walk(text, item, old, news[key], edits)
        else:
            dash = text.rindex("-", 0, item.start_mark.index)
            edits.append(_without_lines(text, dash, _end(text, item)))
    added = [each for key, each in news.items() if key not in olds]
    if added:
        end = _line_end(text, _end(text, node))
        edits.append(_Edit(end, end, "\n" + _indented(added, node.start_mark.column)))
    return True


def _told_by(name: str, items: Sequence[Any]) -> bool:
    names = [each.get(name) if isinstance(each, Mapping) else None for each in items]
    return bool(names) and all(isinstance(each, str) for each in names) and len(set(names)) == len(names)


# -- text ----------------------------------------------------------------------------------------------


def _value(value: Any, instead_of: Any) -> str:
    """A value as it stands in the place of a node."""
    if not isinstance(value, Mapping | list) or not value:
        return _flow(value)
    if not isinstance(instead_of, yaml.CollectionNode) or instead_of.flow_style:
        return _flow(value)
    return _indented(value, instead_of.start_mark.column).lstrip(" ")


def _flow(value: Any) -> str:
    """On one line."""
    return to_yaml(value, flow=True).removesuffix("\n").removesuffix("\n...")


def _indented(value: Any, column: int) -> str:
    """As a block of its own, every line at least at that column; no newline behind it."""
    lines = to_yaml(value, compact=True).removesuffix("\n").split("\n")
    return "\n".join(" " * column + line if line else line for line in lines)


def _end(text: str, node: Any) -> int:
    """Where a node's own text ends: before comments and blank lines that follow it."""
    if isinstance(node, yaml.CollectionNode) and not node.flow_style and node.value:
        last = node.value[-1]
        return _end(text, last[1] if isinstance(last, tuple) else last)
    start, end = int(node.start_mark.index), int(node.end_mark.index)
    return start + len(text[start:end].rstrip())


def _line_end(text: str, index: int) -> int:
    found = text.find("\n", index)
    return len(text) if found < 0 else found


def _without_lines(text: str, start: int, end: int) -> _Edit:
    """Whole lines taken out. Raises `_Untold` where something else stands in them."""
    line = text.rfind("\n", 0, start) + 1
    if text[line:start].strip():
        raise _Untold
    return _Edit(line, min(len(text), _line_end(text, end) + 1), "")


def _leading_comment(text: str) -> str:
    lines = text.split("\n")
    number = next((n for n, line in enumerate(lines) if line.strip() and not line.startswith("#")), 0)
    return "".join(f"{line}\n" for line in lines[:number])
