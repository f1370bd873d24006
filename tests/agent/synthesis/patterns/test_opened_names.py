"""A row is called by what the page shows that pressing it opens, not by the words where the press landed."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from agent.healing.row_search import select_row_template
from agent.synthesis.patterns.opened_names import find_opened_names
from agent.synthesis.traces.trace_pages import TracePages
from kb_schema.execution_traces import ExecutionTrace, TraceStep
from kb_schema.selectors import Selector
from tests.agent.synthesis import sample_pages, synthesis_examples

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


def _names(opened: str | list[str], *, books=(0, 1), list_page: str | None = None, inside: str = ""):
    """The names of the rows of these books, whose first cells were pressed."""
    page = _list() if list_page is None else list_page
    traces, cells = {}, []
    for number in books:
        shown = opened if isinstance(opened, str) else opened[number]
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
                html_before=f"<body>{shown.format(*BOOKS[number])}</body>",
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


def test_an_id_that_a_program_gave_is_no_name():
    ids = ("gq2ttvnm9h1bdgx", "r3k0z8fj2k1m5wq", "x7w2vq9kzt4hpl1")
    listed = LIST.format(
        "".join(
            f"<tr><td class=code>{book[0]}</td><td>{given}</td><td>{book[1]}</td></tr>"
            for book, given in zip(BOOKS, ids, strict=True)
        )
    )
    opened = [
        f"<form><input name=id type=text data-pp-value='{given}'><input name=title data-pp-value='{{1}}'></form>"
        for given in ids[:2]
    ]
    assert _names(opened, list_page=listed) == ["The Long Ship", "Salt"]


def test_a_control_in_the_row_is_what_was_meant():
    assert _names("<h1>{1}</h1>", list_page=_list("<a href=/x>{0}</a>"), inside=" a") is None


def test_a_value_that_several_rows_have_is_no_name():
    assert _names(f"{EDIT}<input data-pp-value='{{2}}'>", books=(0, 1)) is None


def _presses_and_edits(number: int, books: tuple[tuple[str, str, str], ...], at: int) -> sample_pages.Person:
    """Presses the code of a book, not its title, and changes what the page that it opens shows."""
    person = sample_pages.Person(f"t{number}", {}, "edit a book", number).opens("/books")
    rows = "".join(
        f"<tr><td class=code>{c}</td><td>{title}</td><td>{who}</td></tr>" for c, title, who in books
    )
    head = "<tr><th>Shelf</th><th>Title</th><th>Keeper</th></tr>"
    person.sees("/books", "Books", f"<table><thead>{head}</thead><tbody>{rows}</tbody></table>")
    person.does("click", f">{books[at][0]}<")
    fields = (
        "".join(sample_pages.field_html(each, each) for each in ("Note",)) + '<button id="go">Save</button>'
    )
    person.sees(f"/books/{number}", books[at][1], fields).does(
        "input_text", 'id="Note"', text=f"note {number}"
    )
    return person.does("click", 'id="go"').sees("/books", "Books", "<p>Saved</p>")


def test_a_workflow_asks_for_the_name_of_the_row_and_not_for_where_the_press_landed():
    more = (("D04", "Keel", "Ruth"), *BOOKS)
    people = [
        _presses_and_edits(0, BOOKS, 0),
        _presses_and_edits(1, BOOKS, 1),
        _presses_and_edits(2, more, 0),
    ]
    result = synthesis_examples.induce([each.trace() for each in people])
    synthesis_examples.published(result.lowered)
    inputs = {each.name: each.description for each in result.lowered.workflow.io_spec.inputs}
    assert inputs.keys() == {"title", "title_also", "note"}, inputs
    assert inputs["title"] == "Title"
    (target,) = [each.target for each in result.graph.actions() if "title" in str(each.target)]
    pages = TracePages()
    page = pages.get(people[0].steps[-3].html_before, "https://library.example/books")
    for each in target.strategies:
        found = page.stored.resolve_template(each.template, {"title": "Salt"})
        assert [element.get("class") for element in found] == ["code"]
        assert page.stored.resolve_template(each.template, {"title": "Jonas"}) == ()
    assert select_row_template(target) is not None  # so that its name is never written otherwise
