"""Targets in the row with the least or greatest value of a column: the cheapest flight, the longest stay.

The words of the task say which: in every demonstration, the row's value of one column must be the extreme that they mean.
If all demonstrations have the same words, or none, three that chose different rows must agree on one column alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from agent.synthesis.alignment.aligned_traces import AlignedCell, RowKey
from agent.synthesis.patterns.row_filters import read_column, write_row_path
from agent.synthesis.patterns.row_templates import (
    SeenTarget,
    list_common_classes,
    list_inner_steps,
    look_at_targets,
    require_class,
)
from agent.synthesis.patterns.target_templates import PARAMETER, TargetTemplate
from agent.synthesis.traces.list_rows import list_alike_parts
from agent.synthesis.traces.trace_pages import TracePages
from kb_schema.io_specs import RankedExtraction, TableColumn
from kb_schema.ranked_values import (
    Measure,
    Order,
    RankedValue,
    Ranking,
    find_extreme,
    read_ranked_value,
    read_ranking,
)
from web_pages.element_tree import Element
from web_pages.page_texts import own_texts, squeeze, text_of
from web_pages.visibility import visible

LEAST_SHOWN = 3
"""Demonstrations with different rows that must agree if no words say what is meant."""
MOST_COLUMNS = 30
"""Texts of a row that are tried as its columns."""


@dataclass(frozen=True, slots=True)
class RankedTarget:
    """A target in a row that a value of the page chooses."""

    template: TargetTemplate
    """By the text of the column, which is read from the page."""
    reading: RankedExtraction
    """`order` is `{key}` of the input with the words, or the words themselves."""
    key: str
    """The input with the words; empty: the order is fixed."""


@dataclass(frozen=True, slots=True)
class _Choice:
    """A row that a demonstration chose, and those beside it."""

    row: Element
    rows: tuple[Element, ...]

    def texts(self, path: str) -> list[str]:
        """Return the texts of all rows at a path; empty ones where a row has nothing there."""
        return [read_column(each, path) or "" for each in self.rows]


@dataclass(frozen=True, slots=True)
class _Column:
    path: str
    """From the row, as `row_filters.write_row_path` writes it."""
    measure: Measure


def find_ranked_target(
    cells: Sequence[AlignedCell],
    pages: TracePages,
    told: Mapping[str, Mapping[RowKey, str]],
    said: str = "",
) -> RankedTarget | None:
    """Return the target by the extreme value of a column; None if there is no such column, or two.

    `told` has the texts of the inputs; `said` what the descriptions of all demonstrations have in common.
    """
    seen = look_at_targets(cells, pages)
    if seen is None:
        return None
    rankings: dict[str, dict[RowKey, Ranking]] = {}
    for key in sorted(told, key=lambda each: (len(each), each)):
        known = {row: found for row in seen if (found := read_ranking(told[key][row])) is not None}
        if len(known) == len(seen):
            rankings.setdefault(key, known)
            break  # its forms say the same
    for level in range(min(len(each.chain) for each in seen.values())):
        choices = {row: _look(each, level) for row, each in seen.items()}
        known_choices = {row: each for row, each in choices.items() if each is not None}
        if len(known_choices) < len(seen):
            continue
        for key, ranking in rankings.items():
            found = _by_words(known_choices, ranking)
            if found is not None:
                return _write(seen, level, known_choices, found, (key, f"{{{key}}}"))
        fixed = None if rankings else _by_rows(known_choices, read_ranking(said))
        if fixed is not None:
            columns, order = fixed
            return _write(seen, level, known_choices, columns, ("", order))
    return None


def _look(seen: SeenTarget, level: int) -> _Choice | None:
    """Return the part around a target as a row, if there are others like it."""
    row = seen.chain[level]
    rows = [
        each
        for each in (row.parent.elements() if row.parent else ())
        if each is row or each in list_alike_parts(row)
    ]
    rows = [each for each in rows if visible(each)]
    return _Choice(row, tuple(rows)) if len(rows) > 1 and row in rows else None


def _by_words(
    choices: Mapping[RowKey, _Choice], rankings: Mapping[RowKey, Ranking]
) -> dict[RowKey, _Column] | None:
    """Return the column of each demonstration, if the words of each mean its row by one column for each measure."""
    found: dict[frozenset[Measure], set[str]] = {}
    for row, choice in choices.items():
        fitting = {path for path in _list_paths(choice) if _is_chosen(choice, path, rankings[row])}
        measures = rankings[row].measures
        found[measures] = found[measures] & fitting if measures in found else fitting
    columns = {measures: _find_column(paths, choices) for measures, paths in found.items()}
    known = [each for each in columns.values() if each is not None]
    alike = len({each.measure for each in known}) == len({each.path for each in known})
    if len(known) < len(columns) or not alike or len(choices) < LEAST_SHOWN or not _differ(choices):
        return None
    return {row: column for row in choices if (column := columns[rankings[row].measures]) is not None}


def _by_rows(
    choices: Mapping[RowKey, _Choice], said: Ranking | None
) -> tuple[dict[RowKey, _Column], Order] | None:
    """Return the only column and order by which every demonstration chose its row."""
    if len(choices) < LEAST_SHOWN or not _differ(choices):
        return None
    found: list[tuple[_Column | None, Order]] = []
    orders: tuple[Order, ...] = ("least", "greatest")
    for order in orders if said is None else (said.order,):
        ranking = Ranking(order, frozenset() if said is None else said.measures)
        every = [
            {path for path in _list_paths(each) if _is_chosen(each, path, ranking)}
            for each in choices.values()
        ]
        paths = set.intersection(*every)
        found += [(_find_column(paths, choices), order)] if paths else []
    if len(found) != 1 or found[0][0] is None:
        return None
    return dict.fromkeys(choices, found[0][0]), found[0][1]


def _differ(choices: Mapping[RowKey, _Choice]) -> bool:
    """Whether the demonstrations chose rows in different places."""
    return len({each.rows.index(each.row) for each in choices.values()}) > 1


def _find_column(paths: set[str], choices: Mapping[RowKey, _Choice]) -> _Column | None:
    """Return the only column among these places; of those with the same values on all pages the outermost."""
    found: dict[tuple[RankedValue | None, ...], str] = {}
    for path in sorted(paths, key=lambda each: (len(each), each)):
        found.setdefault(
            tuple(read_ranked_value(text) for each in choices.values() for text in each.texts(path)), path
        )
    if len(found) != 1:
        return None
    values, path = next(iter(found.items()))
    measures = {None if each is None else each.measure for each in values}
    measure = measures.pop() if len(measures) == 1 else None
    return None if measure is None else _Column(path, measure)


def _list_paths(choice: _Choice) -> Iterator[str]:
    """Yield the places of texts with a value in a row, the outermost first."""
    number = 0
    for node in choice.row.descendants():
        text = squeeze(text_of(node))
        if (
            own_texts(node)
            and visible(node)
            and read_ranked_value(text) is not None
            and number < MOST_COLUMNS
        ):
            number += 1
            yield write_row_path(node, choice.row)


def _is_chosen(choice: _Choice, path: str, ranking: Ranking) -> bool:
    best = find_extreme(choice.texts(path), ranking)
    return best is not None and choice.rows[best] is choice.row


def _write(
    seen: Mapping[RowKey, SeenTarget],
    level: int,
    choices: Mapping[RowKey, _Choice],
    columns: Mapping[RowKey, _Column],
    said: tuple[str, str],
) -> RankedTarget | None:
    """Return the target's template by the text of the columns, and how that text is read."""
    rows = [each.row for each in choices.values()]
    rows_path = f"//{rows[0].tag}{''.join(map(require_class, list_common_classes(rows)[:2]))}"
    for row, each in seen.items():
        found = [one for one in each.page.stored.resolve_template(rows_path, {}) if visible(one)]
        if found != list(choices[row].rows):
            return None
    words = {row: read_column(each.row, columns[row].path) or "" for row, each in choices.items()}
    told = dict.fromkeys(columns.values())
    is_it = " or ".join(f"{each.path}[normalize-space()='{{{{{PARAMETER}}}}}']" for each in told)
    for step in list_inner_steps([each.element for each in seen.values()]) if level else [""]:
        template = TargetTemplate(f"{rows_path}[{is_it}]{step}", words)
        if all(
            each.page.stored.resolve_template(template.template, {PARAMETER: words[row]}) == (each.element,)
            for row, each in seen.items()
        ):
            cells = {each.measure: TableColumn(selector=_write_css(each.path)) for each in told}
            reading = RankedExtraction(
                method="ranked_extraction", selector=rows_path, columns=cells, order=said[1]
            )
            return RankedTarget(template, reading, said[0])
    return None


def _write_css(path: str) -> str:
    steps = [each.rstrip("]").partition("[") for each in path.split("/")]
    return ":scope" + "".join(f" > {tag}:nth-of-type({number})" for tag, _, number in steps)
