"""What an input is called that chooses an entry: by its select field, by the opener of its menu, by its column."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from agent.synthesis.patterns.choice_labels import describe_choice, find_choice_label
from agent.synthesis.traces.trace_pages import TracePages
from kb_schema.execution_traces import ExecutionTrace, TraceStep
from kb_schema.selectors import css

URL = "https://library.example/books/new"
MENU = "<form><div class=field><p>Kind</p><div class=box id=open><span>Select an item</span></div></div><div class=field><p>Shelf</p><input></div></form>"
OPEN = f"{MENU}<ul class=menu><li><span class=entry>Novel</span></li><li><span class=other>Poems</span></li></ul>"
TABS = "<div><button>Open</button><button id=open>Recent</button></div>"
OPEN_TABS = f"{TABS}<p><a class=entry href=/1>Tide</a></p>"
SIGN_IN = "<div>Welcome <button id=open>Sign in</button> <span>Forgotten?</span></div>"
SELECT = "<label for=k>Kind of book</label><select id=k><option class=entry>Novel</option><option>Poems</option></select>"
TABLE = (
    "<table><thead><tr><th></th><th>Title</th><th>Keeper</th></tr></thead><tbody>{}</tbody></table>".format(
        "".join(
            f"<tr><td><input type=checkbox{mark}></td><td>{title}</td><td>{keeper}</td></tr>"
            for title, keeper, mark in (("Salt", "Mara", " class=entry"), ("Reef", "Ruth", ""))
        )
    )
)


def _label(text: str, *pages: str) -> str:
    """The label of the entry on the last page, whose menu was opened on the page before."""
    steps = [
        TraceStep(action_type="click", target=css(target), source_url=URL, html_before=f"<body>{html}</body>")
        for target, html in zip(("#open", ".entry")[-len(pages) :], pages, strict=True)
    ]
    row = ("t1", ())
    cell = SimpleNamespace(row=row, step_index=len(steps) - 1, step=steps[-1])
    aligned = SimpleNamespace(traces={"t1": ExecutionTrace(trace_id="t1", steps=steps)})
    position = SimpleNamespace(cells={row: cell})
    return find_choice_label(aligned, TracePages(), position, {row: text})


@pytest.mark.parametrize(
    ("text", "pages", "label"),
    [
        ("Novel", (MENU, OPEN), "Kind"),
        ("Novel", (OPEN, OPEN), ""),
        ("Tide", (TABS, OPEN_TABS), ""),
        ("Tide", (SIGN_IN, "<p><a class=entry href=/1>Tide</a></p>"), ""),
        ("Tide", (SIGN_IN, f"{SIGN_IN}<p><a class=entry href=/1>Tide</a></p>"), ""),
        ("Novel", (SELECT,), "Kind of book"),
        ("Salt", (TABLE,), "Title"),
        ("Mara", (TABLE,), "Keeper"),
        ("Sal", (TABLE,), ""),
    ],
    ids=[
        "menu",
        "it was open before",
        "a tab",
        "another page",
        "text behind",
        "select",
        "title",
        "keeper",
        "no cell says it",
    ],
)
def test_an_input_that_chooses_is_called_as_the_page_calls_it(text, pages, label):
    assert _label(text, *pages) == label


def test_a_choice_without_a_label_is_described_by_its_values():
    texts = {("t1", ()): "Tide", ("t2", ()): "Salt", ("t3", ()): "Tide"}
    assert describe_choice(texts) == "what is chosen by its words, such as 'Tide', 'Salt'"
