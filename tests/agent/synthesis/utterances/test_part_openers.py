"""Clicks through tabs until the named element is seen become one: on the tab that holds it."""

from __future__ import annotations

import asyncio

import pytest

from agent.synthesis.graph.action_graph import ActionNode, ConditionNode
from agent.synthesis.synthesis_pipeline import PipelineResult, add_workflow_documents
from agent.synthesis.trace_consensus import find_gap
from kb_schema.execution_traces import ExecutionTrace, TraceStep
from kb_schema.page_snapshots import PageSnapshot
from kb_schema.selectors import Selector, TemplateStrategy
from kb_schema.templates import fill_selector
from periplus.synthesis.workflow_synthesis import induce_workflow
from web_pages.page_texts import text_of
from web_pages.stored_pages import StoredPage

URL = "http://tabs.test/"
LINKS = {"alpha": 1, "beta": 1, "gamma": 2, "delta": 2, "epsilon": 3, "zeta": 3, "eta": 4, "theta": 4}


def _page(opened: int) -> str:
    tabs = "".join(
        f"<li role='tab' aria-controls='part-{n}'><a href='#part-{n}'>Tab {n}</a></li>" for n in range(1, 5)
    )
    parts = "".join(
        f"<div id='part-{n}'{'' if n == opened else ' style=display:none data-pp-hidden'}><p>"
        + "".join(
            f"<span class='link'{'' if n == opened else ' data-pp-hidden'}>{link}</span>"
            for link, part in LINKS.items()
            if part == n
        )
        + "</p></div>"
        for n in range(1, 5)
    )
    return f"<body><h1>Tabs</h1><ul role='tablist'>{tabs}</ul>{parts}</body>"


def _click(xpath: str, opened: int) -> TraceStep:
    target = Selector.model_validate({"strategies": [{"type": "xpath-text", "value": xpath}]})
    return TraceStep(action_type="click", target=target, html_before=_page(opened), source_url=URL)


def _trace(number: int, link: str, tabs: list[int]) -> ExecutionTrace:
    opened = [1, *tabs]
    steps = [
        _click(f"//a[normalize-space()='Tab {tab}']", before)
        for tab, before in zip(tabs, opened, strict=False)
    ]
    return ExecutionTrace(
        trace_id=f"t{number}",
        task_description=f'Find and click on the link "{link}".',
        steps=(*steps, _click(f"//span[normalize-space()='{link}']", opened[-1])),
    )


def _induce(*shown: tuple[str, list[int]]) -> PipelineResult:
    traces = [_trace(number, link, tabs) for number, (link, tabs) in enumerate(shown)]
    return add_workflow_documents(asyncio.run(induce_workflow(traces, "find", "")))


def _find_tab(result: PipelineResult, link: str) -> str | None:
    """Return the text of what the workflow presses first for a link that is hidden."""
    assert result.graph is not None
    first = result.graph.nodes[0]
    node = first.branches[0].nodes[0] if isinstance(first, ConditionNode) else first
    assert isinstance(node, ActionNode)
    assert isinstance(node.target, Selector)
    strategy = node.target.strategies[0]
    assert isinstance(strategy, TemplateStrategy)
    value = fill_selector(strategy.template, {"link": link}, "xpath")
    found = StoredPage(PageSnapshot(url=URL, html=_page(1))).resolve(
        Selector.model_validate({"strategies": [{"type": "xpath", "value": value}]})
    )
    return None if found.element is None else text_of(found.element)


SHOWN = (("alpha", []), ("gamma", [2]), ("epsilon", [2, 3]))


@pytest.mark.parametrize(("link", "tab"), [("delta", "Tab 2"), ("zeta", "Tab 3"), ("theta", "Tab 4")])
def test_the_tab_that_holds_the_link_is_pressed_also_one_that_nobody_opened(link, tab):
    result = _induce(*SHOWN)
    assert find_gap(result) is None
    assert _find_tab(result, link) == tab


def test_nothing_is_pressed_while_the_link_is_visible():
    result = _induce(*SHOWN)
    assert result.graph is not None
    first = result.graph.nodes[0]
    assert isinstance(first, ConditionNode)
    condition = first.branches[0].condition
    assert condition is not None
    assert condition.type == "none_of"  # that the link is visible


def test_one_part_alone_does_not_show_that_the_link_chooses_it():
    result = _induce(("alpha", []), ("gamma", [2]), ("delta", [2]))
    assert "aria-controls" not in (result.graph.model_dump_json() if result.graph else "")


def test_a_last_click_that_opened_another_part_contradicts_it():
    result = _induce(("alpha", []), ("gamma", [2]), ("epsilon", [3]), ("beta", [3, 4]))
    assert "aria-controls" not in (result.graph.model_dump_json() if result.graph else "")


FOLDERS = {"Rigging": ("shroud", "stay"), "Galley": ("kettle", "pan"), "Chain locker": ("anchor",)}


