"""A word of the task names an icon by its class, if every demonstration shows it and at least two words were shown."""

from __future__ import annotations

import asyncio

import pytest

from agent.synthesis.synthesis_pipeline import PipelineResult, add_workflow_documents
from agent.synthesis.trace_consensus import find_gap
from agent.synthesis.utterances.markup_mentions import split_class
from agent.synthesis.utterances.utterance_templates import expand_value_forms
from kb_schema.execution_traces import ExecutionTrace, TraceStep
from kb_schema.page_snapshots import PageSnapshot
from kb_schema.selectors import Selector, TemplateStrategy
from kb_schema.templates import fill_selector
from periplus.errors import UserError
from periplus.synthesis.workflow_synthesis import induce_workflow
from web_pages.element_tree import Element
from web_pages.page_texts import text_of
from web_pages.stored_pages import StoredPage

URL = "http://posts.test/"
ICONS = ("reply", "share", "like", "archive")
USERS = ("@ada", "@grace", "@alan")
POST = (
    '<div class="post"><span class="user">{user}</span><p class="words">{user} wrote this</p>'
    '<div class="controls">{icons}</div></div>'
)


def _page(affix: str = "fa-") -> str:
    icons = "".join(f'<span class="{affix}{icon}"></span>' for icon in ICONS)
    posts = "".join(POST.format(user=user, icons=icons) for user in USERS)
    return f"<body><h1>Posts</h1><div id='area'>{posts}</div></body>"


def _trace(number: int, sentence: str, user: str, icon: str, page: str) -> ExecutionTrace:
    value = f"//div[@id='area']/div[{USERS.index(user) + 1}]/div/span[{ICONS.index(icon) + 1}]"
    target = Selector.model_validate({"strategies": [{"type": "xpath", "value": value}]})
    step = TraceStep(action_type="click", target=target, html_before=page, source_url=URL)
    return ExecutionTrace(trace_id=f"t{number}", task_description=sentence, steps=(step,))


def _induce(*shown: tuple[str, str, str], page: str = "") -> PipelineResult:
    page = page or _page()
    traces = [
        _trace(number, f'Press "{word}" at the post by {user}.', user, icon, page)
        for number, (word, user, icon) in enumerate(shown)
    ]
    return add_workflow_documents(asyncio.run(induce_workflow(traces, "press", "")))


def _find_pressed(result: PipelineResult, goal: str, page: str = "") -> list[tuple[str, str]]:
    """Return the user and the class of the elements that the workflow presses for a sentence."""
    assert result.lowered is not None
    assert result.understanding is not None
    assert result.understanding.template is not None
    values = expand_value_forms(result.understanding.template.parse(goal))
    target = result.lowered.tasks[-1].steps[-1].action.target
    assert isinstance(target, Selector)
    strategy = target.strategies[0]
    assert isinstance(strategy, TemplateStrategy)
    xpath = fill_selector(strategy.template, {key: str(value) for key, value in values.items()}, "xpath")
    found = StoredPage(PageSnapshot(url=URL, html=page or _page())).resolve(
        Selector.model_validate({"strategies": [{"type": "xpath", "value": xpath}]})
    )
    return [(_find_user(each), str(each.get("class"))) for each in found.found]


def _find_user(icon: Element) -> str:
    post = next(each for each in icon.ancestors() if each.get("class") == "post")
    return text_of(post).split()[0]


@pytest.mark.parametrize("affix", ["", "fa-", "icon_"])
def test_a_word_that_nobody_showed_leads_to_its_icon(affix):
    page = _page(affix)
    result = _induce(
        ("Reply", "@ada", "reply"), ("Share", "@grace", "share"), ("Like", "@alan", "like"), page=page
    )
    assert find_gap(result) is None
    assert _find_pressed(result, 'Press "Archive" at the post by @grace.', page) == [
        ("@grace", f"{affix}archive")
    ]
    assert _find_pressed(result, 'Press "Reply" at the post by @alan.', page) == [("@alan", f"{affix}reply")]


def test_a_word_that_no_icon_has_leads_to_nothing():
    result = _induce(("Reply", "@ada", "reply"), ("Share", "@grace", "share"), ("Like", "@alan", "like"))
    assert _find_pressed(result, 'Press "Translate" at the post by @grace.') == []


def test_the_first_word_of_several_names_the_icon():
    result = _induce(
        ("Reply now", "@ada", "reply"), ("Share", "@grace", "share"), ("Like this", "@alan", "like")
    )
    assert _find_pressed(result, 'Press "Archive it" at the post by @ada.') == [("@ada", "fa-archive")]


def test_demonstrations_that_contradict_the_word_are_refused():
    with pytest.raises(UserError, match="do not show the same task"):
        _induce(("Reply", "@ada", "reply"), ("Share", "@grace", "like"), ("Like", "@alan", "share"))


def test_one_word_alone_does_not_show_that_it_chooses_the_icon():
    result = _induce(("Reply", "@ada", "reply"), ("Reply", "@grace", "reply"), ("Reply", "@alan", "reply"))
    assert find_gap(result) is None
    assert result.understanding is not None
    assert "{press}" not in str(result.understanding.template)


@pytest.mark.parametrize(
    ("name", "word", "affixes"),
    [
        ("reply", "reply", ("", "")),
        ("fa-reply", "reply", ("fa-", "")),
        ("reply_icon", "reply", ("", "_icon")),
        ("replyto", "reply", None),
        ("noreply", "reply", None),
        ("share", "reply", None),
    ],
)
def test_a_word_stands_apart_in_a_class(name, word, affixes):
    assert split_class(name, word) == affixes
