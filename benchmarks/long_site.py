"""Sites for long measurements: a list that things are added to, and any number of pages that lead to each other."""

from __future__ import annotations

import html
from collections.abc import Iterator
from contextlib import contextmanager

from kb_schema import KnowledgeBase, SourcedDocument, assemble, parse_document
from tests.support.site_server import Answered, Asked, RunningSite, running_site

WEBSITE = "long"
SHOWN = 10
"""Things that the list shows; older ones are gone."""
_WORDS = (
    "amber", "birch", "cedar", "delta", "ember", "fjord", "grove", "heron", "islet", "jetty",
    "knoll", "larch", "maple", "north", "otter", "pearl", "quartz", "ridge", "stone", "thorn",
)  # fmt: skip


@contextmanager
def list_site() -> Iterator[RunningSite]:
    """One page with a field, a button, and the last things that were added; each is added by a request."""
    things: list[str] = []

    def answer(asked: Asked) -> Answered:
        if asked.method == "POST":
            things.append(asked.form.get("thing", ""))
            return Answered(location="/")
        rows = "".join(f"<li>{html.escape(each)}</li>" for each in things[-SHOWN:])
        form = '<form method="post" action="/"><input id="thing" name="thing" aria-label="Thing"><button id="add">Add</button></form>'
        return Answered(f"<title>Things</title><h1>Things</h1>{form}<ul>{rows}</ul>")

    with running_site(answer) as site:
        yield site


def list_knowledge(base: str) -> KnowledgeBase:
    """The knowledge of the list: one task adds a thing, another one a list of things."""
    added = {"type": "dom_contains", "value": "{thing}", "timeout": 30.0}
    documents = (
        {"type": "website", "website_id": WEBSITE, "name": "Long", "base_url": base},
        {
            "type": "screen", "screen_id": "things", "name": "Things", "url_patterns": ["^/$"],
            "ui_elements": [
                {"element_id": "thing", "type": "input", "selector": "#thing"},
                {"element_id": "add", "type": "button", "selector": "#add"},
            ],
            "state_signature": {"primary_indicators": [{"type": "title_contains", "value": "Things"}]},
        },
        {
            "type": "task", "task_id": "add_one", "name": "Add a thing",
            "io_spec": {"inputs": [{"name": "thing", "source": ["user_input"]}]},
            "steps": [
                {"step_id": "type", "action": {"action_type": "fill", "target": "thing", "parameters": {"value": "{thing}"}}},
                {"step_id": "add", "action": {"action_type": "click", "target": "add"}, "postconditions": [added]},
            ],
        },
        {
            "type": "task", "task_id": "add_all", "name": "Add things",
            "io_spec": {"inputs": [{"name": "things", "type": "array", "source": ["user_input"]}]},
            "iterator_spec": {
                "type": "list_processing", "items": "{things}", "item_name": "item", "max_iterations": 10_000,
                "item_action": {"task_id": "add_one", "inputs": {"thing": "{item}"}},
            },
            "steps": [
                {"step_id": "go", "action": {"action_type": "navigate", "target_screen": "things"}},
                {"step_id": "all", "action": {"action_type": "execute_iterator"}},
            ],
        },
    )  # fmt: skip
    return assemble([SourcedDocument(parse_document(each)) for each in documents])[0]


def page_path(number: int) -> str:
    """Return the path of a page: words only, so that no two pages look like one with another id."""
    first, rest = divmod(number, len(_WORDS) ** 2)
    second, third = divmod(rest, len(_WORDS))
    return f"/{_WORDS[first % len(_WORDS)]}/{_WORDS[second]}/{_WORDS[third]}"


@contextmanager
def linked_site(pages: int) -> Iterator[tuple[RunningSite, dict[str, None]]]:
    """So many pages, at most 8,000, each leading to the next ones; and the paths that were asked for, once each."""
    numbers = {page_path(number): number for number in range(pages)}
    seen: dict[str, None] = {}

    def answer(asked: Asked) -> Answered:
        number = 0 if asked.path == "/" else numbers.get(asked.path)
        if number is None:
            return Answered(status=404)
        seen[asked.path] = None
        ahead = (number * 10 + step for step in range(1, 11))
        links = "".join(
            f'<li><a href="{page_path(n)}">Page of {page_path(n)[1:]}</a></li>' for n in ahead if n < pages
        )
        name = page_path(number)[1:].replace("/", " ")
        return Answered(
            f"<title>{name}</title><h1>All about {name}</h1><p>Text {number} of {name}.</p><main><ul>{links}</ul></main>"
        )

    with running_site(answer) as site:
        yield site, seen