def _tree(opened: frozenset[str], *, beside: bool) -> str:
    """Return a page with folders; `beside`: the sign that opens one stands before its name."""
    items = ""
    for folder, files in FOLDERS.items():
        hidden = "" if folder in opened else " style=display:none data-pp-hidden"
        kind = "closed" if folder not in opened else "open"
        within = "".join(f"<li><span{hidden and ' data-pp-hidden'}>{each}</span></li>" for each in files)
        sign = f"<i class='sign {kind}-sign'></i>" if beside else ""
        items += f"<li class='{kind}'>{sign}<span>{folder}</span><ul{hidden}>{within}</ul></li>"
    return f"<body><h1>Gear</h1><ul id='tree'>{items}<li><span>flag</span></li></ul></body>"


def _tree_trace(number: int, name: str, folders: list[str], *, beside: bool) -> ExecutionTrace:
    steps, opened = [], frozenset[str]()
    for folder in folders:
        place = [*FOLDERS].index(folder) + 1
        value = f"//*[@id='tree']/li[{place}]" + ("/i" if beside else "")
        target = Selector.model_validate({"strategies": [{"type": "xpath-class", "value": value}]})
        steps.append(
            TraceStep(
                action_type="click", target=target, html_before=_tree(opened, beside=beside), source_url=URL
            )
        )
        opened |= {folder}
    named = Selector.model_validate(
        {"strategies": [{"type": "xpath-text", "value": f"//span[normalize-space()='{name}']"}]}
    )
    steps.append(
        TraceStep(action_type="click", target=named, html_before=_tree(opened, beside=beside), source_url=URL)
    )
    return ExecutionTrace(
        trace_id=f"t{number}", task_description=f'Find and click on the file "{name}".', steps=tuple(steps)
    )


@pytest.mark.parametrize("beside", [False, True])
def test_the_folder_that_holds_the_file_is_opened_though_nobody_took_a_file_of_it(beside):
    shown = (("flag", []), ("kettle", ["Rigging", "Galley"]), ("stay", ["Rigging"]), ("pan", ["Galley"]))
    traces = [_tree_trace(number, *each, beside=beside) for number, each in enumerate(shown)]
    result = add_workflow_documents(asyncio.run(induce_workflow(traces, "find", "")))
    assert find_gap(result) is None
    assert result.graph is not None
    first = result.graph.nodes[0]
    assert isinstance(first, ConditionNode)  # a file that is visible needs no folder
    assert len(first.branches[0].nodes) == 1
    node = first.branches[0].nodes[0]
    assert isinstance(node, ActionNode)
    assert isinstance(node.target, Selector)
    strategy = node.target.strategies[0]
    assert isinstance(strategy, TemplateStrategy)
    value = fill_selector(strategy.template, {"file": "anchor"}, "xpath")
    page = StoredPage(PageSnapshot(url=URL, html=_tree(frozenset(), beside=beside)))
    found = page.resolve(Selector.model_validate({"strategies": [{"type": "xpath", "value": value}]})).element
    assert found is not None
    assert "Chain locker" in text_of(found if not beside or found.parent is None else found.parent)


def test_a_last_click_on_another_folder_than_that_of_the_file_contradicts_it():
    shown = (("kettle", ["Galley", "Rigging"]), ("stay", ["Rigging"]), ("pan", ["Galley"]))
    traces = [_tree_trace(number, *each, beside=False) for number, each in enumerate(shown)]
    result = add_workflow_documents(asyncio.run(induce_workflow(traces, "find", "")))
    assert "/ancestor" not in str(result.graph)
    assert "[ul//" not in (result.graph.model_dump_json() if result.graph else "")


def _labels(names: tuple[str, ...]) -> str:
    return f"<body>{''.join(f'<p><button>{each}</button></p>' for each in names)}</body>"


def _press(number: int, name: str, names: tuple[str, ...], place: int) -> ExecutionTrace:
    target = Selector.model_validate(
        {"strategies": [{"type": "xpath-class", "value": f"//p[{place}]/button", "fallback": True}]}
    )
    step = TraceStep(action_type="click", target=target, html_before=_labels(names), source_url=URL)
    return ExecutionTrace(trace_id=f"t{number}", task_description=f'Press "{name}".', steps=(step,))


TWICE = _press(2, "Oak", ("Ash", "Oak", "Elm", "Oak"), 2)
ONCE = (_press(0, "Ash", ("Ash", "Elm"), 1), _press(1, "Elm", ("Ash", "Elm"), 2))


def _is_first_pressed(*traces: ExecutionTrace) -> bool:
    result = add_workflow_documents(asyncio.run(induce_workflow(traces, "press", "")))
    return find_gap(result) is None and result.graph is not None and ")[1]" in result.graph.model_dump_json()


def test_the_first_of_several_that_are_called_alike_is_pressed_if_three_demonstrations_show_it():
    assert _is_first_pressed(*ONCE, TWICE)


def test_two_demonstrations_or_another_than_the_first_do_not_show_which_of_several_is_meant():
    assert not _is_first_pressed(ONCE[0], TWICE)
    assert not _is_first_pressed(*ONCE, _press(3, "Oak", ("Ash", "Oak", "Elm", "Oak"), 4))
    assert not _is_first_pressed(*ONCE, _press(4, "Oak", ("Ash", "Oak", "Elm"), 2))
