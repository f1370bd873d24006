"""Which inputs a run can use: one that nothing uses was misspelt, and would be dropped in silence."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any

from kb_schema.documents import did_you_mean
from kb_schema.knowledge_base import KnowledgeBase
from kb_schema.presentation_flows import PresentationFlow
from kb_schema.templates import selector_parameters, variables
from kb_store import NoSuchWebsite, Stores, read_knowledge
from periplus.errors import UserError

_TASK_KINDS = frozenset({"task", "workflow", "presentation_flow", "task_dependency"})


async def check_inputs_used(
    stores: Stores,
    website_id: str,
    works: Collection[str],
    given: Mapping[str, object],
    *,
    flow: PresentationFlow | None = None,
) -> None:
    """Raise `UserError` for an input that none of these tasks and workflows uses, nor what they run and need.

    `works`: ids; none for a way to a screen. `flow`: the presentation of them, which may say a value. A value may also be a fact of the website, be named by a path or a screen, or be for
    signing in. An unknown website is left to others.
    """
    if not given:
        return
    try:
        knowledge, _ = await read_knowledge(stores.documents, stores.graph, website_id)
    except NoSuchWebsite:
        return
    own = _list_inputs(knowledge, works)
    login = _list_inputs(knowledge, _login_of(knowledge))
    used = {*own, *login, *knowledge.website.global_context}
    if given.keys() <= used:
        return
    used |= _find_used_names(knowledge, works, () if flow is None else tuple(_iterate_texts(flow.to_json())))
    for name in sorted(given.keys() - used):
        several = f"the tasks {', '.join(sorted(works))} have"
        what = several if len(works) > 1 else f"{next(iter(works), 'the way to a screen')} has"
        raise UserError(f"{what} no input {name!r}", fix=_advise(name, own, [each for each in login if each not in own]))  # fmt: skip


def _advise(name: str, own: Collection[str], login: Collection[str]) -> str:
    meant = did_you_mean(name, sorted({*own, *login}))
    there = [f"the inputs are: {', '.join(own)}" if own else "it has no inputs of its own"]
    if login:
        there.append(f"for signing in: {', '.join(login)}")
    return "; ".join([meant, *there] if meant else there)


def _login_of(knowledge: KnowledgeBase) -> tuple[str, ...]:
    login = knowledge.website.login_task_id
    return () if login is None else (login,)


def _list_inputs(knowledge: KnowledgeBase, works: Collection[str]) -> list[str]:
    """Return the names of the inputs of tasks and workflows, in their order."""
    found = [knowledge.workflows.get(each) or knowledge.tasks.get(each) for each in works]
    return list(
        dict.fromkeys(spec.name for each in found if each is not None for spec in each.io_spec.inputs)
    )


def _find_used_names(knowledge: KnowledgeBase, works: Collection[str], said: Collection[str]) -> set[str]:
    """Return every name that may stand for a value in these works, in the tasks that they name, and outside of tasks.

    Outside of tasks a name counts where it stands for a value (`{name}`, `context_equals`): words are also labels there.
    """
    known = {**knowledge.tasks, **knowledge.workflows}
    linked: dict[str, set[str]] = {}
    for edge in knowledge.dependencies:
        linked.setdefault(edge.from_task, set()).add(edge.to_task)
        linked.setdefault(edge.to_task, set()).add(edge.from_task)
    others = [each.to_json() for each in knowledge.documents() if each.kind not in _TASK_KINDS]
    outside = {text for each in others for text in _iterate_texts(each)}
    texts: set[str] = {*said, *(name for each in others for name in _iterate_fact_names(each))}
    waiting, reached = {*works, *_login_of(knowledge), *(outside & known.keys())}, set[str]()
    while waiting:
        work = waiting.pop()
        reached.add(work)
        document = known.get(work)
        inside = set(_iterate_texts(document.to_json())) if document is not None else set()
        texts |= inside
        waiting |= ((inside & known.keys()) | linked.get(work, set())) - reached
    named = {name for text in texts | outside for name in variables(text) | selector_parameters(text)}
    return texts | named | {name.partition(".")[0] for name in named}


def _iterate_fact_names(value: Any) -> Iterator[str]:
    """Yield the names of the values that conditions compare."""
    if isinstance(value, Mapping):
        if value.get("type") == "context_equals" and isinstance(value.get("name"), str):
            yield value["name"]
        for each in value.values():
            yield from _iterate_fact_names(each)
    elif isinstance(value, list | tuple):
        for each in value:
            yield from _iterate_fact_names(each)


def _iterate_texts(value: Any) -> Iterator[str]:
    """Yield every text in JSON, with the keys of objects."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for key, each in value.items():
            yield str(key)
            yield from _iterate_texts(each)
    elif isinstance(value, list | tuple):
        for each in value:
            yield from _iterate_texts(each)
