"""A row is called by what the page shows that pressing it opens, not by the words where the press landed."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from agent.synthesis.patterns.opened_names import find_opened_names
from agent.synthesis.traces.trace_pages import TracePages
from kb_schema.execution_traces import ExecutionTrace, TraceStep
from kb_schema.selectors import Selector

BOOKS = (("A01", "The Long Ship", "Mara"), ("B02", "Salt", "Jonas"), ("C03", "Reef", "Mara"))
EDIT = "<h1>Edit book</h1>"
FIELDS = "<form><input name=code type=text data-pp-value='{2}'><input name=title data-pp-value='{1}'></form>"
LIST = "<h1>Books</h1><table>{}</table>"


def _list(cell: str = "{0}") -> str:
    rows = "".join(
        f"<tr><td class=code>{cell.format(*book)}</td><td>{book[1]}</td><td>{book[2]}</td></tr>"
        for book in BOOKS
    )
    return LIST.format(rows)


def _names(opened: str, *, books=(0, 1), list_page: str | None = None, inside: str = ""):
    """The names of the rows of these books, whose first cells were pressed."""
    page = _list() if list_page is None else list_page
    traces, cells = {}, []
    for number in books:
        where = {"type": "css", "value": f"tr:nth-of-type({number + 1}) td.code{inside}"}
        steps = [
            TraceStep(
                action_type="click",
                target=Selector.model_validate({"strategies": [where]}),
                source_url="https://library.example/books",
                html_before=f"<body>{page}</body>",
            ),
            TraceStep(
                action_type="click",
                source_url=f"https://library.example/books/{number}",
                html_before=f"<body>{opened.format(*BOOKS[number])}</body>",
            ),
        ]
        traces[f"t{number}"] = ExecutionTrace(trace_id=f"t{number}", steps=steps)
        cells.append(
            SimpleNamespace(row=(f"t{number}", ()), step_index=0, step=traces[f"t{number}"].steps[0])
        )
    found = find_opened_names(SimpleNamespace(traces=traces), TracePages(), cells)
    return None if found is None else list(found.values())


@pytest.mark.parametrize(
    ("opened", "names"),
    [
        ("<h1>{1}</h1><p>{0}</p>", ["The Long Ship", "Salt"]),
        (f"{EDIT}{FIELDS}", ["The Long Ship", "Salt"]),
        ("<h1>{0}</h1>", None),
        ("<h1>Edit book</h1><p>{1}</p>", None),
        ("<h1>Books</h1>", None),
    ],
    ids=[
        "heading",
        "first field that no other row has",
        "pressed was the name",
        "no heading",
        "the same heading",
    ],
)
def test_the_opened_page_tells_the_name(opened, names):
    assert _names(opened) == names


def test_a_control_in_the_row_is_what_was_meant():
    assert _names("<h1>{1}</h1>", list_page=_list("<a href=/x>{0}</a>"), inside=" a") is None


def test_a_value_that_several_rows_have_is_no_name():
    assert _names(f"{EDIT}<input data-pp-value='{{2}}'>", books=(0, 1)) is None
