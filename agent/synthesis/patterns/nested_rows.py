"""Generalises targets in rows that several parts of a page have alike: a switch in each channel, a card in each column.

The row alone leads to several elements; the part around it is named by a text that an earlier input has, such as the
channel that was opened.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice

from agent.synthesis.alignment.aligned_traces import AlignedCell, RowKey
from agent.synthesis.patterns.row_templates import (
    MOST_TEMPLATES,
    SeenTarget,
    list_common_classes,
    list_part_templates,
    list_part_texts,
    look_at_targets,
    require_class,
)
from agent.synthesis.patterns.target_templates import PARAMETER, TargetTemplate
from agent.synthesis.traces.trace_pages import TracePages
from kb_schema.templates import xpath_literal


def find_nested_template(
    cells: Sequence[AlignedCell], pages: TracePages, told: Mapping[str, Mapping[RowKey, str]]
) -> TargetTemplate | None:
    """Return the template of a row inside a part that an earlier input names; None if there is none.

    `told`: by input, the text with which each trace may name the part. The row is named by a text of its own, which may be
    the same in all traces.
    """
    seen = look_at_targets(cells, pages)
    if seen is None:
        return None
    every = list(seen.values())
    for template, naming, level in islice(list_part_templates(every), MOST_TEMPLATES):
        texts = {row: naming.texts(each.chain[level]) for row, each in seen.items()}
        if not all(len(each) == 1 for each in texts.values()):
            continue
        words = {row: each[0] for row, each in texts.items()}
        for key, around in _list_outer_parts(every, seen, told, level):
            found = _join(template, around, words, key, told)
            if all(_leads_to(found, row, each, told) for row, each in seen.items()):
                return found
    return None


def _list_outer_parts(
    every: Sequence[SeenTarget],
    seen: Mapping[RowKey, SeenTarget],
    told: Mapping[str, Mapping[RowKey, str]],
    level: int,
) -> Iterator[tuple[str, str]]:
    """Yield parts around the row of which every trace's has the text of an input: the input and the part, in XPath."""
    for outer in range(level + 1, min(len(each.chain) for each in every)):
        parts = {row: each.chain[outer] for row, each in seen.items()}
        if len({part.tag for part in parts.values()}) != 1:
            continue
        classes = list_common_classes(list(parts.values()))
        for key, texts in told.items():
            if (
                classes
                and key.isidentifier()
                and key != PARAMETER
                and len(set(texts.values())) > 1
                and all(texts[row] in list_part_texts(part) for row, part in parts.items())
            ):
                tag = next(iter(parts.values())).tag
                said = f"[.//text()[normalize-space()='{{{{{key}}}}}']]"
                yield key, f"//{tag}{''.join(map(require_class, classes[:2]))}{said}"


def _join(
    template: str,
    around: str,
    words: Mapping[RowKey, str],
    key: str,
    told: Mapping[str, Mapping[RowKey, str]],
) -> TargetTemplate:
    """Return the template of the row inside the part; the part's input is the parameter if all rows are called alike."""
    said = set(words.values())
    if len(said) > 1:
        return TargetTemplate(around + template, dict(words), (key,))
    constant = template.replace(f"'{{{{{PARAMETER}}}}}'", xpath_literal(said.pop()))
    named = around.replace(f"{{{{{key}}}}}", f"{{{{{PARAMETER}}}}}")
    return TargetTemplate(named + constant, dict(told[key]))


def _leads_to(
    found: TargetTemplate, row: RowKey, seen: SeenTarget, told: Mapping[str, Mapping[RowKey, str]]
) -> bool:
    values = {PARAMETER: found.words[row], **{key: told[key][row] for key in found.also}}
    return seen.page.stored.resolve_template(found.template, values) == (seen.element,)
